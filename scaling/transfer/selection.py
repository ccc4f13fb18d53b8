"""What of the models Eq. 1 is fitted to: points of their hull, and how the hull ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..inputs import check_choice, check_fractions, check_number, numbers
from ..selection.rules import check_selection, drawn_selection

__all__ = ["ANCHORS", "HULL_POINTS", "TransferSelection", "check_anchors", "check_window"]

HULL_POINTS = ("vertices", "near", "sampled")
"""What of a convex hull a law is fitted to: its vertices, the models near it, or points sampled along it."""

ANCHORS = ("chance", "flat_right")
"""Ends that a hull may be given: a guesser, and no gain right of the best model; "none" has neither."""

_NUM_SAMPLES = 100  # points on a sampled hull


@dataclass(frozen=True)
class TransferSelection:
    """The same rule for all models, for each bootstrap draw and for each simulated world.

    Attributes:
        selection, hull_points, tolerance: as in `fit_transfer`; "stochastic" selects no points.
        anchors: those of `ANCHORS` that the hull has.
        chance: upstream and downstream accuracy of a guess, where it is an anchor.
        start: upstream accuracy up to which the points are left out, once selected: the leftmost model is a vertex of
            the hull however poor it is, and bends the hull's first edges.
    """

    selection: str
    hull_points: str = "vertices"
    tolerance: float = 0.0
    anchors: tuple[str, ...] = ()
    chance: tuple[float, float] | None = None
    start: float = 0.0

    def __post_init__(self) -> None:
        check_selection(self.selection, "stochastic")
        check_choice("hull_points", self.hull_points, HULL_POINTS)
        check_number("tolerance", self.tolerance)
        for name, value, usual in (("hull_points", self.hull_points, "vertices"), ("anchors", self.anchors, ())):
            if self.selection != "convex_hull" and value != usual:
                raise ValueError(f"{name}={value!r} goes with selection='convex_hull', got {self.selection!r}")

    def points(
        self, us: np.ndarray, error: np.ndarray, counts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Models, then anchors: upstream accuracies (m,), errors (m,) or (num_draws, m), weights (num_draws, m).

        Args:
            us: upstream accuracies, shape (n,).
            error: downstream errors, shape (n,), or (num_draws, n) where each draw has its own.
            counts: how often each model was drawn, shape (num_draws, n).
        """
        us, error, weights = self._selected(us, error, counts)
        is_kept = us > self.start
        if self.chance is not None:
            is_kept |= us == self.chance[0]  # a guess may stand at the start itself, such as 0
        return us, error, weights * is_kept

    def law_points(
        self, us: np.ndarray, error: np.ndarray, counts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `points`, or the hull through them where it is sampled."""
        if self.hull_points != "sampled":
            return self.points(us, error, counts)
        us, error, vertices = self._selected(us, error, counts)
        grid = np.linspace(max(us.min(), self.start), us.max(), _NUM_SAMPLES)
        return grid, *_sampled_hulls(grid, us, error, vertices)

    def _selected(
        self, us: np.ndarray, error: np.ndarray, counts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        near = self.tolerance if self.hull_points == "near" else 0.0
        if self.chance is not None:  # a model that every draw has
            us, error = np.append(us, self.chance[0]), _append(error, 1 - self.chance[1])
            counts = _append(counts, 1)
        weights = drawn_selection(us, error, counts, self.selection, near)
        if "flat_right" in self.anchors:
            return _extend(us, error, counts > 0, weights, near)
        return us, error, weights


def check_anchors(
    anchors: str | Sequence[str], chance: Sequence[float] | None, window: tuple[float, float]
) -> tuple[tuple[str, ...], tuple[float, float] | None]:
    """The anchors as a tuple, empty for "none", and what a guess attains.

    Raises:
        ValueError: an unknown anchor, chance accuracies without their anchor or the reverse, or outside the window.
    """
    names = tuple(anchors) if isinstance(anchors, Sequence) and not isinstance(anchors, str) else (anchors,)
    is_text = all(isinstance(name, str) for name in names)
    names = () if is_text and names == ("none",) else names
    if not is_text or not set(names) <= set(ANCHORS) or len(set(names)) < len(names):
        raise ValueError(f"anchors must be 'none', or one or both of {ANCHORS}, got {anchors!r}")
    if ("chance" in names) != (chance is not None):
        raise ValueError(f"chance=(upstream, downstream) goes with anchors='chance', got {chance!r} and {anchors!r}")
    if chance is None:
        return names, None
    guess = check_fractions("chance", chance)
    if guess.shape != (2,):
        raise ValueError(f"chance must be (upstream, downstream) accuracy of a guess, got {chance!r}")
    us, ds = guess.tolist()
    if not window[0] <= us <= window[1] or us == 1:
        raise ValueError(f"chance's upstream accuracy must be below 1 and in the window {window}, got {us:g}")
    return names, (us, ds)


def check_window(window: Sequence[float], name: str = "window") -> tuple[float, float]:
    """Both ends as floats; a ValueError where it is not (from, to) of upstream accuracies."""
    ends = numbers(name, window)
    if ends.shape != (2,) or not 0 <= ends[0] < ends[1] <= 1:
        percent = " (is this percent? divide by 100)" if ends.size and ends.max() > 1 else ""
        raise ValueError(f"{name} must be (from, to) with 0 <= from < to <= 1, got {window!r}{percent}")
    return float(ends[0]), float(ends[1])


def _append(values: np.ndarray, last: float) -> np.ndarray:
    return np.concatenate([values, np.full((*values.shape[:-1], 1), last, dtype=values.dtype)], axis=-1)


def _extend(
    us: np.ndarray, error: np.ndarray, drawn: np.ndarray, weights: np.ndarray, near: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each draw's hull with a flat part from its best model to its rightmost one, as points and weights."""
    errors = np.broadcast_to(error, drawn.shape)
    best = np.where(weights > 0, errors, np.inf).min(axis=1)
    end = np.where(weights > 0, us, -np.inf).max(axis=1)
    rightmost = np.where(drawn, us, -np.inf).argmax(axis=1)
    if near > 0:
        weights = weights | (drawn & (us > end[:, None]) & (errors <= best[:, None] + near))
    is_flat = us[rightmost] > end
    columns = np.unique(rightmost[is_flat])
    ends = is_flat[:, None] & (rightmost[:, None] == columns)
    heights = np.broadcast_to(best[:, None], ends.shape)
    return np.append(us, us[columns]), np.hstack([errors, heights]), np.hstack([weights, ends.astype(np.int64)])


def _sampled_hulls(
    grid: np.ndarray, us: np.ndarray, error: np.ndarray, vertices: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Each draw's hull at the grid, and 1 where the grid lies between its ends; both (num_draws, m).

    Two vertices there are a straight line, which no bend of the law can be read from: its weights are 0.
    """
    heights = np.empty((len(vertices), grid.size))
    inside = np.zeros(heights.shape, dtype=np.int64)
    order = np.argsort(us, kind="stable")
    errors = np.broadcast_to(error, vertices.shape)
    for row, is_vertex in enumerate(vertices[:, order] > 0):
        hull = order[is_vertex]
        heights[row] = np.interp(grid, us[hull], errors[row, hull])
        has_bend = np.count_nonzero(us[hull] > max(us[hull[0]], grid[0])) > 1
        inside[row] = has_bend & (grid >= us[hull[0]]) & (grid <= us[hull[-1]])
    return heights, inside
