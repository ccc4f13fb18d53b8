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

from .base import EngineOptions, Event

__all__ = ["LocalEngine"]

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
        ValueError: fewer devices than a job takes.
    """

    def __init__(self, options: EngineOptions):
        self._slots = _slots(options)

    @property
    def num_slots(self) -> int:
        return len(self._slots)

    def run(self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> Generator[Event, None, None]:
        """See `Engine.run`. A worker that dies is replaced."""
        waiting = iter(range(len(jobs)))
        slots = [_start(devices, function) for devices in self._slots[: len(jobs)]]
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
                        slots[slots.index(slot)] = slot = _start(slot.devices, function)
                    _give(slot, job, jobs)
        finally:
            for slot in slots:
                slot.process.terminate()
                slot.process.join()
                slot.connection.close()


def _slots(options: EngineOptions) -> list[tuple[str, ...]]:
    """The devices of each slot."""
    takes = options.resources
    devices = options.devices or _gpus()
    if not devices:  # the CPU, shared by its cores
        return [("cpu",) * takes.devices] * (options.slots or max(1, _num_cores() // (takes.threads * takes.devices)))
    if len(devices) < takes.devices:
        raise ValueError(f"devices_per_run: a run takes {takes.devices} devices, got {list(devices)}")
    groups = [tuple(devices[i : i + takes.devices]) for i in range(0, len(devices) - takes.devices + 1, takes.devices)]
    return (groups * options.slots_per_device)[: options.slots]


def _gpus() -> list[str]:
    import torch

    return [f"cuda:{index}" for index in range(torch.cuda.device_count())]


def _num_cores() -> int:
    """Where it can be told, the cores that this process may use, not those that the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start(devices: tuple[str, ...], function: Callable[..., Any]) -> _Slot:
    ours, theirs = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=_work, args=(theirs, function, devices))
    process.start()
    theirs.close()
    return _Slot(devices, process, ours)


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


def _work(connection: Connection, function: Callable[..., Any], devices: tuple[str, ...]) -> None:
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
        tell("done", function(*job, devices, lambda *value: tell("progress", value)))
