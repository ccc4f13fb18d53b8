"""Shapes: functions of (x, y) in tile units, positive inside, near to the distance from the edge."""

from functools import cache

import numpy as np

from .tiles import SIDE, Function, atlas, centres

__all__ = ["DOWNSTREAM_SHAPES", "EXTENT", "SHAPES", "UPSTREAM_SHAPES", "box", "shape_atlas"]

EXTENT = 1.25
"""A tile spans [-1.25, 1.25]; shapes stay within 1.15, so that the tile's edge is empty."""
_SOFTNESS = 0.12  # width of an edge in tile units: a pixel, if the object is 9 pixels in radius


def box(x: np.ndarray, y: np.ndarray, half_width: float, half_height: float) -> np.ndarray:
    return np.minimum(half_width - np.abs(x), half_height - np.abs(y))


def _polar(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Radius, and angle from the top, clockwise."""
    return np.hypot(x, y), np.arctan2(x, -y)


def _triangle(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Equilateral, with a corner at the top: the outline is a straight line in each third of a turn."""
    radius, angle = _polar(x, y - 0.2)
    third = 2 * np.pi / 3
    return 0.58 - radius * np.cos(np.mod(angle, third) - third / 2)


def _star(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Five points: the outline is a straight line in each of ten half-sectors."""
    radius, angle = _polar(x, y)
    half_sector = np.pi / 5
    folded = np.abs(np.mod(angle + half_sector, 2 * half_sector) - half_sector)
    return 0.42 - radius * np.cos(folded - 1.17)


def _plus(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.maximum(box(x, y, 0.95, 0.3), box(x, y, 0.3, 0.95))


def _crescent(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.minimum(0.95 - np.hypot(x, y), np.hypot(x - 0.5, y) - 0.7)


def _heart(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    lobes = 0.5 - np.hypot(np.abs(x) - 0.42, y + 0.35)
    tip = np.minimum(0.66 - 0.71 * (np.abs(x) + y), np.minimum(y + 0.35, 0.9 - np.abs(x)))
    return np.maximum(lobes, tip)


def _ell(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.maximum(box(x + 0.5, y, 0.28, 0.85), box(x, y - 0.57, 0.78, 0.28))


def _tee(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.maximum(box(x, y + 0.6, 0.85, 0.26), box(x, y, 0.26, 0.86))


def _arrow(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    head = np.minimum(-y + 0.05, 0.64 * (1.0 + y - 1.2 * np.abs(x)))
    return np.maximum(head, box(x, y - 0.45, 0.24, 0.55))


def _flower(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    radius, angle = _polar(x, y)
    return 0.66 + 0.3 * np.cos(6 * angle) - radius


def _chevron(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.minimum(0.28 - 0.7 * np.abs(y - np.abs(x) + 0.45), 0.9 - np.abs(x))


UPSTREAM_SHAPES: dict[str, Function] = {
    "disc": lambda x, y: 0.9 - np.hypot(x, y),
    "square": lambda x, y: box(x, y, 0.78, 0.78),
    "triangle": _triangle,
    "star": _star,
    "plus": _plus,
    "ring": lambda x, y: 0.22 - np.abs(np.hypot(x, y) - 0.73),
    "crescent": _crescent,
    "heart": _heart,
}
DOWNSTREAM_SHAPES: dict[str, Function] = {
    "half_disc": lambda x, y: np.minimum(0.98 - np.hypot(x, y - 0.45), 0.45 - y),
    "ellipse": lambda x, y: 0.5 - np.hypot(0.5 * x, y),
    "bar": lambda x, y: box(x, y, 0.3, 1.0),
    "ell": _ell,
    "tee": _tee,
    "arrow": _arrow,
    "bow_tie": lambda x, y: np.minimum(0.9 - np.abs(x), 0.7 * (np.abs(x) + 0.12 - np.abs(y))),
    "frame": lambda x, y: 0.2 - np.abs(np.maximum(np.abs(x), np.abs(y)) - 0.64),
    "flower": _flower,
    "chevron": _chevron,
}
SHAPES = UPSTREAM_SHAPES | DOWNSTREAM_SHAPES
"""In the order of the atlas."""


@cache
def shape_atlas() -> np.ndarray:
    """Coverage of every shape, made once a process: int16 in [0, FULL], flat."""
    axis = (centres(SIDE) * 2 - 1) * EXTENT
    x, y = np.meshgrid(axis, axis)
    return atlas(0.5 + inside(x, y) / _SOFTNESS for inside in SHAPES.values())
