"""The fit of every draw of a bootstrap, in one batch."""

from dataclasses import replace

import numpy as np

from ..fitting.fit import Fit
from ..fitting.problem import Problem
from ..fitting.scan import promising, scan
from ..fitting.solver import polish

__all__ = ["solve_rows"]

_CACHED_NUMBERS = 200_000  # of a batch's Jacobian
_SMALLEST_PART = 64
_NUM_PROMISING = 40  # points of the scan, the best for all draws together, at which each draw is tried
_FIRST_STEPS = 40  # of every draw; one in twenty needs more, up to ten times as many
_DRAW_DECREASE = 1e-12  # share of the objective: a draw's parameters are right to a millionth of a standard error


def solve_rows(
    fit: Fit, x: np.ndarray, y: np.ndarray, weights: np.ndarray, scale: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Parameters in scaled units of the draws that have a fit, and which these are; arguments as in `solve_draws`."""
    # Not `fit.num_free`: a bound that binds there may not in a draw.
    num_fitted = np.count_nonzero(fit.problem.lower < fit.problem.upper)
    rows = np.flatnonzero(_count_distinct(weights > 0, x) >= num_fitted)
    if rows.size == 0:
        return np.empty((0, len(fit.theta))), rows
    y = y[rows] if y.ndim == 2 else y
    scale = np.full(len(x), fit.objective.residual_unit(fit.y_unit)) if scale is None else scale
    problem = replace(fit.problem, x=x, y=y, weights=weights[rows].astype(float), residual_scale=scale)
    theta, is_solved = _solve(problem, fit.theta)
    theta, rows = theta[is_solved], rows[is_solved]
    if fit.law.canonical is not None:
        theta = np.array([fit.law.canonical(row) for row in theta]).reshape(theta.shape)
    return theta, rows


def _solve(problem: Problem, full_fit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parameters of each draw and whether they are at a minimum, in parts that fit a processor's cache.

    A few draws take many steps, to which the number of arrays' operations, not their size, is the cost: those of all
    parts are taken together.
    """
    grid = None
    if problem.law.can_be_scanned:
        mean = problem.weights.mean(axis=0, keepdims=True)
        y = problem.y if problem.y.ndim == 1 else problem.y.mean(axis=0)
        grid = promising(replace(problem, weights=mean, y=y), _NUM_PROMISING)
    found = [_solve_part(problem.rows(part), full_fit, grid, _FIRST_STEPS) for part in _parts(problem)]
    theta, ended, starts = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    slow = np.flatnonzero(~ended)
    for part in _parts(problem.rows(slow)) if slow.size else ():
        rows = slow[part]
        solution = polish(_counted(problem.rows(rows)), starts[rows], last_decrease=_DRAW_DECREASE)
        theta[rows], ended[rows] = solution.theta, solution.converged | solution.near
    return theta, ended


def _parts(problem: Problem) -> list[np.ndarray]:
    size = max(_SMALLEST_PART, _CACHED_NUMBERS // (len(problem.x) * problem.lower.shape[-1]))
    return np.split(np.arange(len(problem.weights)), np.arange(size, len(problem.weights), size))


def _counted(problem: Problem) -> Problem:
    """Without the points that no draw of it has."""
    ever = np.flatnonzero(problem.weights.any(axis=0))
    if ever.size == len(problem.x):
        return problem
    per_point = {"x": problem.x[ever], "y": problem.y[..., ever], "weights": problem.weights[:, ever]}
    return replace(problem, **per_point, residual_scale=problem.residual_scale[ever])


def _solve_part(
    problem: Problem, full_fit: np.ndarray, grid: np.ndarray | None, max_iterations: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parameters, which draws have converged, and starts: the better of the scan's and the fit to all points."""
    problem = _counted(problem)
    starts = known = np.broadcast_to(full_fit, (len(problem.weights), len(full_fit)))
    if grid is not None:
        scanned = scan(problem, 1, grid)[:, 0]
        starts = np.where((problem.value(scanned) < problem.value(known))[:, None], scanned, known)
    solution = polish(problem, starts, max_iterations, _DRAW_DECREASE)
    return solution.theta, solution.converged, starts


def _count_distinct(counted: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Distinct x among the counted points of each draw."""
    place = np.unique(x, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(place, kind="stable")
    first = np.concatenate([[0], np.flatnonzero(np.diff(place[order]) > 0) + 1])
    return np.add.reduceat(counted[:, order], first, axis=1).astype(bool).sum(axis=1)
