"""The global minimum of an objective, from no starting values: scan, polish, and what else fits as well."""

from dataclasses import dataclass, fields, replace

import numpy as np

from ..errors import FitError
from .problem import Problem
from .scan import scan
from .solver import Solution, polish

__all__ = ["Minimum", "minimise"]

_HUBER_ROUNDS = 3  # scans, each with the points far from the last one's best start counted less
# Steps of every start, how many of the best go on, and as what share of the starts at least.
_HEATS = ((10, 16, 1 / 4), (14, 4, 1 / 16))
_HELD_ITERATIONS = 6
_FINAL_ITERATIONS = 60  # after which only the best goes on
_MOST_AGAIN = 32  # starts that are all polished where the heats led nowhere
_SAME_END = 1e-7  # relative difference of objectives below which two starts have come to the same end
_NUM_EXTENDED = 5  # solutions of a law with one part less that are given one more part
_EQUALLY_GOOD = 1e-9  # relative difference of two objectives that rounding and the last digits can make
_DIFFERENT = 1e-3  # relative difference of two laws over the points and ten times as far
_FURTHER = np.array([1.0, 3.0, 10.0])


@dataclass(frozen=True)
class Minimum:
    """The best parameters (num_params,) in scaled units, the objective there, whether the search came to its end, and
    other optima (m, num_params) whose objective is the same but whose law is not."""

    theta: np.ndarray
    value: float
    has_ended: bool
    others: np.ndarray


def minimise(problem: Problem) -> Minimum:
    """Of a problem with a batch of one.

    Raises:
        FitError: the objective is finite at no start.
    """
    starts = _with_some_held(problem, find_starts(problem), _HELD_ITERATIONS)
    solution = _heats(problem, starts)
    if not _ended(solution):  # the best is on a long way
        solution = _joined(solution, polish(problem, solution.theta[[_best(solution)]]))
    if not _ended(solution):  # the best after a few steps were not those that come to an end
        more = starts[:_MOST_AGAIN]
        solution = _joined(solution, polish(problem.repeated(len(more)), more, max_iterations=_FINAL_ITERATIONS))
    if problem.law.held_first:  # a break as sharp as a kink stops the others short of their minimum
        best = solution.theta[[_best(solution)]]
        solution = _joined(solution, polish(problem, _with_some_held(problem, best, _FINAL_ITERATIONS)))
    theta, value, has_ended = solution.theta[_best(solution)], float(np.min(solution.value)), _ended(solution)
    if not np.isfinite(value):
        raise FitError(f"{problem.law.name!r} is not defined at any start: the points lie beyond a double's range")
    if not has_ended and problem.criterion.delta is not None:
        theta, value, has_ended = _simplex(problem, theta, value)
    others = _equally_good(problem, solution, theta, value)
    canonical = problem.law.canonical
    return Minimum(theta if canonical is None else canonical(theta), value, has_ended, others)


def _heats(problem: Problem, starts: np.ndarray) -> Solution:
    """The best of the starts, after some steps of all and more of some."""
    num_starts = len(starts)
    for num_iterations, fewest, share in _HEATS:
        num_kept = max(fewest, round(share * num_starts))
        if len(starts) > num_kept:
            heat = polish(problem.repeated(len(starts)), starts, max_iterations=num_iterations)
            starts = heat.theta[_different_best(heat.value, num_kept)]
    return polish(problem.repeated(len(starts)), starts, max_iterations=_FINAL_ITERATIONS)


def _best(solution: Solution) -> int:
    return int(np.argmin(solution.value))


def _ended(solution: Solution) -> bool:
    return bool(solution.converged[_best(solution)])


def _joined(*parts: Solution) -> Solution:
    return Solution(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Solution)))


def _with_some_held(problem: Problem, starts: np.ndarray, num_iterations: int) -> np.ndarray:
    """The starts after steps in which some parameters stay."""
    held = np.array([name in problem.law.held_first for name in problem.law.params])
    if not held.any():
        return starts
    starts = np.clip(starts, problem.lower, problem.upper)
    lower, upper = np.where(held, starts, problem.lower), np.where(held, starts, problem.upper)
    held_problem = replace(problem.repeated(len(starts)), lower=lower, upper=upper)
    return polish(held_problem, starts, max_iterations=num_iterations).theta


def _different_best(value: np.ndarray, num: int) -> np.ndarray:
    """Places of the lowest objectives that differ, and of one that is near the lowest, to confirm it."""
    order = np.argsort(value)
    distinct = [int(order[0])]
    for place in order[1:]:
        if value[place] > value[distinct[-1]] * (1 + _SAME_END):
            distinct.append(int(place))
    return np.array([*distinct[: num - 1], int(order[1])])


def find_starts(problem: Problem) -> np.ndarray:
    """Starts for `polish`, shape (num_starts, num_params)."""
    law = problem.law
    if law.simpler is not None and law.extend is not None:
        return law.extend(_simpler_solutions(problem, law.simpler.params), problem.x)
    starts, weights = [], problem.weights
    for _ in range(1 if problem.criterion.delta is None else _HUBER_ROUNDS):
        found = scan(replace(problem, weights=weights), law.num_starts)[0]
        starts.append(found)
        residuals = problem.residuals(np.clip(found[:1], problem.lower, problem.upper))
        weights = problem.weights * np.nan_to_num(problem.criterion.slope_over_residual(residuals), nan=1.0)
    return np.concatenate(starts)


def _simpler_solutions(problem: Problem, params: tuple[str, ...]) -> np.ndarray:
    """The best solutions of the law with one part less, whose parameters are the first of this law's."""
    law = problem.law.simpler
    assert law is not None
    kept = slice(len(params))
    simpler = replace(problem, law=law, lower=problem.lower[kept], upper=problem.upper[kept])
    starts = find_starts(simpler)
    solution = polish(simpler.repeated(len(starts)), starts)
    return solution.theta[_different_best(solution.value, _NUM_EXTENDED)[:-1]]


def _equally_good(problem: Problem, solution: Solution, theta: np.ndarray, value: float) -> np.ndarray:
    if len(solution.theta) == 1:
        return solution.theta[:0]
    floor = 1e-28 * float(problem.total_weight[0])
    same = solution.converged & (solution.value <= value * (1 + _EQUALLY_GOOD) + floor)
    away = problem.x
    if problem.law.link is None:  # an accuracy ends at 1
        away = np.concatenate([away, np.max(away, axis=0) * _FURTHER.reshape(-1, *[1] * (away.ndim - 1))])
    with np.errstate(all="ignore"):
        ours, theirs = problem.law.value(theta, away), problem.law.value(solution.theta[same], away)
        differ = np.max(np.abs(theirs - ours) / np.abs(ours), axis=-1, initial=0.0) > _DIFFERENT
    return solution.theta[same][differ]


def _simplex(problem: Problem, theta: np.ndarray, value: float) -> tuple[np.ndarray, float, bool]:
    """Nelder and Mead's method from near the minimum, for the kinks of a Huber objective, where no slope helps."""
    from scipy.optimize import minimize

    bounds = list(zip(problem.lower, problem.upper, strict=True))
    options = {"xatol": 1e-10, "fatol": 1e-15, "maxiter": 5000, "maxfev": 5000}
    found = minimize(
        lambda t: float(problem.value(t[None])[0]), theta, method="Nelder-Mead", bounds=bounds, options=options
    )
    return (found.x, float(found.fun), bool(found.success)) if found.fun <= value else (theta, value, False)
