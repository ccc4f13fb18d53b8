"""Run jobs on this machine: one spawned worker process a slot, each kept alive from job to job."""

import multiprocessing
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from ..stopping import Interrupted, check_stop, held_signals, leave_on_signals, note_signals
from .base import EngineOptions, Event

__all__ = ["LocalEngine"]

_GRACE_SECONDS = 30.0  # for a worker to save its checkpoint: a step and a write
_CONTEXT = multiprocessing.get_context("spawn")  # fork breaks CUDA and torch's threads


@dataclass
class _Slot:
    devices: tuple[str, ...]
    process: BaseProcess
    connection: Connection
    job: int | None = None


class LocalEngine:
    """Slots on this machine's devices; several may share a device.

    Raises:
        ValueError: fewer devices than a job takes, or one that is not there.
    """

    def __init__(self, options: EngineOptions):
        self._slots = _slots(options)
        self._code = options.code

    @property
    def num_slots(self) -> int:
        return len(self._slots)

    def run(self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> Generator[Event, None, None]:
        """See `Engine.run`. A worker that dies is replaced."""
        waiting = iter(range(len(jobs)))
        slots: list[_Slot] = []
        resource_tracker.ensure_running()  # a start would start it, and let in the signals that are held
        try:
            for devices in self._slots[: len(jobs)]:
                with held_signals():
                    slots.append(_start(devices, function, self._code))
                _give(slots[-1], next(waiting, None), jobs)
            while any(slot.job is not None for slot in slots):
                busy = {slot.connection: slot for slot in slots if slot.job is not None}
                for connection in wait(list(busy)):
                    slot = busy[connection]  # type: ignore[index]
                    event = _receive(slot)
                    yield event
                    if event.kind == "progress":
                        continue
                    job = next(waiting, None)
                    if not slot.process.is_alive() and job is not None:
                        slot.connection.close()
                        with held_signals():
                            slots[slots.index(slot)] = slot = _start(slot.devices, function, self._code)
                    _give(slot, job, jobs)
        finally:
            _leave(slots)


def _slots(options: EngineOptions) -> list[tuple[str, ...]]:
    """The devices of each slot."""
    takes = options.resources
    devices = options.devices or _gpus()
    if not devices:  # the CPU, shared by its cores
        return [("cpu",) * takes.devices] * (options.slots or max(1, _num_cores() // (takes.threads * takes.devices)))
    if set(devices) == {"cpu"}:  # as many as it is named, or as many as are asked for
        return [("cpu",) * takes.devices] * (options.slots or max(1, len(devices) // takes.devices))
    if len(devices) < takes.devices:
        raise ValueError(f"devices_per_run: a run takes {takes.devices} devices, got {list(devices)}")
    _check(devices)
    groups = [tuple(devices[i : i + takes.devices]) for i in range(0, len(devices) - takes.devices + 1, takes.devices)]
    return (groups * options.slots_per_device)[: options.slots]


def _check(devices: Sequence[str]) -> None:
    """
    Raises:
        ValueError: a device that this machine has not.
    """
    valid = ["cpu", *_gpus()]
    if unknown := [device for device in devices if device not in valid]:
        raise ValueError(f"devices: must be of {valid}, got {unknown[0]!r}")


def _gpus() -> list[str]:
    import torch

    return [f"cuda:{index}" for index in range(torch.cuda.device_count())]


def _num_cores() -> int:
    """Where it can be told, the cores that this process may use, not those that the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start(devices: tuple[str, ...], function: Callable[..., Any], code: Path | None) -> _Slot:
    ours, theirs = _CONTEXT.Pipe()
    # Pickled by itself: what it imports, such as torch, is imported when the worker can be told to leave.
    process = _CONTEXT.Process(target=_work, args=(theirs, pickle.dumps(function), devices))
    with _first_on_path(code):
        process.start()
    theirs.close()
    return _Slot(devices, process, ours)


@contextmanager
def _first_on_path(folder: Path | None) -> Iterator[None]:
    """A process that is started in it looks for packages there first."""
    before = list(sys.path)
    sys.path[:] = [*([str(folder.resolve())] if folder else []), *before]
    try:
        yield
    finally:
        sys.path[:] = before


def _give(slot: _Slot, job: int | None, jobs: Sequence[tuple[Any, ...]]) -> None:
    slot.job = job
    if job is not None:
        # A worker that died while it waited is noticed when its answer is.
        with suppress(BrokenPipeError, ConnectionResetError):
            slot.connection.send(jobs[job])


def _receive(slot: _Slot) -> Event:
    assert slot.job is not None
    try:
        kind, value = slot.connection.recv()
    except (EOFError, OSError):  # the latter where it was killed in the middle of what it said
        slot.process.join()
        return Event("died", slot.job, f"the worker process {_ending(slot.process.exitcode or 0)}")
    return Event(kind, slot.job, value)


def _ending(exit_code: int) -> str:
    """
    >>> _ending(3), _ending(-6)
    ('died with exit code 3', 'died with signal 6 (SIGABRT)')
    """
    if exit_code >= 0:
        return f"died with exit code {exit_code}"
    names = {int(known): known.name for known in signal.Signals}
    text = f"died with signal {-exit_code} ({names.get(-exit_code, 'unknown')})"
    why = ": killed from outside, or by the system for want of memory"
    return text + why * (exit_code == -signal.SIGKILL)


def _leave(slots: Sequence[_Slot]) -> None:
    """Busy workers save what they have and leave, in time or by force; an error on the way, a signal, is force too."""
    try:
        deadline = time.monotonic() + _GRACE_SECONDS
        for slot in slots:
            if slot.job is None:
                slot.connection.close()
            else:
                slot.process.terminate()
        _drain([slot.connection for slot in slots if slot.job is not None], deadline)
        for slot in slots:
            slot.process.join(max(0.0, deadline - time.monotonic()))
    finally:
        for slot in slots:
            slot.process.kill()
        for slot in slots:
            slot.process.join()
            slot.connection.close()


def _drain(connections: list[Connection], deadline: float) -> None:
    """Take in what workers still say, which a full pipe would keep them from, until each is gone."""
    while connections and (seconds := deadline - time.monotonic()) > 0:
        for connection in wait(connections, seconds):
            assert isinstance(connection, Connection)
            try:
                connection.recv()
            except (EOFError, OSError):
                connections.remove(connection)


def _work(connection: Connection, pickled: bytes, devices: tuple[str, ...]) -> None:
    """A worker: jobs until the pipe closes. Told to stop it leaves at once, or in a job when that has saved its state.

    Ctrl-C is the parent's to handle, and it stops the workers.
    """
    leave_on_signals()
    function = pickle.loads(pickled)

    def tell(kind: str, value: Any) -> None:
        try:
            connection.send((kind, value))
        except OSError:
            os._exit(1)  # the parent is gone: another may run these jobs by now, so nothing more is written

    while True:
        try:
            job = connection.recv()
        except EOFError:
            return
        note_signals()
        try:
            tell("done", function(*job, devices, lambda *value: tell("progress", value)))
            leave_on_signals()
            check_stop()
        except Interrupted as told:
            sys.exit(told.exit_code)
