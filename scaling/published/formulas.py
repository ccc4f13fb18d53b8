"""The formulas of the laws that the published estimators fit, by law name: y at x, in the user's units.

Kept in one place, so that they can be read off the table of laws where that has them.
"""

from collections.abc import Callable, Mapping

import numpy as np

__all__ = ["FORMULAS"]

Params = Mapping[str, float]

# Bisections of an interval until it is as narrow as a double can tell: 52 bits of the mantissa, and some for a root
# that is small against the interval.
_NUM_BISECTIONS = 100


def _power(params: Params, x: np.ndarray) -> np.ndarray:
    """a x^-b."""
    return params["a"] * x ** -params["b"]


def _saturating_power(params: Params, x: np.ndarray) -> np.ndarray:
    """a x^-b + c."""
    return _power(params, x) + params["c"]


def _shifted_power(params: Params, x: np.ndarray) -> np.ndarray:
    """a (x + d)^-b."""
    return _power(params, x + params["d"])


def _double_saturating_power(params: Params, x: np.ndarray) -> np.ndarray:
    """a (x + d)^-b + c."""
    return _shifted_power(params, x) + params["c"]


def _reciprocal_shift_power(params: Params, x: np.ndarray) -> np.ndarray:
    """a (1/x + d)^b."""
    return params["a"] * (1 / x + params["d"]) ** params["b"]


def _sigmoidal_power(params: Params, x: np.ndarray) -> np.ndarray:
    """The y in [c, e0] with (y - c) / (e0 - y)^alpha = a x^-b.

    w = y - c is where the rising w meets the falling a x^-b (e0 - c - w)^alpha: bracketed by 0 and e0 - c.
    With alpha = 0 there is no upper end: y = a x^-b + c.
    """
    power, alpha = _power(params, x), params["alpha"]
    if alpha == 0:
        return power + params["c"]
    low, high = np.zeros_like(power), np.full_like(power, params["e0"] - params["c"])
    for _ in range(_NUM_BISECTIONS):
        middle = (low + high) / 2
        is_below = middle < power * (params["e0"] - params["c"] - middle) ** alpha
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return params["c"] + low


def _broken_power(params: Params, x: np.ndarray) -> np.ndarray:
    """c + a x^-b prod_i (1 + (x / d_i)^(1 / f_i))^(-b_i f_i); a break with f_i = 0 is none, as in the authors' code."""
    log_x = np.log(x)
    log_power = -params["b"] * log_x
    for i in range(1, (len(params) - 3) // 3 + 1):
        bend, place, sharpness = (params[f"{name}_{i}"] for name in ("b", "d", "f"))
        if sharpness != 0:
            log_power = log_power - bend * sharpness * np.logaddexp(0, (log_x - np.log(place)) / sharpness)
    return params["c"] + params["a"] * np.exp(log_power)


def _additive(params: Params, x: np.ndarray) -> np.ndarray:
    """E + A N^-alpha + B D^-beta, x of shape (n, 2) = N, D."""
    of_model = params["A"] * x[..., 0] ** -params["alpha"]
    return params["E"] + of_model + params["B"] * x[..., 1] ** -params["beta"]


FORMULAS: dict[str, Callable[[Params, np.ndarray], np.ndarray]] = {
    "power": _power,
    "saturating_power": _saturating_power,
    "shifted_power": _shifted_power,
    "double_saturating_power": _double_saturating_power,
    "reciprocal_shift_power": _reciprocal_shift_power,
    "sigmoidal_power": _sigmoidal_power,
    "broken_power": _broken_power,
    "additive": _additive,
}
