"""A weighted mean of laws: the recommended extrapolator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import ArrayLike

from ..inputs import check_positive, numbers
from ..laws import Law
from ..notebook_view import NotebookView
from ..prediction import Prediction, check_kind, check_level, warn_beyond
from ..quantiles import student_quantile
from .comparison import check_laws, positive_points
from .member_weights import learn_weights, rolling_errors
from .members import Member, fit_members
from .trend import Trend, find_trend

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DEFAULT_LAWS", "EnsembleFit", "fit_ensemble"]

DEFAULT_LAWS = (
    "power", "saturating_power", "reciprocal_shift_power", "double_saturating_power", "sigmoidal_power",
    "broken_power",
)  # fmt: skip


@dataclass(frozen=True, repr=False, eq=False)
class EnsembleFit(NotebookView):
    """Weighted members, each a law fitted to all points or to the last of them. Made by `fit_ensemble`.

    Attributes:
        members, weights: the fits and their weights, shape (num_members,), which sum to one.
        x, y: the points, x ascending, shape (n,).
        trend: what the members are held to beyond the points.
        noise: standard deviation of one point in log y: the median of the members' residuals.
        heldout_log_rmse: each member's error on the last rolling window (nan where it has none), (num_members,).
    """

    members: tuple[Member, ...]
    weights: np.ndarray
    x: np.ndarray
    y: np.ndarray
    trend: Trend
    noise: float
    heldout_log_rmse: np.ndarray

    @overload
    def predict(self, x: ArrayLike, level: None = None, kind: str = "confidence") -> np.ndarray: ...
    @overload
    def predict(self, x: ArrayLike, level: float, kind: str = "confidence") -> Prediction: ...
    def predict(self, x: ArrayLike, level: float | None = None, kind: str = "confidence") -> np.ndarray | Prediction:
        """The weighted geometric mean of the members at x: an ndarray, or with a `level` a `Prediction`.

        The interval's variance in log y is that between the members plus, for one new point, the noise, with Student's
        quantile for as many degrees of freedom as the median member has on all points; it holds the members' own
        central share at that level too. It says how far laws that all fit disagree, not how sure any one of them is.
        At .95 it holds .95 of the points of 36 real curves in the doubling of x after the fitted ones
        (`tests/benchmarks/extrapolation.py`); simulated with 8 to 60 points of one law, .8 to 1 of the curve.

        Args:
            x: positive values, any shape.
            level: probability of the interval, such as 0.95.
            kind: "confidence" for the curve, "prediction" for one new point.

        Raises:
            ValueError: x is not positive, an unknown kind or a level outside (0, 1).

        Warns:
            FitWarning: `extrapolation` more than a decade beyond the points.
        """
        x = check_positive("x", numbers("x", x))
        warn_beyond(x, self.x)
        logs = self.log_values(x.ravel())
        middle = self.weights @ logs
        if level is None:
            return np.exp(middle).reshape(x.shape)
        check_level(level)
        check_kind(kind)
        ends = self._ends(logs, middle, level, kind)
        median, low, high = (np.exp(end).reshape(x.shape) for end in (middle, *ends))
        if np.all(self.y <= 1):
            high = np.where(median > 1, high, np.minimum(high, 1.0))
        return Prediction(x, median, low, high, level, kind)

    def log_values(self, x: np.ndarray) -> np.ndarray:
        """log y of every member at x (m,), shape (num_members, m)."""
        return np.array([self.trend.held(member, x) for member in self.members])

    def _ends(self, logs: np.ndarray, middle: np.ndarray, level: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
        variance = self.weights @ (logs - middle) ** 2
        if kind == "prediction":
            variance = variance + self.noise**2
        left = max(self.x.size - np.median([len(member.law.params) for member in self.members]), 1.0)
        half = student_quantile(level, left) * np.sqrt(variance)
        inner_low, inner_high = _weighted_quantiles(logs, self.weights, ((1 - level) / 2, (1 + level) / 2))
        return np.minimum(middle - half, inner_low), np.maximum(middle + half, inner_high)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a member: law, reach, weight, noise, held-out log RMSE."""
        import pandas as pd

        return pd.DataFrame(
            {
                "law": [member.law.name for member in self.members],
                "reach": [member.reach for member in self.members],
                "weight": self.weights,
                "noise": [member.noise for member in self.members],
                "heldout_log_rmse": self.heldout_log_rmse,
            }
        )

    def __repr__(self) -> str:
        share = dict.fromkeys(dict.fromkeys(member.law.name for member in self.members), 0.0)
        for member, weight in zip(self.members, self.weights, strict=True):
            share[member.law.name] += float(weight)
        head = f"ensemble of {len(self.members)} fits to {self.x.size} points, noise {self.noise:.2g} in log y"
        return "\n".join([head, *(f"  {name:>24}: weight {weight:.3f}" for name, weight in share.items())])


def fit_ensemble(x: ArrayLike, y: ArrayLike, laws: Sequence[str | Law] | None = None) -> EnsembleFit:
    """Fit several laws, each to all points and to the last factors of 8 and of 4 in x, and weigh them.

    A mean over laws and over how many of the early points to trust extrapolates better than any one law does: their
    errors differ in sign. Each is shifted in log y by its mean residual at the last five points, times x_last / x;
    beyond the points none rises, nor falls faster than 1.25 times their last slope in log-log.

    Weights are learned by rolling hold-out inside the points (fit to a quarter of the largest x, then to half of it,
    each scored on the doubling that follows): they are equal, unless 1 / error^2 learned on the first window cuts the
    error on the second to a quarter of that of equal weights; then they are 1 / error^2 over both.

    Args:
        x: positive values, shape (n,): a cost, with which y falls.
        y: an error or a loss, positive, shape (n,); repeated x count each.
        laws: names or laws of one input that fall with x; None takes the power, saturating, reciprocal-shift,
            double-saturating, sigmoidal and broken power laws. Those with too many parameters are left out.

    Raises:
        ValueError: x or y not positive, of two shapes, an unknown law, or one that grows with x.
        FitError: fewer distinct x than a law needs, or all y equal.

    Source: chosen by rolling hold-out inside the fitting points of the curves of Alabdulmohsin et al. 2022
    (arXiv 2209.06640); equal weights as in the forecast-combination literature (Timmermann 2006, section 4).

    >>> x = np.geomspace(1e6, 1e9, 20)
    >>> ensemble = fit_ensemble(x, 30 * x**-0.3 + 0.1)
    >>> bool(abs(np.log(ensemble.predict(4e9) / (30 * 4e9**-0.3 + 0.1))) < 0.01)
    True
    """
    x, y = positive_points(x, y)
    chosen = _falling_laws(laws)
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    members = fit_members(x, y, chosen)
    windows = rolling_errors(x, y, chosen)
    keys = [member.key for member in members]
    weights = learn_weights(keys, windows)
    latest = windows[-1] if windows else None
    errors = [latest.rms(key) if latest and key in latest.errors else np.nan for key in keys]
    noise = float(np.median([member.noise for member in members]))
    return EnsembleFit(tuple(members), weights, x, y, find_trend(x, y), noise, np.array(errors))


def _falling_laws(laws: Sequence[str | Law] | None) -> list[Law]:
    found = check_laws(DEFAULT_LAWS if laws is None else laws)
    for law in found:
        if law.increasing:
            raise ValueError(f"laws of an ensemble must fall with x, got {law.name!r}")
    return found


def _weighted_quantiles(
    values: np.ndarray, weights: np.ndarray, shares: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Along axis 0 of values (num_members, m): the least value with that share of the weight at or below it."""
    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    below = np.cumsum(weights[order], axis=0)
    low, high = (np.argmax(below >= share * (1 - 1e-12), axis=0) for share in shares)
    columns = np.arange(values.shape[1])
    return ordered[low, columns], ordered[high, columns]
