"""Tiles: square tables of samples in fixed point, many to an atlas, from which images are looked up."""

from collections.abc import Callable, Iterable

import numpy as np

__all__ = ["FULL", "FULL_BITS", "SIDE", "Function", "atlas", "atlas_index", "centres", "per_image"]

_SIDE_BITS = 6
SIDE = 1 << _SIDE_BITS
"""Samples along a tile: a power of two (wrap by mask), 2-3 samples to a pixel of 32."""
FULL_BITS = 7
FULL = (1 << FULL_BITS) - 1
"""The sample that stands for 1: 127 * 255 fits an int16, 255 * 255 does not."""
_TIE = 1e-6  # moves a value off an exact half, so that the last bit of a cosine cannot change a pixel

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""A value at every (x, y) of a tile; x to the right, y down."""


def centres(num: int) -> np.ndarray:
    """Middles of `num` equal parts of [0, 1]."""
    return (np.arange(num) + 0.5) / num


def atlas(tiles: Iterable[np.ndarray]) -> np.ndarray:
    """Tiles (SIDE, SIDE), clipped to [0, 1], as int16 in [0, FULL], flat: (num_tiles * SIDE * SIDE,)."""
    values = np.clip(np.stack(list(tiles)), 0, 1)
    return np.floor(values * FULL + 0.5 + _TIE).astype(np.int16).ravel()


def atlas_index(tile: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Index into an atlas of tiles (num_images,), rows and columns: int64 (num_images, side, side)."""
    return ((rows << _SIDE_BITS) | columns) + (tile << 2 * _SIDE_BITS)[:, None, None]


def per_image(value: np.ndarray) -> np.ndarray:
    """Values (..., num_images), rounded, to meet planes of pixels: int16 (..., num_images, 1, 1)."""
    return np.rint(value).astype(np.int16)[..., None, None]
