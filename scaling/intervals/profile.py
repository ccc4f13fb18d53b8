"""Profile intervals: the values of a parameter at which the others can still fit the points almost as well."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import FitError
from ..fitting.fit import Fit
from ..fitting.problem import Problem
from ..fitting.solver import polish
from ..prediction import check_level

__all__ = ["profile_interval"]

_FIRST_STEP = 0.5  # of a standard error
_MOST_DOUBLINGS = 60  # of the step outwards: where the profile is still flat, the side is open
_SMALLEST = 1e-4  # first step of a parameter without a standard error, of the size that matters
_STEEPEST = 200.0  # fall of log y over the points at which a power is a step, and steeper ones are the same
_TOLERANCE = 1e-9  # of the end of an interval, relative to its distance from the fit
_ROUNDING = 1e-14  # residuals, relative to y, that are noise of doubles


def profile_interval(fit: Fit, name: str, level: float = 0.95) -> tuple[float, float]:
    """Interval of a parameter by profile likelihood; a side on which the points set no end goes to the law's bound.

    The ends are where twice the objective, minimised over the other parameters, has risen by s^2 t^2, with Student's
    quantile t and the error variance s^2 of the fit (for least squares the F test of one parameter).

    Args:
        fit: from `fit_law`.
        name: a parameter of its law.
        level: probability of the interval, such as 0.95.

    Returns:
        (low, high) in the user's units. An open side is the law's bound: 0, inf or -inf.

    Raises:
        ValueError: the law has no such parameter, or the level is outside (0, 1).
        FitError: the parameter is fixed, or no degree of freedom is left.

    Source: Bates and Watts 1988, section 6.1; for Huber objectives the error variance of Huber 1981, section 7.6.

    >>> from scaling import fit_law
    >>> fit = fit_law("power", [1, 10, 100, 1000], [1, 0.52, 0.24, 0.13])
    >>> [round(end, 3) for end in profile_interval(fit, "b")]
    [0.261, 0.338]
    """
    check_level(level)
    index = fit.law.index(name)
    if fit.problem.lower[index] == fit.problem.upper[index]:
        raise FitError(f"{name} is fixed at {fit.params[name]:g}: it has no interval")
    if not fit.error_variance >= 0:
        raise FitError(f"no interval: {'; '.join(map(str, fit.warnings))}")
    profile = _profile(fit, index, level)
    unit = float(fit.law.bound_units(fit.x_unit, fit.y_unit)[index])
    low, high = sorted(_end(profile, side) * unit for side in (-1, 1))
    return low, high


@dataclass(frozen=True)
class _Profile:
    """A problem, its minimum, the parameter profiled, the first step, the rise of the objective at the ends, and the
    largest value worth a try."""

    problem: Problem
    theta: np.ndarray
    index: int
    step: float
    minimum: float
    rise: float
    steepest: float

    def at(self, value: float, near: np.ndarray) -> tuple[float, np.ndarray]:
        """sqrt(rise at that value / rise at the ends), and the parameters there, found from those near it."""
        lower, upper, start = self.problem.lower.copy(), self.problem.upper.copy(), near.copy()
        lower[self.index] = upper[self.index] = start[self.index] = value
        solution = polish(replace(self.problem, lower=lower, upper=upper), start[None])
        rise = max(float(solution.value[0]) - self.minimum, 0.0)
        return float(np.sqrt(rise / self.rise)), solution.theta[0]


def _profile(fit: Fit, index: int, level: float) -> _Profile:
    problem, theta = (fit.problem, fit.theta) if fit.law.params[index] not in fit.law.mixed else _in_user_units(fit)
    rule, near = fit.problem.criterion, 1.0
    if rule.delta is not None:
        near = float(fit.problem.weights[0] @ rule.curvature(fit.residuals)) / fit.num_points
    rise = fit.student_quantile(level) ** 2 * fit.error_variance * near / 2
    rise = max(rise, _ROUNDING**2 * float(problem.total_weight[0]), np.finfo(float).tiny)
    error = fit.standard_errors[fit.law.params[index]]
    scaled = float(np.abs(error / (fit.params[fit.law.params[index]] or 1.0) * theta[index]))
    step = _FIRST_STEP * scaled if np.isfinite(scaled) and scaled > 0 else _SMALLEST * float(fit.sizes[index])
    is_rate = fit.law.params[index] == fit.law.rate and fit.law.link is None
    first = problem.x if problem.x.ndim == 1 else problem.x[:, 0]
    steepest = max(_STEEPEST / fit.law.span(first), 2 * theta[index]) if is_rate else np.inf
    return _Profile(problem, theta, index, step, float(problem.value(theta[None])[0]), rise, steepest)


def _in_user_units(fit: Fit) -> tuple[Problem, np.ndarray]:
    """The problem with x and y as given, for a parameter whose scaled value depends on others."""
    problem = fit.problem
    lower, upper = np.array(list(fit.bounds.values())).T
    scale = problem.residual_scale * (fit.y_unit if problem.link.name == "identity" else 1.0)
    posed = replace(problem, x=fit.x, y=fit.y, residual_scale=scale, lower=lower, upper=upper)
    return posed, np.array(list(fit.params.values()))


def _end(profile: _Profile, side: int) -> float:
    """Where the profile crosses the rise on one side; the bound where it never does."""
    from scipy.optimize import brentq

    middle = float(profile.theta[profile.index])
    bound = float((profile.problem.upper if side > 0 else profile.problem.lower)[profile.index])
    last = min(bound, profile.steepest) if side > 0 else bound
    inner, near, step = middle, profile.theta, profile.step
    for _ in range(_MOST_DOUBLINGS):
        outer = min(middle + step, last) if side > 0 else max(middle - step, last)
        height, there = profile.at(outer, near)
        if height > 1:
            break
        if outer == last:
            return bound
        inner, near, step = outer, there, 2 * step
    else:
        return bound
    tolerance = _TOLERANCE * abs(outer - middle)
    root: Any = brentq(lambda value: profile.at(value, near)[0] - 1, inner, outer, xtol=tolerance)
    return float(root)
