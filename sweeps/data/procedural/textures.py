"""Textures: functions of (x, y) in cells, periodic in 4 cells, 0 for the dark colour to 1 for the bright one."""

from functools import cache

import numpy as np

from .noise import smooth_noise
from .shapes import box
from .tiles import SIDE, Function, atlas, centres

__all__ = ["DOWNSTREAM_TEXTURES", "TEXTURES", "TEXTURE_CELLS", "UPSTREAM_TEXTURES", "texture_atlas"]

TEXTURE_CELLS = 4
"""Cells along a texture tile."""


def _soft(value: np.ndarray, softness: float = 0.35) -> np.ndarray:
    """A step at zero, blurred by `softness`: nearest-sample look-up of a hard step would flicker."""
    return np.clip(0.5 + value / (2 * softness), 0, 1)


def _wave(x: np.ndarray) -> np.ndarray:
    return np.sin(2 * np.pi * x)


def _centred(x: np.ndarray, period: float = 1.0) -> np.ndarray:
    """Offset from the middle of its cell, in [-period / 2, period / 2)."""
    return np.mod(x, period) - period / 2


def _staggered(x: np.ndarray, y: np.ndarray, shift: float) -> np.ndarray:
    """x, with every other row of cells shifted."""
    return x + np.where(np.mod(y, 2) < 1, 0.0, shift)


def _bricks(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    edge = box(_centred(_staggered(x, y, 1.0), 2), _centred(y), 1, 0.5)
    return _soft(edge - 0.16, 0.12)


def _scales(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Overlapping discs, each shaded from its rim."""
    return np.clip(1.6 * np.hypot(_centred(_staggered(x, y, 0.5)), np.mod(y, 1)) - 0.2, 0, 1)


def _crosses(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x, y = _centred(x), _centred(y)
    return _soft(np.maximum(box(x, y, 0.42, 0.15), box(x, y, 0.15, 0.42)), 0.12)


def _weave(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Threads over and under: bars along x and along y on alternate cells."""
    along_x = np.mod(np.floor(x) + np.floor(y), 2) < 1
    return _soft(0.28 - np.abs(np.where(along_x, _centred(y), _centred(x))), 0.12)


UPSTREAM_TEXTURES: dict[str, Function] = {
    "solid": lambda x, y: np.full_like(x, 0.8),
    "stripes": lambda x, y: _soft(_wave(y), 0.8),
    "checks": lambda x, y: _soft(_wave(x / 2) * _wave(y / 2)),
    "dots": lambda x, y: _soft(0.3 - np.hypot(_centred(x), _centred(y)), 0.15),
}
DOWNSTREAM_TEXTURES: dict[str, Function] = {
    "bricks": _bricks,
    "scales": _scales,
    "crosses": _crosses,
    "diamonds": lambda x, y: _soft(0.5 - np.abs(_centred(x, 2)) - np.abs(_centred(y)), 0.2),
    "rings": lambda x, y: _soft(_wave(1.25 * np.hypot(_centred(x, 2), _centred(y, 2))), 0.6),
    "blobs": lambda x, y: _soft(smooth_noise(seed=1, passes=8), 0.8),
    "grain": lambda x, y: _soft(smooth_noise(seed=2, passes=1), 1.5),
    "weave": _weave,
    "triangles": lambda x, y: _soft(0.5 * np.mod(y, 1) - np.abs(_centred(x)), 0.15),
    "pinstripes": lambda x, y: _soft(_wave(2 * x), 0.8),
}
TEXTURES = UPSTREAM_TEXTURES | DOWNSTREAM_TEXTURES
"""In the order of the atlas."""


@cache
def texture_atlas() -> np.ndarray:
    """Brightness of every texture, made once a process: int16 in [0, FULL], flat."""
    axis = centres(SIDE) * TEXTURE_CELLS
    x, y = np.meshgrid(axis, axis)
    return atlas(brightness(x, y) for brightness in TEXTURES.values())
