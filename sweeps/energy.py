"""The energy of a run's training steps, where its device tells it; None where it does not or where others share it."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from .state import TrainingState

__all__ = ["EnergyMeter", "PackageCounter", "gpu_counter"]

_EVERY_SECONDS = 60.0  # a package's counter may wrap around once in half an hour of full power
_RAPL = Path("/sys/class/powercap")
_BUSY = Path("/proc/stat")
_LEAST_SHARE = 0.9  # of the machine's busy time that must be this process's
_CLOCK_SECONDS = 0.05  # by which busy times may be off: the kernel counts them in hundredths, a core each

Counter = Callable[[], float | None]
"""Joules since some moment, for ever rising; None where they cannot be read or are not this process's alone."""


class EnergyMeter:
    """Adds what a device uses from when it is made to a state's `energy_joules`, None once it cannot be told.

    It counts as `seconds` does: the steps, not evaluations and checkpoints, so that a run has its trunk's energy and
    that of its own branch, and goes on with it after a resume.
    """

    def __init__(self, device: torch.device) -> None:
        self._device, self._counter = device, _counter(device)
        self._last, self._read = time.monotonic(), self._counter()

    def add_to(self, state: "TrainingState") -> None:
        """Add what was used since it was last asked; the device has done its work first."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        before, self._read = self._read, self._counter()
        self._last = time.monotonic()
        is_known = state.energy_joules is not None and before is not None and self._read is not None
        state.energy_joules = state.energy_joules + self._read - before if is_known else None  # type: ignore[operator]

    def tick(self, state: "TrainingState") -> None:
        """Now and then `add_to`: often enough to see a counter wrap around."""
        if time.monotonic() - self._last > _EVERY_SECONDS:
            self.add_to(state)

    @contextmanager
    def paused(self, state: "TrainingState") -> Iterator[None]:
        """Within it nothing is counted; what was used before is in the state."""
        self.add_to(state)
        yield
        self._last, self._read = time.monotonic(), self._counter()


def _counter(device: torch.device) -> Counter:
    if device.type == "cuda":
        return gpu_counter(f"GPU-{torch.cuda.get_device_properties(device).uuid}") or _untold
    return PackageCounter.of_machine() or _untold if device.type == "cpu" else _untold


def _untold() -> None:
    return None


def gpu_counter(uuid: str) -> Counter | None:
    """The energy of a GPU by its name in NVML, which the driver renews some ten times a second; None without
    `nvidia-ml-py` or where the GPU does not count, as a part of one (MIG) does not. A GPU with several processes on it
    tells nothing of one of them.
    """
    try:
        import pynvml  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None

    def read() -> float | None:
        try:
            is_shared = len(pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)) > 1
            return None if is_shared else pynvml.nvmlDeviceGetTotalEnergyConsumption(gpu) / 1000
        except pynvml.NVMLError:
            return None

    try:
        pynvml.nvmlInit()
        gpu = pynvml.nvmlDeviceGetHandleByUUID(uuid)
    except pynvml.NVMLError:
        return None
    return read if read() is not None else None


class PackageCounter:
    """The energy of all processors of a Linux machine (RAPL), whose counters wrap around.

    They count whatever runs on the machine: with several runs at once each would be given the energy of all. So it
    tells nothing from the first time on that this process had less than 9/10 of the machine's busy time. The counters
    are mostly for root to read.
    """

    def __init__(self, files: list[Path], busy: Callable[[], float], own: Callable[[], float]) -> None:
        self._files, self._busy, self._own = files, busy, own
        self._ranges = [int(file.with_name("max_energy_range_uj").read_text()) for file in files]
        self._before, self._times = self._raw(), (busy(), own())
        self._microjoules, self._is_alone = 0, True

    @classmethod
    def of_machine(cls, folder: Path = _RAPL) -> "PackageCounter | None":
        """None where there are no counters, or none to be read."""
        try:
            names = {path.parent: path.read_text() for path in folder.glob("intel-rapl:*/name")}
            files = sorted(place / "energy_uj" for place, name in names.items() if name.startswith("package"))
            return cls(files, _busy_seconds, time.process_time) if files else None
        except (OSError, ValueError):
            return None

    def __call__(self) -> float | None:
        try:
            now, times = self._raw(), (self._busy(), self._own())
        except (OSError, ValueError):
            return None
        busy, own = (time - before for time, before in zip(times, self._times, strict=True))
        self._is_alone &= own >= _LEAST_SHARE * (busy - _CLOCK_SECONDS)
        # A reading that is less than the one before has wrapped around, once.
        self._microjoules += sum(
            after - before + (most if after < before else 0)
            for after, before, most in zip(now, self._before, self._ranges, strict=True)
        )
        self._before, self._times = now, times
        return self._microjoules / 1e6 if self._is_alone else None

    def _raw(self) -> list[int]:
        return [int(file.read_text()) for file in self._files]


def _busy_seconds() -> float:
    """Of all cores and processes: user, nice, system, irq and softirq."""
    fields = _BUSY.read_text().split(maxsplit=9)[1:8]
    return sum(int(fields[place]) for place in (0, 1, 2, 5, 6)) / os.sysconf("SC_CLK_TCK")
