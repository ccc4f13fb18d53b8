"""(E - c) / (e0 - E)^alpha = a x^-b: a power law between two plateaus, e0 for small x and c for large."""

import numpy as np

from .base import Law, columns, expit, softplus

__all__ = ["sigmoidal_power"]

_MAX_ITERATIONS = 60
_FEW_DIGITS = 1e-6  # size of a step of Halley's method, relative to u, after which all digits are right
_LARGEST_LOGIT = 745.0  # beyond it one plateau is reached to the smallest double
_TINY = 1e-300
_LOCATIONS = np.linspace(-0.6, 1.1, 10)  # of the middle of the fall, in ranges of log x from its lower end
_STEEPNESS = np.geomspace(0.3, 24.0, 10)  # exponents, in units of 1 / (range of log x)
_ALPHAS = np.array([0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0])


def _solve_logit(log_t: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """u = logit(w) of the w in (0, 1) with log w - alpha log(1 - w) = log_t.

    In u the left side rises with a slope between 1 and alpha and bends one way only, so Halley's method cannot miss
    the one root. Where alpha is 0 and log_t > 0 the law is cut at w = 1.
    """
    log_t, alpha = np.broadcast_arrays(log_t, alpha)
    with np.errstate(all="ignore"):
        u = np.where(log_t < 0, log_t, np.minimum(np.maximum(log_t, _TINY) / np.maximum(alpha, _TINY), _LARGEST_LOGIT))
        for _ in range(_MAX_ITERATIONS):
            small = np.exp(-np.abs(u))
            share = 1 / (1 + small)
            w, rest = np.where(u > 0, share, small * share), np.where(u > 0, small * share, share)
            height = u + (alpha - 1) * (np.maximum(u, 0.0) + np.log1p(small)) - log_t
            slope = rest + alpha * w
            newton = height / slope
            step = newton / np.maximum(1 - newton * w * rest * (alpha - 1) / (2 * slope), 0.5)
            new = np.minimum(u - step, _LARGEST_LOGIT)
            is_near = np.abs(new - u) <= _FEW_DIGITS * (1 + np.abs(u))
            u = new
            if np.all(is_near | np.isnan(u)):
                break
    return u


def _log_t(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    a, b, c, alpha, e0 = (theta[..., k, None] for k in range(5))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(a) + (alpha - 1) * np.log(e0 - c) - b * np.log(x)


def _value(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    return _value_at(theta, _solve_logit(_log_t(theta, x), theta[..., 3, None]))


def _jacobian(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    return _both(theta, x)[1]


def _both(theta: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    u = _solve_logit(_log_t(theta, x), theta[..., 3, None])
    return _value_at(theta, u), _jacobian_at(theta, x, u)


def _value_at(theta: np.ndarray, u: np.ndarray) -> np.ndarray:
    c, e0 = (theta[..., k, None] for k in (2, 4))
    # From the nearer plateau, so that neither loses digits.
    return np.where(u > 0, e0 - (e0 - c) * expit(-u), c + (e0 - c) * expit(u))


def _jacobian_at(theta: np.ndarray, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    a, c, alpha, e0 = (theta[..., k, None] for k in (0, 2, 3, 4))
    w, rest = expit(u), expit(-u)
    slope = np.divide((e0 - c) * w * rest, rest + alpha * w, out=np.zeros_like(w), where=rest + alpha * w > 0)
    height = (alpha - 1) / (e0 - c)
    out = np.empty((*w.shape, 5))
    out[..., 0] = slope / a
    out[..., 1] = -slope * np.log(x)
    out[..., 2] = rest - slope * height
    out[..., 3] = slope * (np.log(e0 - c) - softplus(u))
    out[..., 4] = w + slope * height
    return out


def _inverse(theta: np.ndarray, y: np.ndarray) -> np.ndarray:
    a, b, c, alpha, e0 = (theta[..., k, None] for k in range(5))
    y = np.asarray(y, dtype=float)
    with np.errstate(all="ignore"):
        log_t = np.log(y - c) - alpha * np.log(e0 - y) - np.log(a)
        x = np.exp(-log_t / b)
    return np.where(y >= e0, 0.0, np.where((y > c) & ~np.isnan(x), x, np.inf))


def _in_units(theta: np.ndarray, x_unit: float, y_unit: float) -> np.ndarray:
    a, b, c, alpha, e0 = (theta[..., k] for k in range(5))
    amplitude = a * np.exp(b * np.log(x_unit) + (1 - alpha) * np.log(y_unit))
    return columns(amplitude, b, c * y_unit, alpha, e0 * y_unit)


def _grid(x: np.ndarray) -> np.ndarray:
    low, spread = np.min(np.log(x)), np.ptp(np.log(x))
    axes = np.meshgrid(low + _LOCATIONS * spread, _STEEPNESS / spread, _ALPHAS, indexing="ij")
    return np.stack(axes, axis=-1)


def _basis(nonlinear: np.ndarray, x: np.ndarray) -> np.ndarray:
    location, b, alpha = (nonlinear[:, k, None] for k in range(3))
    w = expit(_solve_logit(-b * (np.log(x) - location), alpha))
    return np.stack([w, np.ones_like(w)], axis=1)


def _assemble(linear: np.ndarray, nonlinear: np.ndarray) -> np.ndarray:
    height, c = np.maximum(linear[..., 0], _TINY), linear[..., 1]
    location, b, alpha = (nonlinear[..., k] for k in range(3))
    with np.errstate(over="ignore"):
        return columns(np.exp(b * location - (alpha - 1) * np.log(height)), b, c, alpha, c + height)


sigmoidal_power = Law(
    "sigmoidal_power",
    "(E - c) / (e0 - E)^alpha = a x^-b",
    "M4 of Alabdulmohsin et al. 2022 (arXiv 2209.06640); solved for E by Halley's method",
    ("a", "b", "c", "alpha", "e0"),
    lower=(0.0,) * 5,
    upper=(np.inf,) * 5,
    value=_value,
    jacobian=_jacobian,
    both=_both,
    inverse=_inverse,
    in_units=_in_units,
    grid=_grid,
    basis=_basis,
    linear=(None, 2),
    nonlinear=(None, 1, 3),
    assemble=_assemble,
    offset="c",
    bends_down=True,
    in_log=("a",),
    num_starts=32,
)
