"""What an engine is: it runs jobs somewhere and says what becomes of each."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

__all__ = ["Engine", "EngineOptions", "Event", "Resources"]


@dataclass(frozen=True)
class Event:
    """What a worker says of the job with this index.

    Kinds and values: "progress", what the job reports; "done", its result; "died", one line why: the worker is gone and
    the job has no result.
    """

    kind: str
    job: int
    value: Any


@dataclass(frozen=True)
class Resources:
    """What one job takes: threads of the CPU for each of its devices, and how many devices."""

    threads: int = 1
    devices: int = 1


@dataclass(frozen=True)
class EngineOptions:
    """Where jobs run.

    Attributes:
        folder: the sweep's, on a disk that all workers see; an engine may keep files of its own in it.
        code: a folder that comes first where workers look for packages, the frozen code; None is the runner's own.
        resources: of each job.
        devices: torch devices of this machine, such as ["cuda:0", "cuda:1"]; None is all GPUs, or the CPU without.
        slots: most jobs side by side; None is as many as there is room for.
        slots_per_device: jobs that share a device.
        address: of a Ray cluster; None is one on this machine.
        job_options: of Slurm, such as {"partition": "gpu", "time": "720"}.
    """

    folder: Path
    code: Path | None = None
    resources: Resources = Resources()
    devices: Sequence[str] | None = None
    slots: int | None = None
    slots_per_device: int = 1
    address: str | None = None
    job_options: Mapping[str, str] = field(default_factory=dict)


class Engine(Protocol):
    """Slots for jobs, all alike."""

    @property
    def num_slots(self) -> int:
        """Jobs side by side."""
        ...

    def run(self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> Generator[Event, None, None]:
        """Call `function(*job, devices, report)` for each job, in order, as slots get free.

        `devices` is a tuple of torch devices, one but for jobs that take several. What the function gives to `report`
        becomes the value of a "progress" event, as a tuple, where the engine can pass it on. `function` must be
        importable by name. A worker that dies ends its job, which is not tried again. Leaving the iteration early stops
        the workers: each is sent SIGTERM, and killed only if it does not leave in time.
        """
        ...
