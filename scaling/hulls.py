"""Selections of points: the Pareto frontier and the convex hull."""

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["check_points", "convex_hull", "pareto_frontier"]

_BLOCKS = 1024  # blocks of sorted points whose extremes make the inner hull that discards most points


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
    x, y = check_points(x, y)
    order = np.lexsort((y, x))
    sorted_y = y[order]
    best_before = np.concatenate([[np.inf], np.minimum.accumulate(sorted_y)[:-1]]) if y.size else sorted_y
    return order[sorted_y < best_before]


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
    if side not in ("upper", "lower"):
        raise ValueError(f"side must be 'upper' or 'lower', got {side!r}")
    if not tolerance >= 0:
        raise ValueError(f"tolerance must not be negative, got {tolerance!r}")
    x, y = check_points(x, y)
    if x.size == 0:
        return np.empty(0, dtype=np.int64)
    height = y if side == "upper" else -y
    vertices = _upper_vertices(x, height)
    if tolerance == 0:
        return vertices
    near = np.flatnonzero(height >= np.interp(x, x[vertices], height[vertices]) - tolerance)
    return near[np.lexsort((-height[near], x[near]))]


def check_points(x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Both as float64 arrays of one shape (n,), or an error that names the rows that are not finite."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"x and y must be one-dimensional and equally long, got shapes {x.shape} and {y.shape}")
    bad = np.flatnonzero(~(np.isfinite(x) & np.isfinite(y)))
    if bad.size:
        raise ValueError(
            f"x and y must be finite; not so in rows {bad[:10].tolist()}" + ("..." if bad.size > 10 else "")
        )
    return x, y


def _upper_vertices(x: np.ndarray, height: np.ndarray) -> np.ndarray:
    order = np.lexsort((-height, x))
    order = order[np.concatenate([[True], np.diff(x[order]) > 0])]  # the highest point at each x
    return order[_chain(*_discard_inner(x[order], height[order]))]


def _discard_inner(x: np.ndarray, height: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Drop points strictly below the hull of the blocks' extremes: no such point can be a vertex."""
    keep = np.arange(x.size)
    if x.size > 4 * _BLOCKS:
        starts = np.linspace(0, x.size, _BLOCKS, endpoint=False).astype(int)
        tops = np.array(
            [start + int(np.argmax(part)) for start, part in zip(starts, np.split(height, starts[1:]), strict=True)]
        )
        inner = np.unique(np.concatenate([[0], tops, [x.size - 1]]))
        inner = inner[_chain(x[inner], height[inner], np.arange(inner.size))]
        keep = np.flatnonzero(height >= np.interp(x, x[inner], height[inner]))
    return x[keep], height[keep], keep


def _chain(x: np.ndarray, height: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Andrew's monotone chain over x ascending; collinear points are not vertices."""
    hull: list[int] = []
    px, py = x.tolist(), height.tolist()
    for i in range(len(px)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (px[b] - px[a]) * (py[i] - py[a]) < (py[b] - py[a]) * (px[i] - px[a]):
                break
            hull.pop()
        hull.append(i)
    return index[hull]
