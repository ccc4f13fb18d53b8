"""Which images a step trains on, as a pure function of (seed, step), and where their pixels come from."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Protocol

import numpy as np
import torch

from .images import Images, MappedImages

__all__ = ["ORDER_STREAM", "ResidentSource", "Source", "batch_indices"]

ORDER_STREAM = 1  # stream of the seed; the others are those of `sweeps.augment.streams`


def batch_indices(
    seed: int,
    step: int,
    batch_size: int,
    num_images: int,
    repeats: int = 1,
    epoch_order: Callable[[int, int], np.ndarray] | None = None,
) -> np.ndarray:
    """Indices of the images of a step, shape (batch_size,): epoch after epoch, each in an order of its own.

    With `repeats` each image stands that often in a row (repeated augmentation, Hoffer et al. 2020, arXiv 1901.09335);
    where they do not divide the batch, the last one's go on in the next batch. `epoch_order` gives a permutation for
    (seed, epoch) where it is not to be any of all.

    >>> sorted(np.concatenate([batch_indices(0, step, 4, 8) for step in (0, 1)]).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    position = (step * batch_size + np.arange(batch_size)) // repeats
    order = epoch_order or partial(_epoch_order, num_images=num_images)
    first = int(position[0]) // num_images
    if int(position[-1]) // num_images == first:  # nearly always, and twice as fast
        return order(seed, first)[position - first * num_images]
    epoch, place = np.divmod(position, num_images)
    return np.concatenate([order(seed, int(e))[place[epoch == e]] for e in np.unique(epoch)])


class Source(Protocol):
    """Training images by step.

    Attributes:
        crops: its images are cut and mirrored at random already, so that "inception_flip" has nothing left to do.
    """

    crops: bool

    def batch(self, step: int) -> Images:
        """Pixels uint8 (b, height, width, 3) and labels int64 (b,) of a step, on the device."""
        ...

    def close(self) -> None:
        """Stop what reads ahead."""
        ...


class ResidentSource:
    """Images that lie on the device as a whole, or mapped into the host's memory.

    Args:
        images: the training subset.
        seed, batch_size, repeats: see `batch_indices`.
    """

    crops = False

    def __init__(self, images: Images | MappedImages, *, seed: int, batch_size: int, repeats: int = 1):
        self._images = images
        self._device, self._num_images = images.labels.device, len(images.labels)
        self._order = (seed, batch_size, repeats)

    def batch(self, step: int) -> Images:
        seed, batch_size, repeats = self._order
        index = torch.from_numpy(batch_indices(seed, step, batch_size, self._num_images, repeats))
        return self._images.gather(index.to(self._device))

    def close(self) -> None:
        pass


@lru_cache(maxsize=4)
def _epoch_order(seed: int, epoch: int, num_images: int) -> np.ndarray:
    return np.random.default_rng([seed, epoch, ORDER_STREAM]).permutation(num_images)
