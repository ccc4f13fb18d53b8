"""Error of one shape dimension x and of training compute t: alpha x^-a + (beta x^b + xi) t^-c + eps."""

from __future__ import annotations

import numpy as np

from ..laws.base import Law, columns, exponents_over

__all__ = ["SHAPE_LAW", "log_optimum", "shape_law"]

_EVERY = 6  # of the exponents that a scan of one variable takes: three are scanned together


def _powers(theta: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    log_x, log_t = np.log(x[:, 0]), np.log(x[:, 1])
    a, b, c = (theta[..., k : k + 1] for k in (4, 5, 6))
    return log_x, log_t, np.exp(-a * log_x), np.exp(b * log_x - c * log_t), np.exp(-c * log_t)


def _value(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    eps, alpha, beta, xi = (theta[..., k : k + 1] for k in range(4))
    _, _, falling, rising, level = _powers(theta, x)
    return eps + alpha * falling + beta * rising + xi * level


def _jacobian(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    _, alpha, beta, xi = (theta[..., k : k + 1] for k in range(4))
    log_x, log_t, falling, rising, level = _powers(theta, x)
    out = np.ones((*falling.shape, 7))
    out[..., 1], out[..., 2], out[..., 3] = falling, rising, level
    out[..., 4] = -alpha * log_x * falling
    out[..., 5] = beta * log_x * rising
    out[..., 6] = -log_t * (beta * rising + xi * level)
    return out


def _inverse(theta: np.ndarray, y: np.ndarray) -> np.ndarray:
    raise ValueError("solve_for_x needs a law of one input; the law of a shape has a curve of (x, t) at each value")


def _in_units(theta: np.ndarray, x_unit: np.ndarray, y_unit: float) -> np.ndarray:
    log_x, log_t = np.log(np.broadcast_to(np.asarray(x_unit, dtype=float), (2,)))
    eps, alpha, beta, xi, a, b, c = (theta[..., k] for k in range(7))
    return columns(
        eps * y_unit, alpha * y_unit * np.exp(a * log_x), beta * y_unit * np.exp(c * log_t - b * log_x),
        xi * y_unit * np.exp(c * log_t), a, b, c,
    )  # fmt: skip


def _grid(x: np.ndarray) -> np.ndarray:
    over_x, over_t = (over[::_EVERY] for over in exponents_over(np.log(x).T))
    return np.stack(np.meshgrid(over_x, over_x, over_t, indexing="ij"), axis=-1)


def _basis(nonlinear: np.ndarray, x: np.ndarray) -> np.ndarray:
    log_x, log_t = np.log(x[:, 0]), np.log(x[:, 1])
    a, b, c = (nonlinear[:, k : k + 1] for k in range(3))
    falling, rising, level = np.exp(-a * log_x), np.exp(b * log_x - c * log_t), np.exp(-c * log_t)
    return np.stack([np.ones_like(falling), falling, rising, level], axis=1)


def shape_law() -> Law:
    """The law of one shape dimension."""
    return Law(
        "shape",
        "alpha x^-a + (beta x^b + xi) t^-c + eps",
        "Alabdulmohsin et al. 2023 (arXiv 2305.13035); x is (dimension, compute)",
        ("eps", "alpha", "beta", "xi", "a", "b", "c"),
        lower=(0.0,) * 7,
        upper=(np.inf,) * 7,
        value=_value,
        jacobian=_jacobian,
        inverse=_inverse,
        in_units=_in_units,
        grid=_grid,
        basis=_basis,
        linear=(0, 1, 2, 3),
        nonlinear=(4, 5, 6),
        mixed=("alpha", "beta", "xi"),
        rate="a",
        offset="eps",
        inputs=("x", "t"),
        num_starts=16,
        maker=(shape_law, ()),
    )


SHAPE_LAW = shape_law()


def log_optimum(params: dict, log_t: np.ndarray) -> np.ndarray:
    """log x at the least error at compute t: x = (a alpha t^c / (b beta))^(1 / (a + b)).

    d/dx of alpha x^-a + beta x^b t^-c is 0 there; xi and eps do not matter.

    >>> law = {"alpha": 2.0, "beta": 1.0, "a": 1.0, "b": 2.0, "c": 0.3}
    >>> float(np.exp(log_optimum(law, np.log(1e10))).round(6))  # grows as t^(0.3 / (1 + 2))
    10.0
    """
    alpha, beta, a, b, c = (np.asarray(params[name], dtype=float) for name in ("alpha", "beta", "a", "b", "c"))
    with np.errstate(divide="ignore", invalid="ignore"):
        return (np.log(a) + np.log(alpha) - np.log(b) - np.log(beta) + c * log_t) / (a + b)
