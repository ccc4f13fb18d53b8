"""Run jobs on a Slurm partition: arrays of tasks that submitit submits, each of which goes through a share of them."""

import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..stopping import Interrupted, check_stop, noted_signals
from ..words import one_line
from .base import EngineOptions, Event
from .event_files import EventReader, EventWriter, has_ended
from .workers import GRACE_SECONDS, device_names, package, worker_environment

__all__ = ["SlurmEngine"]

_POLL_SECONDS = {"slurm": 20.0, "local": 0.2}  # between looks at jobs and files; Slurm's controller serves many
_MAX_TASKS = 1000  # of an array: Slurm's MaxArraySize is 1001 unless a site changes it
_MAX_REQUEUES = 1000  # each goes on from a checkpoint, so that nothing is lost however many there are
_LOCAL_MINUTES = 60 * 24 * 365
_KILL_SECONDS = 5.0
_STEP_SECONDS = 0.1
_OURS = ("array_parallelism", "cpus_per_task", "map_count", "nodes", "ntasks_per_node", "num_gpus")


class SlurmEngine:
    """Arrays of at most 1000 tasks, of which at most `slots` run at a time.

    The sweep's folder, the packages and Python must be on a disk that all nodes see. Options of a job, as sbatch has
    them: `time` in minutes, which must be given, `partition`, `account`, `qos`, `mem`, `gres`, `constraint`, ...;
    lists and mappings (`setup`, `additional_parameters`) as JSON. `cluster=local` runs the tasks on this machine
    without Slurm, to try things. Devices are GPUs where `gpus_per_node` says so, or this machine has some.

    A task that is told of its time limit, or preempted with `SIGUSR2`, saves its state and is queued again by submitit.
    Its logs are in the sweep's folder, under `slurm/`. submitit hands a task its jobs as a pickle, in a folder that
    only its owner can write; results are never read from one: what a job says comes back as lines of JSON.

    Raises:
        ValueError: submitit or Slurm is not installed, an option is unknown or has the wrong form.
    """

    def __init__(self, options: EngineOptions):
        package("submitit", "slurm")
        given = {name: _value(text) for name, text in options.job_options.items()}
        self._options, self._cluster = options, given.pop("cluster", "slurm")
        if self._cluster not in _POLL_SECONDS:
            raise ValueError(f"job_options: cluster must be one of {list(_POLL_SECONDS)}, got {self._cluster!r}")
        if options.slots_per_device > 1:
            raise ValueError(f"slots_per_device: Slurm's jobs share no devices, got {options.slots_per_device}")
        gpus = given.pop("gpus_per_node", None)
        if gpus is None:
            gpus = options.resources.devices if _wants_gpus(options) else 0
        if not isinstance(gpus, int) or gpus < 0:
            raise ValueError(f"job_options: gpus_per_node must be a whole number, got {gpus!r}")
        self._num_gpus = gpus
        self._given = _checked(given, self._cluster)

    @property
    def num_slots(self) -> int:
        """Without `slots`, of a partition: as many as there may be; how many run is Slurm's to say."""
        options = self._options
        if self._cluster == "slurm":
            return options.slots or _MAX_TASKS
        takes = options.resources.threads * options.resources.devices
        return options.slots or max(1, (os.cpu_count() or 1) // takes)

    def run(self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> Generator[Event, None, None]:
        """See `Engine.run`. What the function returns and reports must be plain values, which JSON holds.

        A task that ends before its jobs do takes the job that it was at with it; those after it are submitted again.
        """
        if not jobs:
            return
        folder = self._new_folder()
        reader, poll = EventReader(folder / "events"), _POLL_SECONDS[self._cluster]
        tasks: list[_Submitted] = []
        submit = _Submitter(self._executor(folder), folder / "events", function, jobs, self._devices, poll)
        try:
            # The local executor starts all tasks at once; Slurm itself holds back those beyond the slots.
            num_tasks = min(len(jobs), self.num_slots if self._cluster == "local" else _MAX_TASKS)
            tasks = submit(_shares(len(jobs), num_tasks))
            ended, over = set[int](), set[_Submitted]()
            while tasks:
                time.sleep(poll)
                # A file may be seen some time after its task's end: a task is believed to be over at the second look.
                over, before = {task for task in tasks if task.job.done()}, over
                for event in reader.new():
                    if event.kind != "progress":
                        ended.add(event.job)
                    yield event
                for task in over & before:
                    tasks.remove(task)
                    if left := [job for job in task.indices if job not in ended]:
                        yield Event("died", left[0], f"its Slurm job ended as {task.job.state}, see its log in slurm/")
                        tasks += submit([left[1:]]) if left[1:] else []
        finally:
            _left(folder / "events").touch()
            _stop(tasks, self._cluster)
            _forget_pickles(folder)

    @property
    def _devices(self) -> tuple[str, ...]:
        return device_names(self._options.resources.devices, self._num_gpus > 0)

    def _new_folder(self) -> Path:
        """One that only its owner reads and writes: there are pickles in it."""
        parent = self._options.folder.absolute() / "slurm"
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=parent))
        (folder / "events").mkdir()
        return folder

    def _executor(self, folder: Path) -> Any:
        """Its Python starts with the workers' environment, whatever Slurm passes on; the working directory, where
        code that was edited since may lie, is no place to look for packages."""
        from submitit import AutoExecutor

        variables = worker_environment(self._options) | {"PYTHONSAFEPATH": "1"}
        python = shlex.join(["env", *(f"{name}={value}" for name, value in variables.items()), sys.executable])
        own = {f"{self._cluster}_python": python, f"{self._cluster}_max_num_timeout": _MAX_REQUEUES}
        executor = AutoExecutor(folder, cluster=self._cluster, **own)
        takes = self._options.resources
        parameters: dict[str, Any] = {"name": self._options.folder.name, "nodes": 1, "tasks_per_node": 1}
        parameters |= {"cpus_per_task": takes.threads * takes.devices, "gpus_per_node": self._num_gpus}
        if self._cluster == "local":
            executor.update_parameters(**parameters, timeout_min=_LOCAL_MINUTES)
        else:
            parameters |= {f"slurm_{name}": value for name, value in self._given.items()}
            executor.update_parameters(**parameters, slurm_array_parallelism=self.num_slots)
        return executor


@dataclass(frozen=True, eq=False)
class _Submitted:
    job: Any  # submitit's
    indices: Sequence[int]


@dataclass(frozen=True)
class _Submitter:
    """Submits shares of the jobs, each as one task of an array."""

    executor: Any
    events: Path
    function: Callable[..., Any]
    jobs: Sequence[tuple[Any, ...]]
    devices: tuple[str, ...]
    every_seconds: float

    def __call__(self, shares: Sequence[Sequence[int]]) -> list[_Submitted]:
        submitted = self.executor.submit_array([self._task(indices) for indices in shares])
        return [_Submitted(job, indices) for job, indices in zip(submitted, shares, strict=True)]

    def _task(self, indices: Sequence[int]) -> "_Task":
        jobs = tuple((index, self.jobs[index]) for index in indices)
        return _Task(self.events, self.function, jobs, self.devices, self.every_seconds)


@dataclass(frozen=True)
class _Task:
    """A share of the jobs, one after the other; pickled by submitit, it is what runs in the Slurm job."""

    events: Path
    function: Callable[..., Any]
    jobs: tuple[tuple[int, tuple[Any, ...]], ...]
    devices: tuple[str, ...]
    every_seconds: float

    def __call__(self) -> None:
        requeue, preempted = signal.getsignal(signal.SIGUSR2), False  # the handler is submitit's
        with noted_signals(signal.SIGUSR2) as noted:
            try:
                for index, job in self.jobs:
                    if not has_ended(self.events, index):
                        self._run(index, job)
                    check_stop()
            except Interrupted:
                preempted = self._is_preempted(noted)
        if preempted and callable(requeue):
            requeue(signal.SIGUSR2, None)  # keeps what `checkpoint` returns, queues the job again and leaves

    def _is_preempted(self, noted: Sequence[int]) -> bool:
        """Told by SIGUSR2, which on preemption comes after SIGTERM; without it the job was cancelled."""
        deadline = time.monotonic() + GRACE_SECONDS
        while signal.SIGUSR2 not in noted and time.monotonic() < deadline and not _left(self.events).exists():
            time.sleep(_STEP_SECONDS)
        return signal.SIGUSR2 in noted

    def checkpoint(self) -> Any:
        """For submitit: what runs when the job starts again. Jobs that have ended are passed over."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)

    def _run(self, index: int, job: tuple[Any, ...]) -> None:
        said = EventWriter(self.events, index, self.every_seconds)
        try:
            said.end("done", self.function(*job, self.devices, said.report))
        except Exception as error:  # it ends this job alone, and the runner is told
            said.end("died", one_line(error))


def _shares(num_jobs: int, num_tasks: int) -> list[range]:
    """Every so many-th job each: they come in the order of their cost, so that the shares are alike.

    >>> _shares(5, 2)
    [range(0, 5, 2), range(1, 5, 2)]
    """
    return [range(num_jobs)[first::num_tasks] for first in range(num_tasks)]


def _wants_gpus(options: EngineOptions) -> bool:
    if options.devices is not None:
        return any(device != "cpu" for device in options.devices)
    import torch

    return torch.cuda.is_available()


def _value(text: str) -> Any:
    """Numbers, truth, lists and mappings as JSON has them; all else is text.

    >>> [_value(text) for text in ("720", "gpu", '{"nice": 100}', "true")]
    [720, 'gpu', {'nice': 100}, True]
    """
    try:
        return json.loads(text)
    except ValueError:
        return text


def _checked(given: Mapping[str, Any], cluster: str) -> Mapping[str, Any]:
    """The options, when submitit knows them all and they are the user's to choose."""
    from submitit import SlurmExecutor

    valid = sorted(SlurmExecutor._valid_parameters() - set(_OURS))
    if unknown := sorted(set(given) - set(valid)):
        raise ValueError(f"job_options: Slurm's jobs take {', '.join(valid)}; got {', '.join(unknown)}")
    if cluster == "local":
        return given
    if not isinstance(given.get("time"), int):
        raise ValueError(f"job_options: time must be given, a whole number of minutes, got {given.get('time')!r}")
    if shutil.which("srun") is None:
        raise ValueError("engine: no srun on this machine: Slurm's commands must be installed")
    return given


def _stop(tasks: list[_Submitted], cluster: str) -> None:
    """SIGTERM for those that run, which save their state and leave; Slurm kills those that do not in time."""
    for task in tasks:
        if cluster == "slurm":
            task.job.cancel(check=False)
        else:
            _signal(task, signal.SIGTERM)
    _wait(tasks, GRACE_SECONDS)
    if cluster == "local" and (left := [task for task in tasks if not task.job.done()]):
        for task in left:
            task.job.cancel()  # submitit's own way: Ctrl-C, and a second later the end
        _wait(left, _KILL_SECONDS)


def _signal(task: _Submitted, signum: int) -> None:
    """The local executor's jobs are processes by whose ids they go, and which pass signals on."""
    if not task.job.done():
        with suppress(ProcessLookupError):
            os.kill(int(task.job.job_id), signum)


def _left(events: Path) -> Path:
    """There once the runner has left, so that a task which is told to stop is not to come back."""
    return events.with_name("left")


def _wait(tasks: list[_Submitted], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while any(not task.job.done() for task in tasks) and time.monotonic() < deadline:
        time.sleep(_STEP_SECONDS)


def _forget_pickles(folder: Path) -> None:
    for path in folder.glob("*.pkl"):
        path.unlink(missing_ok=True)
