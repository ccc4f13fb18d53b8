"""How fast a model answers, from a pass over images that is made anyway."""

import time

import torch
from torch import nn

__all__ = ["TimedForward"]


class TimedForward:
    """Calls a model batch by batch and notes when each answer is there, to be used for one pass over a set.

    The first batch warms up (it compiles, plans convolutions, reads the weights into the cache) and is not timed, nor
    is the last one where it is smaller.
    """

    def __init__(self) -> None:
        self._ends: list[tuple[int, float]] = []

    def __call__(self, model: nn.Module, images: torch.Tensor) -> torch.Tensor:
        outputs = model(images)
        if images.device.type == "cuda":
            torch.cuda.synchronize(images.device)
        self._ends.append((len(images), time.perf_counter()))
        return outputs

    @property
    def images_per_second(self) -> float | None:
        """With what goes before the model, bringing the pixels to the device and scaling them. None of less than two
        full batches after the first: on a busy CPU the spread from pass to pass was .26 with one, .15 with seven."""
        size = self._ends[0][0] if self._ends else 0
        full = [end for length, end in self._ends if length == size]
        if len(full) < 3:
            return None
        return size * (len(full) - 1) / max(full[-1] - full[0], 1e-9)
