"""M1 to M4 of Alabdulmohsin, Neyshabur and Zhai 2022 (arXiv 2209.06640), as their reference code runs them.

All four minimise sum (log g(y) - log f(x))^2 with g(y) = y (M1, M3), y - c (M2), (y - c) / (e0 - y)^alpha (M4). For M2
and M4 that is not a likelihood: its global minimum is often at c = 0, and the printed numbers are those of the local
minimum nearest to c = min(y) - 0.001, where the search starts.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError, FitWarning, issue
from ..inputs import check_number, check_whole
from .result import PublishedFit, check_curve, straight_line

__all__ = ["alabdulmohsin2022_m1", "alabdulmohsin2022_m2", "alabdulmohsin2022_m3", "alabdulmohsin2022_m4"]

# Constants of the reference code, under their meaning.
_MARGIN = 1e-3  # c stays this far below the smallest y, e0 this far above the largest
_NUM_GRADIENT_ROUNDS = 100
_GRADIENT_STEPS, _GRADIENT_RATE = 1000, 1e-8
_NEWTON_STEPS, _NEWTON_RATE = 100, 0.1
_LEAST_CURVATURE = 1e-5  # M4 takes no Newton step below it
_STOP = 1e-10  # change of the amplitude in a round, after two Newton rounds
_NO_ALPHA = 1e-5  # below it M4 predicts as M2
_SOURCE = "Alabdulmohsin et al. 2022 (arXiv 2209.06640), estimator {} of the reference code"

Limits = TypeVar("Limits")


def alabdulmohsin2022_m1(x: ArrayLike, y: ArrayLike) -> PublishedFit:
    """M1, y = a x^-b: a straight line through (log x, log y) by least squares.

    Args:
        x: examples seen, or another cost; positive, shape (n,).
        y: error rates or losses; positive, shape (n,).

    Raises:
        ValueError: a row of x or y is not positive and finite.
        FitError: fewer than 2 points, or all x or all y equal.

    Warns:
        FitWarning: `repeated_x`: rows that share an x overwrite each other, as in the reference code.

    >>> fit = alabdulmohsin2022_m1([1, 10, 100], [1, 0.5, 0.25])
    >>> round(fit.params["b"], 3)
    0.301
    """
    x, y = _curve("alabdulmohsin2022_m1", x, y, min_points=2)
    log_a, slope = straight_line(np.log(x), np.log(y))
    squares = _sum_of_squares(np.log(y) - log_a - slope * np.log(x))
    params = {"a": np.exp(log_a), "b": -slope}
    note = "as fit_law('power'), but of repeated x the last row counts, and b may be negative"
    return _fit("m1", "power", params, squares, num_rounds=1, converged=True, note=note)


def alabdulmohsin2022_m2(x: ArrayLike, y: ArrayLike, *, max_rounds: int = 10_000) -> PublishedFit:
    """M2, y - c = a x^-b: a line through (log x, log(y - c)), in turn with gradient and damped Newton steps on c.

    Args:
        x, y: as for M1.
        max_rounds: limit on the rounds; the first 100 are of gradient steps. The printed .056 of Table 2 takes 3,208.

    Raises:
        ValueError: a row of x or y is not positive and finite, max_rounds is not positive.
        FitError: fewer than 3 points, all x or all y equal, or a y of 0.001 or less (their search keeps c that far
            below the smallest y).

    Warns:
        FitWarning: `repeated_x`: rows that share an x overwrite each other, as in the reference code.
    """
    x, y = _curve("alabdulmohsin2022_m2", x, y, min_points=3)
    largest = _largest_c(y)
    log_x = np.log(x)

    def regress(c: float) -> tuple[float, float]:
        return straight_line(log_x, np.log(y - c))

    def descend(c: float, line: tuple[float, float], newton: bool) -> float:
        log_f = line[0] + line[1] * log_x
        for _ in range(_NEWTON_STEPS if newton else _GRADIENT_STEPS):
            above = y - c
            c -= _step_of_c(np.log(above) - log_f, above, newton)
            c = min(max(c, 0.0), largest)
        return c

    c, (log_a, slope), num_rounds, converged = _alternate(largest, regress, descend, max_rounds)
    squares = _sum_of_squares(np.log(y - c) - log_a - slope * log_x)
    note = "residuals in log(y - c), a local minimum near c = min(y) - 0.001; fit_law takes log y and the global one"
    params = {"a": np.exp(log_a), "b": -slope, "c": c}
    return _fit("m2", "saturating_power", params, squares, num_rounds, converged, note)


def alabdulmohsin2022_m3(x: ArrayLike, y: ArrayLike, *, max_rounds: int = 10_000) -> PublishedFit:
    """M3, y = a (1/x + d)^b: a line in log(1/x + d), in turn with the best of the d that solve one point exactly.

    Args:
        x, y, max_rounds: as for M2.

    Raises:
        ValueError: a row of x or y is not positive and finite, max_rounds is not positive.
        FitError: fewer than 3 points, or all x or all y equal.

    Warns:
        FitWarning: `repeated_x`: rows that share an x overwrite each other, as in the reference code.
    """
    x, y = _curve("alabdulmohsin2022_m3", x, y, min_points=3)
    check_whole("max_rounds", max_rounds, 1)
    d, previous, converged, num_rounds = 0.0, 1.0, False, 0
    log_a = b = 0.0
    while num_rounds < max_rounds and not converged:
        log_a, slope = straight_line(np.log(1 / x + d), np.log(y))
        b = max(slope, 0.0)
        d = _best_shift(x, y, log_a, b, d)
        num_rounds += 1
        converged, previous = abs(np.exp(log_a) - previous) < _STOP, np.exp(log_a)
    squares = _sum_of_squares(np.log(y) - log_a - b * np.log(1 / x + d))
    note = "d is chosen among the values that solve one point exactly, not on a continuum"
    return _fit(
        "m3", "reciprocal_shift_power", {"a": np.exp(log_a), "b": b, "d": d}, squares, num_rounds, converged, note
    )


def alabdulmohsin2022_m4(
    x: ArrayLike, y: ArrayLike, *, e0: float | None = 1.0, up_bound: float | None = None, max_rounds: int = 10_000
) -> PublishedFit:
    """M4, (y - c) / (e0 - y)^alpha = a x^-b, with a >= 1, b >= 0 and alpha >= 0 by non-negative least squares.

    The regressor of alpha is log(e0 - y) with the first e0 throughout, as in the reference code. Predictions solve the
    equation exactly, where the reference takes the best of 10,000 values between c and e0.

    Args:
        x, y, max_rounds: as for M2.
        e0: the error of a guess, where the search starts: 1 in the paper's tables; None for max(y) + 0.001.
        up_bound: e0 stays below up_bound + 0.001 (the paper has 1 for image classification, none for translation).

    Raises:
        ValueError: a row of x or y is not positive and finite, max_rounds is not positive, e0 is not above every y, or
            up_bound is below a y.
        FitError: fewer than 5 points, all x or all y equal, or a y of 0.001 or less.

    Warns:
        FitWarning: `repeated_x`: rows that share an x overwrite each other, as in the reference code.
    """
    from scipy.optimize import nnls

    x, y = _curve("alabdulmohsin2022_m4", x, y, min_points=5)
    for name, value in (("e0", e0), ("up_bound", up_bound)):
        if value is not None:
            check_number(name, value, positive=True)
    largest_c, least_e0 = _largest_c(y), float(y.max()) + _MARGIN
    most_e0 = np.inf if up_bound is None else up_bound + _MARGIN
    first_e0 = least_e0 if e0 is None else float(e0)
    if not first_e0 > y.max() or not most_e0 > y.max():
        raise ValueError(f"e0 and up_bound must be above every y, up to {y.max():g}, got e0={e0!r}, {up_bound=}")
    log_x = np.log(x)
    regressors = np.stack([np.ones(y.size), -log_x, np.log(first_e0 - y)], axis=1)

    def regress(limits: tuple[float, float]) -> tuple[float, float, float]:
        log_a, b, alpha = nnls(regressors, np.log(y - limits[0]))[0]
        return float(log_a), float(b), float(alpha)

    def descend(limits: tuple[float, float], line: tuple[float, float, float], newton: bool) -> tuple[float, float]:
        (c, e0), (log_a, b, alpha) = limits, line
        log_f = log_a - b * log_x
        for _ in range(_NEWTON_STEPS if newton else _GRADIENT_STEPS):
            above, below = y - c, e0 - y
            residual = np.log(above) - alpha * np.log(below) - log_f
            c -= _step_of_c(residual, above, newton, _LEAST_CURVATURE)
            e0 -= _step_of_e0(residual, below, alpha, newton)
            c, e0 = min(max(c, 0.0), largest_c), min(max(e0, least_e0), most_e0)
        return c, e0

    limits, line, num_rounds, converged = _alternate((largest_c, first_e0), regress, descend, max_rounds)
    (c, last_e0), (log_a, b, alpha) = limits, line
    squares = _sum_of_squares(np.log(y - c) - alpha * np.log(last_e0 - y) - log_a + b * log_x)
    params = {"a": np.exp(log_a), "b": b, "c": c, "e0": last_e0, "alpha": 0.0 if alpha < _NO_ALPHA else alpha}
    note = "residuals in log((y - c) / (e0 - y)^alpha), a local minimum, and a >= 1 whatever the unit of x"
    return _fit("m4", "sigmoidal_power", params, squares, num_rounds, converged, note)


# Parts --------------------------------------------------------------------------------------------------------


def _alternate(
    limits: Limits,
    regress: Callable[[Limits], tuple[float, ...]],
    descend: Callable[[Limits, tuple, bool], Limits],
    max_rounds: int,
) -> tuple[Limits, tuple, int, bool]:
    """Rounds of least squares for the line (its first entry log a), then of steps for the limits: c, or (c, e0).

    Returns the limits, the line (fitted before the last steps, as in the reference code), the number of rounds, and
    whether the amplitude came to rest.
    """
    check_whole("max_rounds", max_rounds, 1)
    previous, line = 1.0, ()
    for k in range(max_rounds):
        line = regress(limits)
        limits = descend(limits, line, k >= _NUM_GRADIENT_ROUNDS)
        amplitude = np.exp(line[0])
        if abs(amplitude - previous) < _STOP and k > _NUM_GRADIENT_ROUNDS + 1:
            return limits, line, k + 1, True
        previous = amplitude
    return limits, line, max_rounds, False


def _step_of_c(residual: np.ndarray, above: np.ndarray, newton: bool, least_curvature: float = 0.0) -> float:
    """Rate times slope (over curvature) in c of half the mean squared residual; above = y - c."""
    inverse = 1 / above
    slope = -float(residual @ inverse) / above.size
    if not newton:
        return _GRADIENT_RATE * slope
    curvature = float((1 - residual) @ inverse**2) / above.size
    return _NEWTON_RATE * slope / curvature if abs(curvature) > least_curvature else 0.0


def _step_of_e0(residual: np.ndarray, below: np.ndarray, alpha: float, newton: bool) -> float:
    """The same in e0; below = e0 - y."""
    inverse = 1 / below
    slope = -alpha * float(residual @ inverse) / below.size
    if not newton:
        return _GRADIENT_RATE * slope
    curvature = alpha * float((alpha + residual) @ inverse**2) / below.size
    return _NEWTON_RATE * slope / curvature if abs(curvature) > _LEAST_CURVATURE else 0.0


def _best_shift(x: np.ndarray, y: np.ndarray, log_a: float, b: float, d: float) -> float:
    """Of d and the shifts that solve one point exactly, the one with the least squares."""
    if b == 0:
        return d  # the law is a constant: no shift changes it
    with np.errstate(over="ignore"):
        solving = np.exp((np.log(y) - log_a) / b) - 1 / x
    shifts = np.array([d, *solving[(solving >= 0) & np.isfinite(solving)]])
    residuals = np.log(y) - log_a - b * np.log(1 / x + shifts[:, None])
    return float(shifts[np.argmin(np.sum(residuals**2, axis=1))])


def _sum_of_squares(residuals: np.ndarray) -> float:
    return float(np.sum(residuals**2))


def _curve(estimator: str, x: ArrayLike, y: ArrayLike, min_points: int) -> tuple[np.ndarray, np.ndarray]:
    """The points by ascending x; of rows that share an x the last, with a warning: the reference keeps a dict."""
    x, y = check_curve(estimator, x, y, min_points)
    curve = dict(zip(x.tolist(), y.tolist(), strict=True))
    if len(curve) < x.size:
        repeated = f"{x.size - len(curve)} of {x.size} rows share an x with a later row"
        message = f"{repeated}, which overwrites them, as {estimator!r} was published"
        issue(FitWarning("repeated_x", message))
    x = np.array(sorted(curve))
    return check_curve(estimator, x, np.array([curve[value] for value in x]), min_points)


def _largest_c(y: np.ndarray) -> float:
    if y.min() <= _MARGIN:
        raise FitError(
            f"every y must be above {_MARGIN}, by which the published search keeps c below it; got {y.min():g}"
        )
    return float(y.min()) - _MARGIN


def _fit(
    estimator: str,
    law: str,
    params: dict[str, float],
    objective_value: float,
    num_rounds: int,
    converged: bool,
    note: str,
) -> PublishedFit:
    return PublishedFit(
        f"alabdulmohsin2022_{estimator}", law, {name: float(value) for name, value in params.items()}, objective_value,
        num_rounds, num_starts=1, converged=bool(converged), note=note, source=_SOURCE.format(estimator.upper()),
    )  # fmt: skip
