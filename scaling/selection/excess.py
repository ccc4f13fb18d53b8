"""How far a run lies above the frontier: the log-likelihood of normal noise plus a positive excess.

The logarithm of a run's error is that of the frontier plus v + u: v is normal with mean 0 and standard deviation
`noise`, u is the excess, of scale `scale` and shape k in [1, MAX_SHAPE]. A whole k is the Erlang distribution of that
shape (1: exponential, highest at the frontier; 2: none of the runs quite reaches it); between two whole numbers the
two neighbours are mixed, with weights 1 - |k - j|, so that the mean of u is k * scale.

Source: the normal-exponential model of stochastic frontier analysis (Aigner, Lovell and Schmidt 1977, J. Econometrics
6), with Erlang shapes in the manner of Greene 1990 (J. Econometrics 46).
"""

from collections.abc import Sequence
from math import factorial

import numpy as np

__all__ = ["MAX_SHAPE", "log_density", "log_survival"]

MAX_SHAPE = 4
_LOG_ROOT_TAU = 0.5 * np.log(2 * np.pi)
_FAR = 14.0  # so far below 0 the recursion cancels, and its asymptotic series is exact to 1e-9
_NUM_TERMS = 10
_NORMAL_ENDS = 37.0  # beyond it phi is 1e-298 and changes nothing; numbers smaller still are slow to compute with


def log_density(residual: np.ndarray, noise: np.ndarray, scale: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Log density of v + u at `residual`.

    Args:
        residual: log y - log f(x), any shape.
        noise, scale, shape: positive; broadcast against `residual`.
    """
    return _log_mixture(residual, noise, scale, _erlang_weights(shape)) - np.log(scale)


def log_survival(residual: np.ndarray, noise: np.ndarray, scale: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Log probability that v + u lies above `residual`; arguments as in `log_density`."""
    from scipy.special import log_ndtr

    # The survival of an Erlang is a sum of the densities of all smaller shapes.
    weights = _erlang_weights(shape)
    at_least = [sum(weights[j:]) for j in range(MAX_SHAPE)]
    return np.logaddexp(log_ndtr(-residual / noise), _log_mixture(residual, noise, scale, at_least))


def _erlang_weights(shape: np.ndarray) -> list[np.ndarray]:
    return [np.maximum(1 - np.abs(shape - j), 0.0) for j in range(1, MAX_SHAPE + 1)]


def _log_mixture(
    residual: np.ndarray, noise: np.ndarray, scale: np.ndarray, weights: Sequence[np.ndarray | float]
) -> np.ndarray:
    """log of scale * sum_j weights_j (density of normal + Erlang j).

    The integral over u of u^(j-1) exp(-u / scale) times the normal density is, with g = noise / scale and
    w = residual / noise - g, exp(g^2 / 2 - residual / scale) g^(j-1) H_j(w), H_j(w) = int_0^inf t^(j-1) phi(t - w) dt
    / (j-1)!. For w < 0 the exponential overflows where H_j vanishes, and H_j / phi(w) is used instead.
    """
    z, g = residual / noise, noise / scale
    w = z - g
    below = w < 0
    integrals = _normal_moments(w, below)
    total = sum(weight * g**j * integral for j, (weight, integral) in enumerate(zip(weights, integrals, strict=True)))
    prefix = np.where(below, -0.5 * z * z - _LOG_ROOT_TAU, (0.5 * g - z) * g)
    with np.errstate(divide="ignore"):
        return prefix + np.log(total)


def _normal_moments(w: np.ndarray, below: np.ndarray) -> list[np.ndarray]:
    """H_1 to H_MAX_SHAPE at w, over phi(w) where w is below 0.

    H_0 = phi, H_1 = Phi, H_(j+1) = (w H_j + H_(j-1)) / j.
    """
    from scipy.special import erfcx

    size = np.abs(w)
    mills = np.sqrt(np.pi / 2) * erfcx(size * np.sqrt(0.5))  # Phi(-size) / phi(size)
    phi = np.exp(-0.5 * np.minimum(size, _NORMAL_ENDS) ** 2 - _LOG_ROOT_TAU)
    moments = [np.where(below, 1.0, phi), np.where(below, mills, 1 - phi * mills)]
    for j in range(1, MAX_SHAPE):
        moments.append((w * moments[j] + moments[j - 1]) / j)
    far = w < -_FAR
    if far.any():
        for j in range(2, MAX_SHAPE + 1):
            moments[j][far] = _far_moment(j, size[far])
    return moments[1:]


def _far_moment(j: int, size: np.ndarray) -> np.ndarray:
    """int_0^inf t^(j-1) exp(-size t - t^2 / 2) dt / (j-1)!, the exponential of -t^2 / 2 expanded."""
    terms = [(-0.5) ** m / factorial(m) * factorial(j - 1 + 2 * m) / factorial(j - 1) for m in range(_NUM_TERMS)]
    return np.polynomial.polynomial.polyval(size**-2, terms) / size**j
