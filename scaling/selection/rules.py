"""Which points a frontier's law is fitted to, on all points and in every bootstrap draw. Lower y is better."""

import numpy as np

from ..inputs import check_choice
from .hulls import convex_hull, pareto_frontier

__all__ = ["HULL_AXES", "SELECTIONS", "check_hull_axes", "check_selection", "drawn_selection", "select"]

SELECTIONS = ("all", "pareto", "convex_hull")  # of points
HULL_AXES = ("linear", "log")  # both axes alike


def check_selection(selection: str, *others: str) -> None:
    """Raises a ValueError for one that is neither a selection of points nor among the others."""
    check_choice("selection", selection, (*SELECTIONS, *others))


def check_hull_axes(hull_axes: str, selection: str, x: np.ndarray, y: np.ndarray) -> None:
    """Raises a ValueError for unknown axes, for a selection that has no hull, and for values without a logarithm."""
    check_choice("hull_axes", hull_axes, HULL_AXES)
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
    if hull_axes == "log":
        x, y = np.log(x), np.log(y)
    drawn, y = counts > 0, np.broadcast_to(y, counts.shape)
    vertices = _drawn_hull(x, y, _drawn_pareto(x, y, drawn))
    return vertices if tolerance == 0 else _drawn_near(x, y, drawn, vertices, tolerance)


def _drawn_pareto(x: np.ndarray, y: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """`pareto_frontier` of the drawn points of each draw, as 0 and 1."""
    weights = np.zeros(drawn.shape, dtype=np.int64)
    order = np.argsort(x, kind="stable")
    is_new = np.concatenate([[True], np.diff(x[order]) > 0])[: x.size]
    step, heights = np.cumsum(is_new) - 1, np.where(drawn, y, np.inf)[:, order]
    lowest = np.minimum.reduceat(heights, np.flatnonzero(is_new), axis=1)  # at each x
    before = np.minimum.accumulate(np.pad(lowest, ((0, 0), (1, 0)), constant_values=np.inf), axis=1)[:, :-1]
    draw, place = np.nonzero((lowest < before)[:, step] & (heights == lowest[:, step]))
    is_first = np.ones(draw.size, dtype=bool)  # of equal points
    is_first[1:] = (np.diff(draw) != 0) | (np.diff(step[place]) != 0)
    weights[draw[is_first], order[place[is_first]]] = 1
    return weights


def _drawn_hull(x: np.ndarray, y: np.ndarray, frontier: np.ndarray) -> np.ndarray:
    """Vertices of the lower hull of each draw's frontier, as 0 and 1: `convex_hull`'s chain, all draws in step."""
    order = np.argsort(x, kind="stable")
    draw, place = np.nonzero(frontier[:, order])  # by draw, x ascending
    sizes = np.count_nonzero(frontier, axis=1)
    nth = np.arange(draw.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    column = np.zeros((len(frontier), int(sizes.max(initial=0))), dtype=np.int64)
    column[draw, nth] = order[place]
    # Powers of two scale without rounding, and the products below neither overflow nor vanish.
    px, py = (_scaled(values) for values in (x[column], np.take_along_axis(y, column, axis=1)))
    hull, depth = np.zeros_like(column), np.zeros(len(frontier), dtype=np.int64)
    for i in range(column.shape[1]):
        rows = np.flatnonzero(sizes > i)
        popping = rows[depth[rows] > 1]
        while popping.size:
            a, b = hull[popping, depth[popping] - 2], hull[popping, depth[popping] - 1]
            xa, ya = px[popping, a], py[popping, a]
            rise, run = (py[popping, b] - ya) * (px[popping, i] - xa), (px[popping, b] - xa) * (py[popping, i] - ya)
            popping = popping[run <= rise]
            depth[popping] -= 1
            popping = popping[depth[popping] > 1]
        hull[rows, depth[rows]] = i
        depth[rows] += 1
    draw, nth = np.nonzero(np.arange(column.shape[1]) < depth[:, None])
    weights = np.zeros(frontier.shape, dtype=np.int64)
    weights[draw, column[draw, hull[draw, nth]]] = 1
    return weights


def _scaled(values: np.ndarray) -> np.ndarray:
    """Divided by a power of two, each draw's own."""
    return np.ldexp(values, -np.frexp(np.abs(values).max(axis=1, keepdims=True, initial=0.0))[1])


def _drawn_near(x: np.ndarray, y: np.ndarray, drawn: np.ndarray, vertices: np.ndarray, tolerance: float) -> np.ndarray:
    """The drawn points at most `tolerance` above each draw's hull and not right of its end, as 0 and 1."""
    weights = np.zeros(drawn.shape, dtype=np.int64)
    order = np.argsort(x, kind="stable")
    at = x[order]
    for weight, heights, counted, is_vertex in zip(weights, y, drawn, vertices[:, order] > 0, strict=True):
        hull = order[is_vertex]
        if hull.size:
            near = counted[order] & (at <= x[hull[-1]])
            near[near] = heights[order[near]] <= np.interp(at[near], x[hull], heights[hull]) + tolerance
            weight[order[near]] = 1
    return weights
