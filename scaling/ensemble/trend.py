"""Where the points of an extrapolation end, and what its members are held to beyond them."""

from dataclasses import dataclass

import numpy as np

from .members import Member

__all__ = ["Trend", "find_trend"]

_STEEPEST = 1.25  # times the last slope of the points in log-log: no member falls faster beyond them
_ANCHORS = 5  # last points to whose mean a member is shifted
_SLOPE_SHARE, _SLOPE_POINTS = 4, 8  # the last slope is that of the last quarter of the points, at least eight


@dataclass(frozen=True, eq=False)
class Trend:
    """Where the points end.

    Attributes:
        steepest: slope in log-log below which no member goes on beyond the points.
        last_x, last_log_y: the last points, x ascending, shape (k,).
    """

    steepest: float
    last_x: np.ndarray
    last_log_y: np.ndarray

    def held(self, member: Member, x: np.ndarray) -> np.ndarray:
        """log y of a member at x, shape (m,).

        Beyond the points it falls, and no faster than the steepest slope. Its mean residual at the last points is
        added, times x_last / x: a law that misses them by so much misses the next ones too.
        """
        value, start = member.log_value(x), member.log_value(self.last_x)
        distance = np.log(x / self.last_x[-1])
        beyond = np.maximum(distance, 0.0)
        with np.errstate(invalid="ignore"):
            change = np.clip(np.nan_to_num(value - start[-1], nan=0.0), self.steepest * beyond, 0.0)
        shift = np.mean(self.last_log_y - start)
        return np.where(beyond > 0, start[-1] + change, value) + shift * np.exp(-np.abs(distance))


def find_trend(x: np.ndarray, y: np.ndarray) -> Trend:
    """Of points with ascending x, shape (n,)."""
    log_x, log_y = np.log(x), np.log(y)
    num = max(x.size // _SLOPE_SHARE, _SLOPE_POINTS)
    while num < x.size and log_x[-num] == log_x[-1]:
        num += 1
    distance = log_x[-num:] - log_x[-num:].mean()
    slope = distance @ log_y[-num:] / (distance @ distance)
    return Trend(_STEEPEST * min(float(slope), 0.0), x[-_ANCHORS:], log_y[-_ANCHORS:])
