"""Run jobs on this machine: one spawned worker process a slot, each kept alive from job to job."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

__all__ = ["Event", "LocalEngine"]

_CONTEXT = multiprocessing.get_context("spawn")  # fork breaks CUDA and torch's threads


@dataclass(frozen=True)
class Event:
    """What a worker says of the job with this index.

    Kinds and values: "progress", what the job reports; "done", its result; "died", one line why: the worker is gone and
    the job has no result.
    """

    kind: str
    job: int
    value: Any


@dataclass
class _Slot:
    device: str
    process: BaseProcess
    connection: Connection
    job: int | None = None


class LocalEngine:
    """Slots for jobs, one device each; several slots may share a device.

    Args:
        devices: a torch device a slot, such as ["cpu", "cpu"] or ["cuda:0", "cuda:1"].
    """

    def __init__(self, devices: Sequence[str]):
        if not devices:
            raise ValueError("an engine needs at least one device")
        self._devices = list(devices)

    @property
    def num_slots(self) -> int:
        return len(self._devices)

    def run(self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> Generator[Event, None, None]:
        """Call `function(*job, device, report)` for each job, in order, as slots get free.

        What the function gives to `report` becomes the value of a "progress" event, as a tuple.

        `function` must be importable by name. A worker that dies is replaced; its job is reported, not tried again.
        Leaving the iteration early stops the workers.
        """
        waiting = iter(range(len(jobs)))
        slots = [_start(device, function) for device in self._devices[: len(jobs)]]
        try:
            for slot in slots:
                _give(slot, next(waiting, None), jobs)
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
                        slots[slots.index(slot)] = slot = _start(slot.device, function)
                    _give(slot, job, jobs)
        finally:
            for slot in slots:
                slot.process.terminate()
                slot.process.join()
                slot.connection.close()


def _start(device: str, function: Callable[..., Any]) -> _Slot:
    ours, theirs = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=_work, args=(theirs, function, device))
    process.start()
    theirs.close()
    return _Slot(device, process, ours)


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
    except (EOFError, ConnectionResetError):
        slot.process.join()
        return Event("died", slot.job, f"the worker process died with exit code {slot.process.exitcode}")
    return Event(kind, slot.job, value)


def _work(connection: Connection, function: Callable[..., Any], device: str) -> None:
    """A worker: jobs until the pipe closes. Ctrl-C is the parent's to handle, and it stops the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

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
        tell("done", function(*job, device, lambda *value: tell("progress", value)))
