"""The order of an epoch where images lie in blocks that are read as a whole."""

from functools import lru_cache

import numpy as np

from ..batches import ORDER_STREAM

__all__ = ["BlockOrder"]


class BlockOrder:
    """Blocks in a random order, and within each window of `window` blocks their images in a random order.

    Each epoch is a permutation of all images, and needs each block once: while its window lasts. Two windows are never
    needed at once but by a batch on their border.

    Args:
        blocks: number of each image's block, shape (num_images,).

    >>> order = BlockOrder(np.repeat(np.arange(4), 3), window=2)(seed=0, epoch=0)
    >>> sorted(order.tolist()) == list(range(12)), len(set((order[:6] // 3).tolist()))
    (True, 2)
    """

    def __init__(self, blocks: np.ndarray, window: int):
        self._blocks = np.unique(blocks, return_inverse=True)[1]
        self._window = window
        self._cached = lru_cache(maxsize=2)(self._permutation)

    def __call__(self, seed: int, epoch: int) -> np.ndarray:
        """The images of an epoch in their order, shape (num_images,)."""
        return self._cached(seed, epoch)

    def _permutation(self, seed: int, epoch: int) -> np.ndarray:
        rng = np.random.default_rng([seed, epoch, ORDER_STREAM])
        place = rng.permutation(self._blocks.max() + 1)[self._blocks]
        return np.lexsort((rng.random(len(place)), place // self._window))
