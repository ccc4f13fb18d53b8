"""Selections of points: the Pareto frontier and the convex hull.

Most points of a large cloud lie far from both. A sample's frontier (hull) discards them in one pass; only what is left
is sorted. A discarded point is beaten by (lies inside the hull of) points of the set, so the result is exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ..inputs import check_choice, check_number, paired

__all__ = ["convex_hull", "finite_points", "not_beaten_by", "pareto_frontier"]

_SAMPLE = (
    1 << 16
)  # sampled points whose frontier or hull discards the rest: all but about 1 in 10 000 of a random cloud
_STEPS = 1 << 10  # points of that frontier or hull that are used: any of them discard rightly
_CHUNK = 1 << 18  # points tested at once: a few MB
_ROUNDING = 16 * np.finfo(float).eps  # of a chord's height, relative to the largest height


def pareto_frontier(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Indices of the points that no other point beats: lower y at no more x.

    Args:
        x: costs, shape (n,), e.g. training compute in FLOPs.
        y: errors, shape (n,).

    Returns:
        int64 indices, x ascending and y strictly falling. Of equal points the first is kept.

    Raises:
        ValueError: shapes differ, or a value is not finite.

    Source: the running minimum that reproduces the laws printed in Zhai et al. 2021 (arXiv 2106.04560), Figure 9.

    >>> pareto_frontier([1, 2, 2, 4, 8], [0.5, 0.4, 0.4, 0.3, 0.35])
    array([0, 1, 3])
    """
    x, y = finite_points(x, y)
    kept = _not_beaten_by_sample(x, y)
    kept = kept[_lowest_at_each_x(x[kept], y[kept])]
    heights = y[kept]
    return kept[heights < np.concatenate([[np.inf], np.minimum.accumulate(heights)])[: kept.size]]


def convex_hull(x: ArrayLike, y: ArrayLike, side: str = "upper", tolerance: float = 0.0) -> np.ndarray:
    """Indices of the upper or lower convex hull, or of all points near it.

    Args:
        x, y: points, shape (n,).
        side: "upper" (accuracy against accuracy) or "lower" (error against compute).
        tolerance: 0 gives the vertices only; above 0 every point at most that far from the hull in y
            (an exact power law in log-log is a straight line: two vertices, and all its points near the hull).

    Returns:
        int64 indices, x ascending, from the leftmost to the rightmost point.

    Raises:
        ValueError: shapes differ, a value is not finite, an unknown side, or a negative tolerance.

    Source: the hull of Abnar et al. 2021 (arXiv 2110.02095), section 2; Andrew's monotone chain.

    >>> convex_hull([0, 1, 2, 3], [0, 2, 1, 0])
    array([0, 1, 3])
    >>> convex_hull([1, 2, 3], [1, 2, 3]), convex_hull([1, 2, 3], [1, 2, 3], tolerance=1e-9)
    (array([0, 2]), array([0, 1, 2]))
    """
    check_choice("side", side, ("upper", "lower"))
    check_number("tolerance", tolerance)
    x, y = finite_points(x, y)
    if x.size == 0:
        return np.empty(0, dtype=np.int64)
    depth = y if side == "lower" else -y
    kept = _not_above_hull(x, depth)
    vertices = kept[_lower_vertices(x[kept], depth[kept])]
    if tolerance == 0:
        return vertices
    near = _indices_where(lambda a, b: b <= np.interp(a, x[vertices], depth[vertices]) + tolerance, x, depth)
    return near[_order(x[near], depth[near])]


def finite_points(x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Both as float64 arrays of one shape (n,), or an error that names the rows that are not finite."""
    x, y = paired(x, y)
    bad = np.flatnonzero(~(np.isfinite(x) & np.isfinite(y)))
    if bad.size:
        raise ValueError(
            f"x and y must be finite; not so in rows {bad[:10].tolist()}" + ("..." if bad.size > 10 else "")
        )
    return x, y


# Discarding ---------------------------------------------------------------------------------------------------


def _not_beaten_by_sample(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.size <= _SAMPLE:
        return np.arange(x.size)
    sample = np.arange(0, x.size, 1 + x.size // _SAMPLE)
    frontier = sample[pareto_frontier(x[sample], y[sample])]
    return not_beaten_by(x[frontier], y[frontier], x, y)


def not_beaten_by(frontier_x: np.ndarray, frontier_y: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Indices of the points that steps of a frontier (x ascending, y falling) do not beat; their equals are kept."""
    steps = slice(None, None, 1 + frontier_x.size // _STEPS)
    step_x, step_y = frontier_x[steps], np.concatenate([[np.inf], frontier_y[steps]])
    # Beaten by a step that costs less, or, asked of the few that are left, by one that costs as much.
    kept = _indices_where(lambda a, b: b < step_y[np.searchsorted(step_x, a, side="left")], x, y)
    x, y = x[kept], y[kept]
    return kept[_indices_where(lambda a, b: b <= step_y[np.searchsorted(step_x, a, side="right")], x, y)]


def _not_above_hull(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Indices of the points that do not lie above the lower hull of a sample, up to rounding."""
    if x.size <= _SAMPLE:
        return np.arange(x.size)
    sample = np.append(np.arange(0, x.size, 1 + x.size // _SAMPLE), [x.argmin(), x.argmax()])  # it spans all x
    hull = sample[_lower_vertices(x[sample], y[sample])]
    hull = np.append(hull[: -1 : 1 + hull.size // _STEPS], hull[-1])
    slack = _ROUNDING * max(y.max(), -y.min())
    return _indices_where(lambda a, b: ~(b > np.interp(a, x[hull], y[hull]) + slack), x, y)


def _indices_where(test: Callable[[np.ndarray, np.ndarray], np.ndarray], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Indices of the points that pass a test, taken a chunk at a time to save memory."""
    starts = range(0, x.size, _CHUNK)
    found = [i + np.flatnonzero(test(x[i : i + _CHUNK], y[i : i + _CHUNK])) for i in starts]
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


# Exact --------------------------------------------------------------------------------------------------------


def _order(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """By x, then y, then index."""
    order = np.argsort(x)  # several times faster than lexsort, and the same where no x occurs twice
    return order if np.all(x[order[1:]] > x[order[:-1]]) else np.lexsort((y, x))


def _lowest_at_each_x(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Indices of the lowest point at each x, x ascending; of equal points the first."""
    order = _order(x, y)
    return order[np.concatenate([[True], x[order[1:]] > x[order[:-1]]])[: x.size]]


def _lower_vertices(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    kept = _lowest_at_each_x(x, y)
    # Powers of two scale without rounding, and the products below neither overflow nor vanish.
    x, y = (np.ldexp(values, -np.frexp(np.abs(values).max())[1]) for values in (x[kept], y[kept]))
    while x.size > _STEPS:
        outer = _below_neighbours(x, y)
        if outer.mean() > 0.9:  # not worth another pass
            break
        kept, x, y = kept[outer], x[outer], y[outer]
    return kept[_chain(x, y)]


def _below_neighbours(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """False for points surely not below the chord between their neighbours: an almost straight hull thins out fast."""
    left, right = np.diff(y)[:-1] * np.diff(x)[1:], np.diff(y)[1:] * np.diff(x)[:-1]
    outer = np.ones(x.size, dtype=bool)
    outer[1:-1] = right - left > -_ROUNDING * (np.abs(left) + np.abs(right))
    return outer


def _chain(x: np.ndarray, y: np.ndarray) -> list[int]:
    """Andrew's monotone chain over x strictly ascending; collinear points are not vertices."""
    hull: list[int] = []
    px, py = x.tolist(), y.tolist()
    for i in range(len(px)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (px[b] - px[a]) * (py[i] - py[a]) > (py[b] - py[a]) * (px[i] - px[a]):
                break
            hull.pop()
        hull.append(i)
    return hull
