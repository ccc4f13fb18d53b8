"""The energy of a run's training steps, where its GPU counts it and the run has the GPU to itself; None elsewhere.

Processors are left out: their counters (RAPL) are of all that runs on the machine, and mostly for root to read.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from .state import TrainingState

__all__ = ["EnergyMeter", "gpu_counter"]

Counter = Callable[[], float | None]
"""Joules since some moment, for ever rising; None where they cannot be read or are not this process's alone."""


class EnergyMeter:
    """Adds what a device uses from when it is made to a state's `energy_joules`, None once it cannot be told.

    It counts as `seconds` does: the steps, not evaluations and checkpoints, so that a run has its trunk's energy and
    that of its own branch, and goes on with it after a resume.
    """

    def __init__(self, device: torch.device) -> None:
        self._counter = _counter(device)
        self._before = self._counter()

    def add_to(self, state: "TrainingState") -> None:
        """Add what was used since it was last asked."""
        before, self._before = self._before, self._counter()
        is_known = state.energy_joules is not None and before is not None and self._before is not None
        state.energy_joules = state.energy_joules + self._before - before if is_known else None  # type: ignore[operator]

    @contextmanager
    def paused(self, state: "TrainingState") -> Iterator[None]:
        """Within it nothing is counted; what was used before is in the state."""
        self.add_to(state)
        yield
        self._before = self._counter()


def _counter(device: torch.device) -> Counter:
    uuid = f"GPU-{torch.cuda.get_device_properties(device).uuid}" if device.type == "cuda" else None
    counter = gpu_counter(uuid) if uuid else None
    if counter is None:
        return lambda: None

    def read() -> float | None:
        torch.cuda.synchronize(device)  # a GPU lags behind the steps that it was given
        return counter()

    return read


def gpu_counter(uuid: str) -> Counter | None:
    """The energy of a GPU by its name in NVML, which the driver renews some ten times a second.

    None without `nvidia-ml-py` or where the GPU does not count, as a part of one (MIG) does not. While the driver shows
    several processes on the GPU its counter tells nothing of one of them.
    """
    try:
        import pynvml  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    # An old pynvml lacks functions or takes bytes for a name: no energy is no reason to stop a run.
    faults = (pynvml.NVMLError, AttributeError, TypeError)

    def read() -> float | None:
        try:
            is_shared = len(pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)) > 1
            return None if is_shared else pynvml.nvmlDeviceGetTotalEnergyConsumption(gpu) / 1000
        except faults:
            return None

    try:
        pynvml.nvmlInit()
        gpu = pynvml.nvmlDeviceGetHandleByUUID(uuid)
    except faults:
        return None
    return read if read() is not None else None
