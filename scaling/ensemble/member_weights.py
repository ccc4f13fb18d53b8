"""Weights of an ensemble's members, learned by rolling hold-out inside the points."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import FitError
from ..laws import Law
from .members import Key, fit_members
from .trend import find_trend

__all__ = ["HeldOut", "held_out", "learn_weights", "rolling_errors"]

_CUTS = (1 / 4, 1 / 2)  # of the largest x: fit up to here and score up to twice as far
_CUT_REACH = 2.0
# Weights learned on one window must cut the error on the next to this share of what equal weights make, to be taken.
# On few-shot curves of ImageNet and Birds any weighting by past errors made the next doubling worse than equal weights
# do (by 5 to 30 %); where one law is the truth and the noise is small it is better by far more than this.
_CLEAR = 0.25
_LARGEST_ERROR = 1.0  # in log y, of a held-out prediction: worse is as bad
_SMALLEST_ERROR = 1e-9  # in log y: rounding


def rolling_errors(x: np.ndarray, y: np.ndarray, laws: Sequence[Law]) -> list["HeldOut"]:
    """Of each rolling window of points with ascending x (n,) that has points to fit and to score."""
    windows = [held_out(x, y, laws, cut) for cut in _CUTS]
    return [window for window in windows if window is not None]


def held_out(x: np.ndarray, y: np.ndarray, laws: Sequence[Law], cut: float) -> "HeldOut | None":
    """Errors of every member fitted to x <= cut * max(x), on the points up to twice as far; None without points."""
    last = cut * x[-1]
    fitted, scored = x <= last, (x > last) & (x <= _CUT_REACH * last)
    if not scored.any() or np.unique(x[fitted]).size < 2 or np.ptp(y[fitted]) == 0:
        return None
    try:
        members = fit_members(x[fitted], y[fitted], laws)
    except FitError:
        return None
    trend = find_trend(x[fitted], y[fitted])
    return HeldOut({member.key: trend.held(member, x[scored]) - np.log(y[scored]) for member in members})


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Each member's errors in log y on one window, shape (m,) each."""

    errors: dict[Key, np.ndarray]

    def rms(self, key: Key) -> float:
        """Of one member; that of the worst for one which this window could not fit."""
        if key not in self.errors:
            return max(self.rms(known) for known in self.errors)
        return float(np.clip(np.sqrt(np.mean(self.errors[key] ** 2)), _SMALLEST_ERROR, _LARGEST_ERROR))

    def rms_of_mean(self, keys: Sequence[Key], weights: np.ndarray) -> float:
        """Of the weighted mean of those members that this window could fit; inf where it could fit none of them."""
        known = [place for place, key in enumerate(keys) if key in self.errors]
        if not known:
            return np.inf
        mean = np.average([self.errors[keys[place]] for place in known], axis=0, weights=weights[known])
        return float(np.sqrt(np.mean(mean**2)))


def learn_weights(keys: Sequence[Key], windows: Sequence[HeldOut]) -> np.ndarray:
    """Equal weights, or 1 / (held-out error)^2 where such weights have been shown to be much better; they sum to 1."""
    equal = np.full(len(keys), 1 / len(keys))
    if len(windows) < len(_CUTS):
        return equal
    earlier, latest = windows
    trial = latest.rms_of_mean(keys, _inverse_squares(keys, [earlier]))
    if trial > _CLEAR * latest.rms_of_mean(keys, equal):
        return equal
    return _inverse_squares(keys, windows)


def _inverse_squares(keys: Sequence[Key], windows: Sequence[HeldOut]) -> np.ndarray:
    weights = np.array([1 / np.mean([window.rms(key) ** 2 for window in windows]) for key in keys])
    return weights / weights.sum()
