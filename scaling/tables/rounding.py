"""How far a number may lie from the one that was rounded to it."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["float_slack", "half_unit", "mean_rounding", "printed_decimals"]

_SLACK = 1e-9  # of the numbers compared: what float64 does to a difference that is a tie in decimals
_NUM_SDS = 4.0  # of the sum of independent rounding errors: exceeded once in 16,000


def printed_decimals(values: Any) -> np.ndarray:
    """Decimals that each value was printed with, int64.

    A string says it itself. A number has lost its trailing zeros: all numbers are taken to be printed with as many
    decimals as the one that needs most of them.

    >>> printed_decimals(["0.730", "8e-4", "12"]), printed_decimals([99.5, 88.04])
    (array([3, 4, 0]), array([2, 2]))
    """
    flat = np.atleast_1d(np.asarray(values, dtype=object)).ravel()
    own = np.array([_decimals(value) for value in flat], dtype=np.int64)
    numeric = np.array([not isinstance(value, str) for value in flat], dtype=bool)
    own[numeric] = own[numeric].max(initial=0)
    return own


def half_unit(decimals: ArrayLike) -> np.ndarray:
    """Half a unit of the last decimal: the largest error of rounding."""
    return 0.5 * 10.0 ** -np.asarray(decimals, dtype=float)


def float_slack(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """How far a difference of printed numbers may be off because float64 does not hold decimals exactly."""
    return _SLACK * np.maximum(np.abs(a), np.abs(b))


def mean_rounding(halves: Sequence[float] | np.ndarray) -> float:
    """Largest error of a mean of rounded values, given half a unit of each.

    No more than the mean of the halves, if all values were rounded the same way; for many values that is out of the
    question, and four standard deviations of independent uniform errors are less.

    >>> mean_rounding([0.005] * 2), round(mean_rounding([0.005] * 19), 4)
    (0.005, 0.0026)
    """
    halves = np.asarray(halves, dtype=float)
    spread = np.sqrt(np.sum(halves**2) / 3) / halves.size
    return float(min(halves.mean(), _NUM_SDS * spread))


def _decimals(value: Any) -> int:
    # Twelve digits: what arithmetic leaves behind the printed ones is not printed.
    number = Decimal(value.strip() if isinstance(value, str) else f"{float(value):.12g}")
    if not number.is_finite():
        return 0
    if not isinstance(value, str):
        number = number.normalize()
    exponent = number.as_tuple().exponent
    return max(0, -int(exponent))
