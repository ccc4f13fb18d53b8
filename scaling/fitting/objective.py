"""What a criterion of a fit is: what is made of the distance of law and data. A sum over points, never a mean."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..laws.base import Link

__all__ = ["IDENTITY", "LOG", "Objective"]

IDENTITY = Link("identity", lambda y: y, np.ones_like, lambda z: z)
LOG = Link("log", np.log, np.reciprocal, np.exp)


@dataclass(frozen=True)
class Objective:
    """Sum over points of rho(residual), with residual T(f(x)) - T(y) over its scale; T is the `link`.

    rho(r) = r^2 / 2, and with a `delta` delta (|r| - delta / 2) beyond |r| = delta (Huber 1964). `binomial` is minus
    the log likelihood of y = k / num_eval up to a constant: num_eval times the Kullback-Leibler divergence of f from
    y; its residual is Pearson's, (f - y) / sqrt(f (1 - f) / num_eval).
    """

    name: str
    link: Link
    delta: float | None = None

    @property
    def log(self) -> bool:
        """Whether residuals are in log y."""
        return self.link is LOG

    def __reduce__(self) -> tuple[Any, ...]:
        """An objective is its name and delta: so a fit can be pickled and copied."""
        from .objectives import find_objective

        return find_objective, (self.name, self.delta)

    @property
    def is_binomial(self) -> bool:
        return self.name == "binomial"

    def residual_unit(self, y_unit: float) -> float:
        """What scaled residuals are divided by to be in the user's unit of y, or of log y: a delta's unit."""
        return 1.0 if self.log else 1 / y_unit

    def residual(self, f: np.ndarray, y: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Shape of f. For `binomial` the scale is 1 / sqrt(num_eval)."""
        if self.is_binomial:
            return (f - y) * self.residual_slope(f, scale)
        return (self.link.forward(f) - self.link.forward(y)) / scale

    def residual_slope(self, f: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """d residual / df; for `binomial` the one of Fisher's scoring, which leaves the spread as it is."""
        if self.is_binomial:
            return 1 / (np.sqrt(f * (1 - f)) * scale)
        return self.link.slope(f) / scale

    def value(self, f: np.ndarray, y: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """The term of each point; nan where the law is not defined."""
        if self.is_binomial:
            return _divergence(y, f) / scale**2
        return self.rho(self.residual(f, y, scale))

    def rho(self, r: np.ndarray) -> np.ndarray:
        if self.delta is None:
            return r * r / 2
        size = np.abs(r)
        return np.where(size <= self.delta, r * r / 2, self.delta * (size - self.delta / 2))

    def slope_over_residual(self, r: np.ndarray) -> np.ndarray:
        """rho'(r) / r, in (0, 1]: the weights of iteratively reweighted least squares."""
        if self.delta is None:
            return np.ones_like(r)
        return self.delta / np.maximum(np.abs(r), self.delta)

    def curvature(self, r: np.ndarray) -> np.ndarray:
        """rho''(r): 1 near, 0 beyond delta."""
        return np.ones_like(r) if self.delta is None else (np.abs(r) <= self.delta).astype(float)


def _divergence(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    """y log(y / f) + (1 - y) log((1 - y) / (1 - f)), at least 0."""
    from scipy.special import kl_div

    return np.where((f > 0) & (f < 1), kl_div(y, f) + kl_div(1 - y, 1 - f), np.nan)
