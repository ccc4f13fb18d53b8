"""The frontier law of Nezhurina et al. 2025 (arXiv 2506.04598): the best run of each bin, then `curve_fit`."""

from itertools import pairwise, product

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError
from ..inputs import check_number
from .result import PublishedFit, check_curve, law_value, least_of_grid

__all__ = ["nezhurina2025"]

# Constants of the authors' code, for x in GFLOP; theirs is a (x + b)^c + d.
_FIRST_BIN = 1500.0  # the number of bin edges is the number of doublings from here to the largest x
_LONE_START = ((10.0,), (10.0,), (-0.1,))
_GRID = (np.arange(0, 100, 5.0), np.arange(0, 100, 5.0), np.arange(-0.2, 0, 0.05), np.arange(0, 1e-3, 5e-4))
_MAX_EVALUATIONS = 1_000_000


def nezhurina2025(
    x: ArrayLike,
    y: ArrayLike,
    *,
    offset: bool = True,
    num_edges: int | None = None,
    num_starts: int | None = None,
    max_x: float | None = None,
) -> PublishedFit:
    """y = a (x + d)^-b + c on the best run of each geometric bin of x that betters all before it; linear residuals.

    In raw GFLOP the local searches end short of the minimum: on an exact law with b = .15 and c = .1 the full grid
    returns b = .065 and c = .009, 1.7 % off in y. For new data use `fit_law`.

    Args:
        x: total training compute in GFLOP, in which the starts and bins are stated; positive, shape (n,).
        y: error rates or losses; positive, shape (n,).
        offset: False leaves out c, and has one start.
        num_edges: of the bins; None: the number of doublings from 1500 to the largest x.
        num_starts: only so many of the 3,200 starts, those with the least squares, which may end elsewhere than all do;
            None: all, as the authors (minutes).
        max_x: only runs up to there are fitted; the paper tests on those above.

    Raises:
        ValueError: a row of x or y is not positive and finite, num_edges or num_starts out of range.
        FitError: fewer frontier points than parameters, or all x or all y equal; no start converged.
    """
    if max_x is not None:
        check_number("max_x", max_x, positive=True)
    x, y = check_curve("nezhurina2025", x, y, min_points=2)
    keep = _binned_frontier(x, y, num_edges)
    keep = keep[x[keep] <= (np.inf if max_x is None else max_x)]
    law = "double_saturating_power" if offset else "shifted_power"
    num_params = 4 if offset else 3
    x, y = check_curve("nezhurina2025 (on its frontier)", x[keep], y[keep], min_points=num_params)
    starts = _starts(x, y, law, num_starts) if offset else np.array(list(product(*_LONE_START)))
    theta, squares, num_evaluations = _best_search(x, y, law, starts)
    return PublishedFit(
        "nezhurina2025", law, _named(theta), squares / x.size, num_evaluations, len(starts), converged=True,
        note="linear residuals, local searches in raw GFLOP; the frontier is taken as it is, with no interval for it",
        source="Nezhurina et al. 2025 (arXiv 2506.04598), code of the binned Pareto frontier",
    )  # fmt: skip


def _binned_frontier(x: np.ndarray, y: np.ndarray, num_edges: int | None) -> np.ndarray:
    """Rows of the least y of each bin that are below all before them, and of the largest x if it is too."""
    if num_edges is None:
        num_edges = max(int(np.log2(x.max() / _FIRST_BIN)), 0)
    elif not isinstance(num_edges, int):
        raise ValueError(f"num_edges must be a whole number, got {num_edges!r}")
    if num_edges < 2:
        raise ValueError(f"num_edges must be at least 2 (by default log2(max(x) / 1500), x in GFLOP), got {num_edges}")
    edges = np.geomspace(x.min(), x.max(), num_edges)
    bins = [np.flatnonzero((x >= low) & (x < high)) for low, high in pairwise(edges)]
    best = [rows[np.argmin(y[rows])] for rows in bins if rows.size] + [int(np.argmax(x))]
    kept: list[int] = []
    for row in best:
        if not kept or y[row] < y[kept[-1]]:
            kept.append(int(row))
    return np.array(kept)


def _starts(x: np.ndarray, y: np.ndarray, law: str, num_starts: int | None) -> np.ndarray:
    def objective(grid: np.ndarray) -> np.ndarray:
        return np.array([np.sum((law_value(law, _named(start), x) - y) ** 2) for start in grid])

    return least_of_grid(np.array(list(product(*_GRID))), objective, num_starts)


def _best_search(x: np.ndarray, y: np.ndarray, law: str, starts: np.ndarray) -> tuple[np.ndarray, float, int]:
    """theta, sum of squares and number of evaluations of the best search that converged."""
    from scipy.optimize import least_squares

    size = starts.shape[1]
    lower, upper = np.array([0, 0, -np.inf, 0])[:size], np.array([np.inf, np.inf, 0, np.inf])[:size]

    def residuals(theta: np.ndarray) -> np.ndarray:
        return law_value(law, _named(theta), x) - y

    with np.errstate(over="ignore", invalid="ignore"):
        found = [least_squares(residuals, start, bounds=(lower, upper), max_nfev=_MAX_EVALUATIONS) for start in starts]
    found = [result for result in found if result.status > 0]
    if not found:
        raise FitError(f"'nezhurina2025': none of {len(starts)} starts converged")
    best = min(found, key=lambda result: result.cost)
    return best.x, 2 * float(best.cost), int(best.nfev)


def _named(theta: np.ndarray) -> dict[str, float]:
    """Our names for their a (x + b)^c + d."""
    a, b, c, *d = (float(value) for value in theta)
    return {"a": a, "b": -c, "d": b} | ({"c": d[0]} if d else {})
