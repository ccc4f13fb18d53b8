"""Run jobs as tasks of a Ray cluster: one that is there, by its address, or one of our own on this machine."""

import logging
import math
import os
import pickle
import signal
import socket
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

from ..stopping import Interrupted, noted_signals
from ..words import one_line
from .base import EngineOptions, Event
from .workers import GRACE_SECONDS, device_names, package, worker_environment

__all__ = ["RayEngine", "work"]

_WAIT_SECONDS = 0.5  # between looks at what the jobs report
_FLUSH_SECONDS = 5.0  # that a job which is done waits for its last report to arrive
_ANSWER_SECONDS = 10.0
_STORE_BYTES = 100 * 2**20  # of a cluster of our own, near the least that Ray takes: a job and its result are small
# No word to Ray's makers; the second is what Ray will do by default, and says so in a warning as long as it is unset.
_ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


class RayEngine:
    """One task a job. A task takes `threads * devices` CPUs and its devices, or a share of one.

    The sweep's folder must be on a disk that all nodes see, and they must have the same packages installed. A Ray that
    this process is connected to already is used and left as it is. Ray gives each task on a GPU a process of its own,
    so there every job takes the seconds that importing torch takes; on CPUs the processes are used again.

    Raises:
        ValueError: Ray is not installed, no cluster at the address, no node with room for a job, or devices by name.
    """

    def __init__(self, options: EngineOptions):
        self._ray = package("ray", "ray")
        self._options, self._ours = options, False
        takes = options.resources
        self._cpus = takes.threads * takes.devices
        self._most = _most_slots(options)
        if options.address:
            self._connect()
        try:
            self._on_gpu = options.devices is None and any(node.get("GPU", 0) > 0 for node in self._nodes())
            self._check_room()
        except ValueError:
            self._disconnect()
            raise

    @property
    def num_slots(self) -> int:
        return max(1, self._num_places())

    def run(self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> Generator[Event, None, None]:
        """See `Engine.run`. As many tasks as there is room for are in Ray's hands at a time, the others in ours.

        Nodes that join later are used; the jobs of a node that goes are "died".
        """
        ray, running = self._ray, {}
        try:
            self._connect()
            reports, task = self._reports(), self._task()
            waiting = iter(range(len(jobs)))
            while True:
                for job in islice(waiting, max(0, self.num_slots - len(running))):
                    running[task.remote(job, pickle.dumps((function, jobs[job])), reports)] = job
                if not running:
                    return
                ray.wait(list(running), timeout=_WAIT_SECONDS)
                ended, _ = ray.wait(list(running), num_returns=len(running), timeout=0)
                for job, value in self._told(reports):
                    yield Event("progress", job, value)
                for task_id in ended:
                    yield self._end(running.pop(task_id), task_id)
        except SystemError as error:
            # What a signal raises while Ray's C++ waits comes out of it as the cause of this.
            raise error.__cause__ or error from None
        finally:
            self._stop(list(running))
            self._disconnect()

    def _check_room(self) -> None:
        takes, share = self._options.resources, self._options.slots_per_device
        if self._on_gpu and takes.devices > 1 < share:
            raise ValueError(
                f"slots_per_device: Ray shares no devices among jobs that take several, got {share} for runs that "
                f"take {takes.devices}"
            )
        if not self._num_places():
            gpus = f" and {takes.devices} GPUs" if self._on_gpu else ""
            raise ValueError(f"engine: no node of the Ray cluster has the {self._cpus} CPUs{gpus} that a run takes")

    def _nodes(self) -> list[Mapping[str, float]]:
        """What the nodes of the moment have; of a cluster of our own, what it will have when it starts."""
        if self._ray.is_initialized():
            return [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        return [self._own_resources()]

    def _own_resources(self) -> dict[str, int]:
        """The CPUs that all slots take where slots are asked for, else this machine's, and room for a job at least."""
        import torch

        cpus = self._cpus * self._most if self._most else max(self._cpus, os.cpu_count() or 1)
        return {"CPU": cpus, "GPU": torch.cuda.device_count() if self._options.devices is None else 0}

    def _num_places(self) -> int:
        """Jobs that there is room for."""
        room = sum(self._places(resources) for resources in self._nodes())
        return room if self._most is None else min(room, self._most)

    def _places(self, resources: Mapping[str, float]) -> int:
        by_cpu = int(resources.get("CPU", 0)) // self._cpus
        if not self._on_gpu:
            return by_cpu
        options = self._options
        return min(by_cpu, int(resources.get("GPU", 0)) * options.slots_per_device // options.resources.devices)

    def _task(self) -> Any:
        """Never tried again by Ray: a job that died is the runner's to judge."""
        devices, share = self._options.resources.devices, self._options.slots_per_device
        # Rounded down: Ray counts in ten-thousandths, and six times 0.1667 would not fit on a GPU.
        gpus = (devices if share == 1 else math.floor(1e4 / share) / 1e4) if self._on_gpu else 0
        return self._ray.remote(_travelling(self._options, self._on_gpu)).options(
            name="sweeps job",
            num_cpus=self._cpus,
            num_gpus=gpus,
            max_retries=0,
            runtime_env={"env_vars": worker_environment(self._options)},
        )

    def _reports(self) -> Any:
        """Collects what the jobs report, beside the runner, so that no node takes it along."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        class Reports:
            def __init__(self) -> None:
                self.told: list[tuple[int, tuple[Any, ...]]] = []

            def add(self, job: int, value: tuple[Any, ...]) -> None:
                self.told.append((job, value))

            def take(self) -> list[tuple[int, tuple[Any, ...]]]:
                told, self.told = self.told, []
                return told

        here = NodeAffinitySchedulingStrategy(self._ray.get_runtime_context().get_node_id(), soft=True)
        return self._ray.remote(Reports).options(num_cpus=0, scheduling_strategy=here).remote()

    def _told(self, reports: Any) -> list[tuple[int, tuple[Any, ...]]]:
        try:
            return self._ray.get(reports.take.remote())
        except self._ray.exceptions.RayActorError:
            return []  # progress is for the eye alone, and no reason to stop

    def _end(self, job: int, task_id: Any) -> Event:
        try:
            return Event(*self._ray.get(task_id))
        except self._ray.exceptions.RayTaskError as error:
            return Event("died", job, one_line(error.cause or error))
        except self._ray.exceptions.RayError as error:
            # Its first sentence: what follows names nodes, and the same fault is to read the same wherever it is.
            return Event("died", job, one_line(error).split(". ")[0])

    def _stop(self, tasks: list[Any]) -> None:
        """Ctrl-C for those that run, which save their state and leave; the end for those that do not in time."""
        ray = self._ray
        for force, seconds in ((False, GRACE_SECONDS), (True, _FLUSH_SECONDS)):
            for task_id in tasks:
                ray.cancel(task_id, force=force, recursive=False)
            if tasks:
                _, tasks = ray.wait(tasks, num_returns=len(tasks), timeout=seconds)

    def _connect(self) -> None:
        if self._ray.is_initialized():
            return
        address, arguments = self._options.address, {}
        if not address:
            own = self._own_resources()
            arguments = {"num_cpus": own["CPU"], "num_gpus": own["GPU"], "include_dashboard": False}
            arguments["object_store_memory"] = _STORE_BYTES
        try:
            if address:
                _check_answers(address)
            with _signals_kept(), _environment(_ENVIRONMENT):
                self._ray.init(address or "local", logging_level=logging.ERROR, **arguments)
        except (OSError, RuntimeError, ValueError) as error:
            where = f"no Ray cluster at {address!r}" if address else "Ray does not start here"
            raise ValueError(f"address: {where}: {one_line(error)}") from error
        self._ours = True

    def _disconnect(self) -> None:
        if self._ours:
            self._ray.shutdown()
            self._ours = False


def work(
    job: int, payload: bytes, reports: Any, devices: tuple[str, ...]
) -> tuple[str, int, Any]:  # pragma: no cover - in other processes
    """In a worker: call one job's function; returns the kind, job and value of the event that it ends with."""
    import ray

    last = None

    def report(*value: Any) -> None:
        nonlocal last
        last = reports.add.remote(job, value)

    try:
        with noted_signals():
            function, arguments = pickle.loads(payload)
            result = function(*arguments, devices, report)
    except Interrupted as told:
        return "died", job, f"told to stop by {told}"
    if last is not None:
        ray.wait([last], timeout=_FLUSH_SECONDS)
    return "done", job, result


def _travelling(options: EngineOptions, on_gpu: bool) -> Callable[[int, bytes, Any], tuple[str, int, Any]]:
    """`work`, wrapped so that Ray sends the wrapper itself and not its name.

    Ray lets its workers look for packages in the runner's own folder first. The job is unpickled, and this package
    imported, only when the frozen code comes before that. Folders in a spec may be relative to the runner's.
    """
    code, here = os.path.abspath(options.code) if options.code else None, os.getcwd()
    devices = device_names(options.resources.devices, on_gpu)

    def travelling(job: int, payload: bytes, reports: Any) -> tuple[str, int, Any]:
        import os
        import sys

        os.chdir(here)
        if code is not None and sys.path[0] != code:
            sys.path.insert(0, code)
        from sweeps.engines.ray import work

        return work(job, payload, reports, devices)

    return travelling


def _most_slots(options: EngineOptions) -> int | None:
    if options.devices is None:
        return options.slots
    if set(options.devices) != {"cpu"}:
        got = list(options.devices)
        raise ValueError(f"devices: Ray hands out GPUs itself, set CUDA_VISIBLE_DEVICES for its nodes; got {got}")
    return options.slots or max(1, len(options.devices) // options.resources.devices)


def _check_answers(address: str) -> None:
    """Ray itself goes on asking for minutes.

    Raises:
        OSError: nothing listens there.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), _ANSWER_SECONDS).close()


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Within it these variables are set, those that the user has set excepted."""
    ours = [name for name in values if name not in os.environ]
    os.environ.update({name: values[name] for name in ours})
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray takes SIGTERM for itself when it connects; it is the runner's."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        with suppress(TypeError):  # None: set outside Python
            signal.signal(signal.SIGTERM, before)
