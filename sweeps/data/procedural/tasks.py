"""Tasks: what a label means. The upstream set and every downstream task are a row each of one table."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .scenes import Objects, labelled_object, symmetric, with_clutter
from .shapes import DOWNSTREAM_SHAPES, SHAPES, UPSTREAM_SHAPES
from .textures import DOWNSTREAM_TEXTURES, TEXTURES, UPSTREAM_TEXTURES

__all__ = [
    "DOWNSTREAM_HUES",
    "SETS",
    "TASKS",
    "UPSTREAM_CLASSES",
    "UPSTREAM_HUES",
    "UPSTREAM_TINTS",
    "LabelledSet",
    "upstream_factors",
]

UPSTREAM_HUES = tuple(k / 15 for k in range(15))
"""Of the object, in turns."""
DOWNSTREAM_HUES = tuple((k + 0.5) / 10 for k in range(10))
"""None of them is an upstream hue."""
UPSTREAM_TINTS = tuple((k + 0.5) / 4 for k in range(4))
"""Hues of the background, in turns."""
_DETAILS = (
    (
        (("disc", "solid"), ("disc", "checks")),
        (("square", "stripes"), ("square", "dots")),
        (("heart", "solid"), ("heart", "stripes")),
        (("plus", "checks"), ("plus", "dots")),
    ),
    (
        (("disc", "stripes"), ("crescent", "stripes")),
        (("ring", "dots"), ("square", "dots")),
        (("triangle", "solid"), ("plus", "solid")),
        (("star", "checks"), ("ring", "checks")),
    ),
    (
        (("disc", "dots"), ("heart", "dots")),
        (("triangle", "checks"), ("star", "checks")),
        (("square", "solid"), ("plus", "solid")),
        (("crescent", "stripes"), ("ring", "stripes")),
    ),
)
"""The two (shape, texture) of every tint (column), by hue: a row for five neighbouring hues.

Hue and tint alone leave a guess between two, of which the texture tells a third, an unlike shape another and a like
shape the last: what is learned early is worth most, and error falls with compute as on real images. Neighbouring hues
have the same details: otherwise these would tell which of two hues is meant, and no image would be beyond a perfect
learner.
"""
_DETAIL_ROWS = np.array(
    [[[(list(SHAPES).index(s), list(TEXTURES).index(t)) for s, t in pair] for pair in row] for row in _DETAILS]
)
UPSTREAM_CLASSES = len(UPSTREAM_HUES) * len(UPSTREAM_TINTS) * 2

_SMALL = 0.42  # times the radius, in `position` and `count`: up to 0.15, which fits a third of the side
_QUADRANT_OFFSET = (0.16, 0.32)  # from the middle lines: out of the other quadrants, and inside the image
_MAX_COUNT = 4
_COUNT_JITTER = 0.015  # of the image side: what a cell leaves free beside an object of 0.15


def upstream_factors(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows of shape and of texture, hue and tint in turns, of upstream classes."""
    hue, tint, which = np.unravel_index(labels, (len(UPSTREAM_HUES), *_DETAIL_ROWS.shape[1:3]))
    shape, texture = _DETAIL_ROWS[hue * len(_DETAIL_ROWS) // len(UPSTREAM_HUES), tint, which].T
    return shape, texture, np.take(UPSTREAM_HUES, hue), np.take(UPSTREAM_TINTS, tint)


def _upstream(rng: np.random.Generator, difficulty: np.ndarray, labels: np.ndarray) -> list[Objects]:
    shape, texture, hue, _ = upstream_factors(labels)
    labelled = labelled_object(rng, difficulty, shape=shape, texture=texture, hue=hue)
    return with_clutter(rng, difficulty, labelled)


def _shapes(rng: np.random.Generator, difficulty: np.ndarray, labels: np.ndarray) -> list[Objects]:
    return with_clutter(rng, difficulty, labelled_object(rng, difficulty, shape=len(UPSTREAM_SHAPES) + labels))


def _textures(rng: np.random.Generator, difficulty: np.ndarray, labels: np.ndarray) -> list[Objects]:
    return with_clutter(rng, difficulty, labelled_object(rng, difficulty, texture=len(UPSTREAM_TEXTURES) + labels))


def _colours(rng: np.random.Generator, difficulty: np.ndarray, labels: np.ndarray) -> list[Objects]:
    return with_clutter(rng, difficulty, labelled_object(rng, difficulty, hue=np.take(DOWNSTREAM_HUES, labels)))


def _position(rng: np.random.Generator, difficulty: np.ndarray, labels: np.ndarray) -> list[Objects]:
    """A small object in one quadrant: 0 and 1 above, 0 and 2 left. No clutter: it has a place too."""
    down, right = np.divmod(labels, 2)
    away = rng.uniform(*_QUADRANT_OFFSET, (2, len(labels)))
    labelled = labelled_object(rng, difficulty)
    x, y = 0.5 + (2 * right - 1) * away[0], 0.5 + (2 * down - 1) * away[1]
    return [replace(labelled, x=x, y=y, radius=_SMALL * labelled.radius)]


def _count(rng: np.random.Generator, difficulty: np.ndarray, labels: np.ndarray) -> list[Objects]:
    """label + 1 small objects alike, in different cells of a 3 x 3 grid. No clutter: it would be counted."""
    num_images = len(labels)
    alike = labelled_object(rng, difficulty)
    cells = rng.permuted(np.tile(np.arange(9), (num_images, 1)), axis=1)
    layers = []
    for which in range(_MAX_COUNT):
        row, column = np.divmod(cells[:, which], 3)
        x, y = ((cell + 0.5) / 3 + symmetric(rng, _COUNT_JITTER, num_images) for cell in (column, row))
        opacity = np.where(which <= labels, alike.opacity, 0)
        layers.append(replace(alike, x=x, y=y, radius=_SMALL * alike.radius, opacity=opacity))
    return layers


@dataclass(frozen=True)
class LabelledSet:
    """How many classes a set has, how hard its images are, and how their objects are drawn by lot."""

    num_classes: int
    hardest: float  # upper end of the difficulty
    layers: Callable[[np.random.Generator, np.ndarray, np.ndarray], list[Objects]]
    """(rng, difficulty, labels) -> objects, the last in front."""
    tint: Callable[[np.ndarray], np.ndarray] | None = None
    """labels -> hue of the background in turns; None: a faint one at random."""


SETS = {
    "procedural": LabelledSet(UPSTREAM_CLASSES, 1.0, _upstream, tint=lambda labels: upstream_factors(labels)[3]),
    "shapes": LabelledSet(len(DOWNSTREAM_SHAPES), 0.2, _shapes),
    "textures": LabelledSet(len(DOWNSTREAM_TEXTURES), 0.2, _textures),
    "colours": LabelledSet(len(DOWNSTREAM_HUES), 1.0, _colours),
    "position": LabelledSet(4, 0.5, _position),
    "count": LabelledSet(_MAX_COUNT, 0.5, _count),
}
"""The sets with images of their own. New shapes and textures are hard at 10 shots, hence easier images; hue is not."""
TASKS: dict[str, int] = {
    **{name: labelled_set.num_classes for name, labelled_set in SETS.items() if name != "procedural"},
    "shuffled_labels": len(DOWNSTREAM_SHAPES),
}
"""Number of classes of each downstream task; `shuffled_labels`, the images of `shapes`, is the negative control."""
