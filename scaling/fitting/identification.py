"""What a reader of a fit must be warned of, and what cannot be said."""

from collections.abc import Mapping

import numpy as np

from ..errors import FitError, FitWarning
from .fit import Fit
from .search import Minimum

__all__ = ["check_range", "find_warnings"]

_RISING = "; y does not fall with x: is it an accuracy, or x not a cost?"
_RIDGE_FALL = 0.01  # rate times span below which a power cannot be told from a logarithm
_LEVEL = 0.95
_TOGETHER = 1e-6  # of the range of log N, by which log N - log D varies where they are proportional
_NAMED = 0.1  # share of a direction that the points do not tell from which on a parameter is named


def check_range(fit: Fit) -> None:
    """Raises a FitError where a parameter cannot be said in the user's units."""
    beyond = [name for name, value in fit.params.items() if not np.isfinite(value)]
    if beyond:
        scaled = dict(zip(fit.law.params, fit.theta.tolist(), strict=True))
        raise FitError(
            f"{beyond[0]} lies beyond a double's range ({fit.law.rate} = {scaled[fit.law.rate]:.4g}): the"
            " points show a step, not a power; x in a unit of its own size may help"
        )


@np.errstate(all="ignore")  # of laws far from any data, of which a warning is then the result
def find_warnings(fit: Fit, fixed: Mapping[str, float], minimum: Minimum) -> tuple[FitWarning, ...]:
    """Warnings of a fit, given the parameters that the user fixed and how the search ended."""
    found = _at_bounds(fit, fixed) + _not_identified(fit, minimum.has_ended) + _narrow(fit, fixed)
    if _is_ridge(fit):
        text = f"{fit.law.rate} is near 0: over these points the law does not bend; a power is a logarithm of x"
        found.append(FitWarning("ridge", text))
    if len(minimum.others):
        theirs = fit.law.in_units(minimum.others[0], fit.x_unit, fit.y_unit)
        text = ", ".join(f"{name} = {value:.4g}" for name, value in zip(fit.law.params, theirs, strict=True))
        found.append(FitWarning("repeated_optimum", f"another optimum fits as well and predicts differently: {text}"))
    return tuple(found)


def _is_ridge(fit: Fit) -> bool:
    """The one exponent of the law is so small that a power is a straight line in log x."""
    if fit.law.link is not None or fit.law.num_inputs > 1 or len(fit.law.nonlinear) != 1:
        return False
    return 0 < fit.params[fit.law.rate] * fit.law.span(fit.x) < _RIDGE_FALL


def _at_bounds(fit: Fit, fixed: Mapping[str, float]) -> list[FitWarning]:
    found = []
    for name, value in fit.at_bound.items():
        if name not in fixed:
            is_flat = value == 0 and name in (*fit.law.mixed, fit.law.rate) and not fit.law.increasing
            hint = _RISING if is_flat else ""
            message = f"{name} sits at its bound {value:.6g}: its interval is one-sided{hint}"
            found.append(FitWarning("at_bound", message))
    return found


def _not_identified(fit: Fit, has_ended: bool) -> list[FitWarning]:
    if fit.degrees_of_freedom <= 0:
        text = f"{fit.num_points:g} points and {fit.num_free} free parameters: no error estimate"
        return [FitWarning("few_points", text)]
    if not has_ended:
        return [FitWarning("not_identified", "the objective falls ever more slowly towards parameters without end")]
    if np.isnan(fit.error_variance):
        return [FitWarning("not_identified", "every residual lies beyond delta: the objective is flat at its minimum")]
    if fit.law.is_amount.sum() == 2 and _move_together(*np.log(fit.x.T)):
        text = f"{' and '.join(fit.law.inputs)} move together: alpha and beta, A and B may change places"
        return [FitWarning("not_identified", text)]
    names = np.array(fit.law.params)[fit.is_free]
    untold = fit.free_covariance.untold
    if untold.size:
        which = ", ".join(names[np.max(np.abs(untold), axis=1) > _NAMED])
        return [FitWarning("not_identified", f"these points do not tell {which} apart")]
    errors = np.linalg.norm(fit.free_covariance.factor, axis=1)
    wide = fit.student_quantile(_LEVEL) * errors > np.maximum(np.abs(fit.theta), fit.sizes)[fit.is_free]
    which = names[wide & ~np.isin(names, fit.law.mixed)]
    if which.size:
        text = f"the {_LEVEL:.0%} interval of {', '.join(which)} spans all values that matter"
        return [FitWarning("not_identified", text)]
    return []


def _move_together(one: np.ndarray, other: np.ndarray) -> bool:
    """The two are equal up to a constant: a law's terms in them may change places."""
    return float(np.ptp(one - other)) < _TOGETHER * float(np.ptp(one))


def _narrow(fit: Fit, fixed: Mapping[str, float]) -> list[FitWarning]:
    if fit.law.increasing or set(fixed) == set(fit.law.params):
        return []
    found = []
    for name, is_amount, column in zip(fit.law.inputs, fit.law.is_amount, np.atleast_2d(fit.x.T), strict=True):
        decades = np.ptp(np.log10(column))
        if is_amount and decades < 1:
            found.append(FitWarning("under_one_decade", f"{name} spans {decades:.2f} decades, less than one"))
    return found
