"""Where the points of an extrapolation end, and what its members are held to beyond them."""

from dataclasses import dataclass

import numpy as np

from .members import Member

__all__ = ["Trend", "find_trend"]

_STEEPEST = 1.25  # times the last slope of the points in log-log: no member falls faster beyond them
_SLOPE_SHARE, _SLOPE_POINTS = 4, 8  # the last slope is that of the last quarter of the points, at least eight


@dataclass(frozen=True)
class Trend:
    """Where the points end: their largest x, and the steepest slope in log-log that a member may go on with."""

    last_x: float
    steepest: float

    def held(self, member: Member, x: np.ndarray) -> np.ndarray:
        """log y of a member at x, shape (m,): beyond the points it falls, and no faster than the steepest slope."""
        value, start = member.log_value(x), member.log_value(np.array([self.last_x]))
        beyond = np.maximum(np.log(x / self.last_x), 0.0)
        with np.errstate(invalid="ignore"):
            change = np.clip(np.nan_to_num(value - start, nan=0.0), self.steepest * beyond, 0.0)
        return np.where(beyond > 0, start + change, value)


def find_trend(x: np.ndarray, y: np.ndarray) -> Trend:
    """Of points with ascending x, shape (n,)."""
    log_x, log_y = np.log(x), np.log(y)
    num = max(x.size // _SLOPE_SHARE, _SLOPE_POINTS)
    while num < x.size and log_x[-num] == log_x[-1]:
        num += 1
    distance = log_x[-num:] - log_x[-num:].mean()
    slope = distance @ log_y[-num:] / (distance @ distance)
    return Trend(float(x[-1]), _STEEPEST * min(float(slope), 0.0))
