"""Which points a frontier's law is fitted to, on all points and in every bootstrap draw. Lower y is better."""

import numpy as np

from .hulls import convex_hull, pareto_frontier

__all__ = ["HULL_AXES", "SELECTIONS", "check_hull_axes", "check_selection", "drawn_selection", "select"]

SELECTIONS = ("all", "pareto", "convex_hull")  # of points
HULL_AXES = ("linear", "log")  # both axes alike


def check_selection(selection: str, *others: str) -> None:
    """Raises a ValueError for one that is neither a selection of points nor among the others."""
    if selection not in (*SELECTIONS, *others):
        raise ValueError(f"selection must be one of {(*SELECTIONS, *others)}, got {selection!r}")


def check_hull_axes(hull_axes: str, selection: str, x: np.ndarray, y: np.ndarray) -> None:
    """Raises a ValueError for unknown axes, for a selection that has no hull, and for values without a logarithm."""
    if hull_axes not in HULL_AXES:
        raise ValueError(f"hull_axes must be one of {HULL_AXES}, got {hull_axes!r}")
    if hull_axes == "log" and selection != "convex_hull":
        raise ValueError(f"hull_axes='log' goes with selection='convex_hull', got {selection!r}")
    for name, values in (("x", x), ("y", y)) if hull_axes == "log" else ():
        bad = np.flatnonzero(values <= 0)
        if bad.size:
            raise ValueError(f"hull_axes='log' needs positive {name}; row {bad[0]} is {values[bad[0]]:g}")


def select(
    x: np.ndarray, y: np.ndarray, selection: str, tolerance: float = 0.0, hull_axes: str = "linear"
) -> np.ndarray:
    """Indices of the selected points, x ascending; "stochastic" has none, its law is fitted otherwise.

    "all": every point. "pareto": points that none beats at no more x. "convex_hull": the lower hull up to the best
    point, with a tolerance also the points that near to it (of log y on a hull in log axes); what lies right of the
    best point is left out.
    """
    if hull_axes == "log":
        x, y = np.log(x), np.log(y)
    if selection == "all":
        return np.argsort(x, kind="stable")
    frontier = pareto_frontier(x, y)
    if selection == "pareto" or frontier.size == 0:
        return frontier
    if tolerance == 0:
        # A vertex left of the best point beats every point before it, so the frontier holds them all.
        return frontier[convex_hull(x[frontier], y[frontier], side="lower")]
    left = np.flatnonzero(x <= x[frontier[-1]])
    return left[convex_hull(x[left], y[left], side="lower", tolerance=tolerance)]


def drawn_selection(
    x: np.ndarray,
    y: np.ndarray,
    counts: np.ndarray,
    selection: str,
    tolerance: float = 0.0,
    hull_axes: str = "linear",
) -> np.ndarray:
    """The selection taken anew in every draw, as weights of shape (num_draws, n).

    Args:
        x: shape (n,).
        y: shape (n,), or (num_draws, n) where each draw has its own.
        counts: how often each point was drawn, shape (num_draws, n).
    """
    if selection == "all":
        return counts
    if selection == "pareto":
        return _drawn_pareto(x, y, counts > 0)
    weights = np.zeros(counts.shape, dtype=np.int64)
    candidates = _drawn_pareto(x, y, counts > 0) if tolerance == 0 else counts
    for weight, heights, drawn in zip(weights, np.broadcast_to(y, counts.shape), candidates > 0, strict=True):
        rows = np.flatnonzero(drawn)
        weight[rows[select(x[rows], heights[rows], selection, tolerance, hull_axes)]] = 1
    return weights


def _drawn_pareto(x: np.ndarray, y: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """`pareto_frontier` of the drawn points of each draw, as 0 and 1."""
    order = np.broadcast_to(np.lexsort((y, np.broadcast_to(x, y.shape)), axis=-1), drawn.shape)
    y = np.broadcast_to(y, drawn.shape)
    heights = np.where(np.take_along_axis(drawn, order, axis=1), np.take_along_axis(y, order, axis=1), np.inf)
    best_before = np.minimum.accumulate(np.pad(heights, ((0, 0), (1, 0)), constant_values=np.inf), axis=1)[:, :-1]
    weights = np.zeros(drawn.shape, dtype=np.int64)
    np.put_along_axis(weights, order, heights < best_before, axis=1)
    return weights
