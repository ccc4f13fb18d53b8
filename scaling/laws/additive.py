"""L = E + A N^-alpha + B D^-beta: a law of parameters and of data."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .base import Law, columns, exponents_over

__all__ = ["additive", "log_optimum"]


def _powers(theta: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    log_n, log_d = np.log(x[:, 0]), np.log(x[:, 1])
    return log_n, log_d, np.exp(-theta[..., 3:4] * log_n), np.exp(-theta[..., 4:5] * log_d)


def _value(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    _, _, power_n, power_d = _powers(theta, x)
    return theta[..., 0:1] + theta[..., 1:2] * power_n + theta[..., 2:3] * power_d


def _jacobian(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    log_n, log_d, power_n, power_d = _powers(theta, x)
    out = np.ones((*power_n.shape, 5))
    out[..., 1], out[..., 2] = power_n, power_d
    out[..., 3] = -theta[..., 1:2] * log_n * power_n
    out[..., 4] = -theta[..., 2:3] * log_d * power_d
    return out


def _inverse(theta: np.ndarray, y: np.ndarray) -> np.ndarray:
    raise ValueError("solve_for_x needs a law of one input; 'additive' has a curve of (N, D) at each value")


def _in_units(theta: np.ndarray, x_unit: np.ndarray, y_unit: float) -> np.ndarray:
    log_unit = np.log(np.broadcast_to(np.asarray(x_unit, dtype=float), (2,)))
    e, a, b, alpha, beta = (theta[..., k] for k in range(5))
    a, b = a * y_unit * np.exp(alpha * log_unit[0]), b * y_unit * np.exp(beta * log_unit[1])
    return columns(e * y_unit, a, b, alpha, beta)


def _grid(x: np.ndarray) -> np.ndarray:
    return np.stack(np.meshgrid(*exponents_over(np.log(x).T), indexing="ij"), axis=-1)


def _basis(nonlinear: np.ndarray, x: np.ndarray) -> np.ndarray:
    log_n, log_d = np.log(x[:, 0]), np.log(x[:, 1])
    power_n, power_d = np.exp(-nonlinear[:, :1] * log_n), np.exp(-nonlinear[:, 1:] * log_d)
    return np.stack([np.ones_like(power_n), power_n, power_d], axis=1)


additive = Law(
    "additive",
    "E + A N^-alpha + B D^-beta",
    "Hoffmann et al. 2022 (arXiv 2203.15556), approach 3; x is (N, D)",
    ("E", "A", "B", "alpha", "beta"),
    lower=(0.0,) * 5,
    upper=(np.inf,) * 5,
    value=_value,
    jacobian=_jacobian,
    inverse=_inverse,
    in_units=_in_units,
    grid=_grid,
    basis=_basis,
    linear=(0, 1, 2),
    nonlinear=(3, 4),
    mixed=("A", "B"),
    rate="alpha",
    offset="E",
    inputs=("N", "D"),
    num_starts=8,
)


def log_optimum(
    params: Mapping[str, Any], log_nd: np.ndarray | float
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """(log N, a) and (log D, b) of least L among all N and D whose product has this logarithm.

    N = G (N D)^a and D = (N D)^b / G: a = beta / (alpha + beta), b = 1 - a, G = (alpha A / (beta B))^(1 / (alpha +
    beta)). nan where alpha + beta is 0.

    Source: Hoffmann et al. 2022 (arXiv 2203.15556), Eq. 4.
    """
    a, b, alpha, beta = (np.asarray(params[name], dtype=float) for name in ("A", "B", "alpha", "beta"))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_g = (np.log(alpha) + np.log(a) - np.log(beta) - np.log(b)) / (alpha + beta)
        exponent = beta / (alpha + beta)
        log_n = log_g + exponent * log_nd
    return (log_n, exponent), (log_nd - log_n, 1 - exponent)
