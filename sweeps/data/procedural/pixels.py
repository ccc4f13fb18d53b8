"""Pixels: int16 planes (3, num_images, side, side) until the last step."""

import numpy as np

from .noise import add_noise, backgrounds
from .scenes import Objects
from .shapes import EXTENT, shape_atlas
from .textures import TEXTURE_CELLS, texture_atlas
from .tiles import FULL, FULL_BITS, SIDE, atlas_index, centres, per_image

__all__ = ["render"]

_TEXTURE_PERIOD = 0.2  # of the image side: 6.4 pixels in 32, three periods in an object
_DARK = 0.2  # dark colour of a texture, times the bright one
_FIXED_BITS = 5  # of a sample: the smallest object, 0.1, is up to 400 samples away, 9 of an int16's 15 bits


def _affine(
    objects: Objects, side: int, scale: np.ndarray | float, origin: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """Tile columns and rows under every pixel, int16 (num_images, side, side), in whole samples.

    `scale` is in samples to an image side, `origin` the sample under the object's middle; both (num_images,) or
    one for all. A rotation is a term of the column plus a term of the row, so the work for a pixel is one addition.
    """
    unit, start = (np.atleast_1d(value)[:, None] * 2**_FIXED_BITS for value in (scale, origin))
    along, down = ((centres(side) - middle[:, None]) * unit for middle in (objects.x, objects.y))
    cos, sin = np.cos(objects.angle)[:, None], np.sin(objects.angle)[:, None]

    def sum_of(column_term: np.ndarray, row_term: np.ndarray) -> np.ndarray:
        column_term, row_term = (np.rint(term).astype(np.int16) for term in (column_term + start, row_term))
        return (column_term[:, None, :] + row_term[:, :, None]) >> _FIXED_BITS

    return sum_of(cos * along, sin * down), sum_of(-sin * along, cos * down)


def _coverage(objects: Objects, side: int) -> np.ndarray:
    """Share of each pixel that the object takes, int16 in [0, FULL]: (num_images, side, side)."""
    columns, rows = _affine(objects, side, scale=SIDE / (2 * EXTENT) / objects.radius, origin=SIDE / 2)
    for index in (columns, rows):
        np.clip(index, 0, SIDE - 1, out=index)
    mask = np.take(shape_atlas(), atlas_index(objects.shape, rows, columns))
    return (mask * per_image(objects.opacity * FULL)) >> FULL_BITS


def _brightness(objects: Objects, side: int) -> np.ndarray:
    """Texture in the frame of the object, int16 in [0, FULL]: (num_images, side, side)."""
    scale = SIDE / TEXTURE_CELLS / _TEXTURE_PERIOD
    columns, rows = (index & (SIDE - 1) for index in _affine(objects, side, scale, objects.phase * SIDE))
    return np.take(texture_atlas(), atlas_index(objects.texture, rows, columns))


def _colour(objects: Objects) -> np.ndarray:
    """Three cosines a third of a turn apart, in [0, 255]: (3, num_images). Equal steps of hue look alike."""
    thirds = np.arange(3)[:, None] / 3
    return objects.light * (140 + 110 * np.cos(2 * np.pi * (objects.hue - thirds)))


def _paint(canvas: np.ndarray, objects: Objects) -> None:
    """Draw one layer over the canvas, in place; an absent object costs nothing."""
    present = np.flatnonzero(objects.opacity)
    objects, side = objects.at(present), canvas.shape[-1]
    coverage, brightness = _coverage(objects, side), _brightness(objects, side)
    bright = _colour(objects)
    dark = _DARK * bright
    for plane, low, span in zip(canvas, per_image(dark), per_image(bright - dark), strict=True):
        below = plane[present]
        painted = low + ((brightness * span) >> FULL_BITS)
        plane[present] = below + (((painted - below) * coverage) >> FULL_BITS)


def render(
    rng: np.random.Generator, layers: list[Objects], tint: np.ndarray | None, noise: np.ndarray, side: int
) -> np.ndarray:
    """Images of layers, the last in front, on backgrounds of hues `tint`, with noise of amplitudes in [0, 1].

    Returns uint8 (num_images, side, side, 3).
    """
    canvas = backgrounds(rng, tint, len(noise), side)
    for objects in layers:
        _paint(canvas, objects)
    add_noise(rng, canvas, noise)
    return np.ascontiguousarray(np.clip(canvas, 0, 255).astype(np.uint8).transpose(1, 2, 3, 0))
