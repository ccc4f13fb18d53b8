"""Fit a law to points, from no starting values."""

import warnings
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from .errors import FitError, FitWarning
from .fit import Fit, check_positive, residual_unit
from .laws import Law, find_law
from .objectives import Objective, find_objective
from .solver import Problem, polish, scan

__all__ = ["fit_law"]

_NUM_STARTS = 8  # more than the local minima that a one-exponent law has along its scan
_RISING = "; y does not fall with x: is it an accuracy, or x not a cost?"
_RIDGE_FALL = 0.01  # b times the range of log x below which a power cannot be told from a logarithm


def fit_law(
    law: str | Law,
    x: ArrayLike,
    y: ArrayLike,
    *,
    objective: str = "log_least_squares",
    delta: float | None = None,
    y_std: ArrayLike | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    fixed: Mapping[str, float] | None = None,
) -> Fit:
    """Fit a law to points: the global optimum, from no starting values, in any units.

    Args:
        law: a name in `scaling.LAWS`.
        x: positive values, shape (n,), e.g. training compute in FLOPs.
        y: shape (n,): an error, a loss; positive for a log objective.
        objective: "log_least_squares" (default), "least_squares", "log_huber", "huber".
        delta: threshold of a Huber objective, in units of its residual (default 1e-3).
        y_std: standard deviation of each y, in units of y, up to a common factor; shape (n,).
        bounds: (lower, upper) for parameters by name, in the user's units, instead of the law's own.
        fixed: values of parameters that are known, by name.

    Raises:
        ValueError: bad input: which argument, which rows, what is valid.
        FitError: the data cannot determine the law (fewer points than parameters, all x or all y equal).

    Warns:
        FitWarning: `at_bound`, `not_identified`, `under_one_decade`, `ridge`, `few_points`; also in `fit.warnings`.

    Source: variable projection (Golub and Pereyra 1973) on a scan of the exponent, then Gauss-Newton.

    >>> fit = fit_law("saturating_power", [1e18, 1e19, 1e20, 1e21], [0.6, 0.381, 0.258, 0.189])
    >>> {name: round(value, 2) for name, value in fit.params.items() if name != "a"}
    {'b': 0.25, 'c': 0.1}
    """
    law, rule = find_law(law), find_objective(objective, delta)
    x, y = _check_points(law, rule, x, y)
    lower, upper = _check_bounds(law, bounds or {}, fixed or {})
    # A bound on the amplitude is a bound in the user's x; then x keeps its unit.
    keep_x_unit = law.params[0] in {**(bounds or {}), **(fixed or {})}
    x_unit = 1.0 if keep_x_unit else float(np.exp(np.mean(np.log(x))))
    y_unit = float(np.exp(np.mean(np.log(y)))) if np.all(y > 0) else float(np.abs(y).max())
    to_scaled = law.in_units(np.ones(len(law.params)), 1.0, y_unit)
    with np.errstate(invalid="ignore"):
        lower, upper = lower / to_scaled, upper / to_scaled
    scale = _residual_scale(rule, y, y_std, y_unit)
    problem = Problem(law, rule, x / x_unit, y / y_unit, np.ones((1, x.size)), scale, lower, upper)
    starts = scan(problem, _NUM_STARTS)[0]
    many = replace(problem, weights=np.ones((len(starts), x.size)))
    solution = polish(many, starts)
    best = int(np.argmin(solution.value))
    theta, value = solution.theta[best], float(solution.value[best])
    if not solution.converged[best]:
        theta, value = _simplex(problem, theta)
    fit = Fit(problem, theta, x, y, x_unit, y_unit, value)
    return _with_warnings(fit, fixed or {})


def _simplex(problem: Problem, theta: np.ndarray) -> tuple[np.ndarray, float]:
    """Nelder and Mead's method from near the minimum, for the kinks of a Huber objective, where no slope helps."""
    from scipy.optimize import minimize  # here, because it would double the time of the import

    if problem.objective.delta is not None:
        bounds = list(zip(problem.lower, problem.upper, strict=True))
        options = {"xatol": 1e-10, "fatol": 1e-15, "maxiter": 5000, "maxfev": 5000}
        found = minimize(
            lambda t: float(problem.value(t[None])[0]), theta, method="Nelder-Mead", bounds=bounds, options=options
        )
        if found.success and np.isfinite(found.fun):
            return found.x, float(found.fun)
    raise FitError(
        f"no minimum found for {problem.law.name!r}: the data may show no trend, or lie beyond a double's range"
    )


# Checks -------------------------------------------------------------------------------------------------------


def _check_points(law: Law, objective: Objective, x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"x and y must be one-dimensional and equally long, got shapes {x.shape} and {y.shape}")
    check_positive("x", x)
    if objective.log:
        check_positive(f"y (for objective {objective.name!r})", y)
    elif not np.all(np.isfinite(y)):
        raise ValueError(f"y must be finite; row {np.flatnonzero(~np.isfinite(y))[0]} is not")
    if x.size < len(law.params):
        raise FitError(f"{law.name!r} has {len(law.params)} parameters, got {x.size} points")
    if np.ptp(np.log(x)) == 0:
        raise FitError(f"all x are equal ({x[0]:g}): they say nothing of how y changes with x")
    if np.ptp(y) == 0:
        raise FitError(f"all y are equal ({y[0]:g}): no law can be told from a constant")
    return x, y


def _check_bounds(
    law: Law, bounds: Mapping[str, tuple[float, float]], fixed: Mapping[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    limits = {name: (low, high) for name, low, high in zip(law.params, law.lower, law.upper, strict=True)}
    for name, pair in {**bounds, **{name: (value, value) for name, value in fixed.items()}}.items():
        law.index(name)
        if (
            np.shape(pair) != (2,)
            or not all(isinstance(end, int | float | np.number) for end in pair)
            or not pair[0] <= pair[1]
        ):
            raise ValueError(f"bounds of {name} must be (lower, upper), got {pair!r}")
        limits[name] = (float(pair[0]), float(pair[1]))
    lower, upper = np.array(list(limits.values())).T
    return lower, upper


def _residual_scale(objective: Objective, y: np.ndarray, y_std: ArrayLike | None, y_unit: float) -> np.ndarray:
    if y_std is None:
        return np.full(y.size, residual_unit(objective, y_unit))
    y_std = check_positive("y_std", np.asarray(y_std, dtype=float))
    if y_std.shape != y.shape:
        raise ValueError(f"y_std must have the shape of y, {y.shape}, got {y_std.shape}")
    return y_std / (y if objective.log else y_unit)


# Warnings -----------------------------------------------------------------------------------------------------


def _with_warnings(fit: Fit, fixed: Mapping[str, float]) -> Fit:
    found = tuple(_find_warnings(fit, fixed))
    for warning in found:
        warnings.warn(warning, stacklevel=3)
    return replace(fit, warnings=found)


def _find_warnings(fit: Fit, fixed: Mapping[str, float]) -> list[FitWarning]:
    law, found = fit.law, []
    for name, value in fit.at_bound.items():
        if name not in fixed:
            hint = _RISING if name in law.params[:2] and not law.increasing else ""
            message = f"{name} sits at its bound {value:.6g}: its interval is one-sided{hint}"
            found.append(FitWarning("at_bound", message))
    if fit.x.size <= fit.num_free:
        found.append(
            FitWarning("few_points", f"{fit.x.size} points and {fit.num_free} free parameters: no error estimate")
        )
    elif not np.all(np.isfinite(fit._free_covariance)):
        found.append(FitWarning("not_identified", f"these points do not tell {', '.join(law.params)} apart"))
    decades = np.ptp(np.log10(fit.x))
    if decades < 1 and not law.increasing:
        found.append(FitWarning("under_one_decade", f"x spans {decades:.2f} decades, less than one"))
    if 0 < fit.params[law.exponent] * np.ptp(np.log(fit.x)) < _RIDGE_FALL:
        found.append(FitWarning("ridge", f"{law.exponent} is near 0: over these points the law is a logarithm of x"))
    return found
