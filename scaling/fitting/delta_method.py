"""Intervals of a fitted law by the delta method, with Student's t."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import FitError
from ..laws.base import Link
from ..prediction import check_kind, check_level
from .objective import LOG

if TYPE_CHECKING:
    from .fit import Fit

__all__ = ["delta_interval"]


def delta_interval(fit: Fit, x: np.ndarray, level: float, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The law at x, both in scaled units, and the ends of its interval, or of that of one new point; each (n,).

    Raises:
        ValueError: a level outside (0, 1), an unknown kind.
        FitError: no degree of freedom is left, or the law is not positive where its logarithm is asked for.
    """
    check_level(level)
    check_kind(kind)
    if not fit.degrees_of_freedom > 0 or np.isnan(fit.error_variance):
        raise FitError(f"no interval: {fit.why_no_interval}")
    link = LOG if fit.objective.is_binomial else fit.problem.link
    median = fit.law.value(fit.theta, x)
    with np.errstate(all="ignore"):
        gradient = fit.law.jacobian(fit.theta, x)[:, fit.is_free] * link.slope(median)[:, None]
    spread = fit.free_covariance.spread(gradient)
    if link is LOG and np.any(median <= 0):
        raise FitError("the law is not positive at every x: its logarithm has no interval there")
    if kind == "prediction":
        spread = np.hypot(spread, _new_point_spread(fit, link, median))
    half = fit.student_quantile(level) * spread
    with np.errstate(over="ignore"):
        middle = link.forward(median)
        return median, link.backward(middle - half), link.backward(middle + half)


def _new_point_spread(fit: Fit, link: Link, median: np.ndarray) -> np.ndarray:
    """One new point has the spread of a typical one of those fitted."""
    scale = np.exp(np.mean(np.log(fit.problem.residual_scale)))
    if fit.objective.is_binomial:
        return np.sqrt(fit.error_variance * median * (1 - np.minimum(median, 1))) * scale * link.slope(median)
    return np.full(median.shape, fit.residual_std * scale)
