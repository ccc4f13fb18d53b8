"""A fit as a minimisation in scaled units: x over its geometric mean, y over its own, so that a change of the user's
units changes nothing but the amplitude."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..laws import Law
from ..laws.base import Link
from .objective import Objective

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """A law to be fitted to y at x, in scaled units.

    Attributes:
        x: shape (n,), positive; (n, 2) for the law of two inputs.
        y: shape (n,) or (batch, n).
        weights: how often each point counts, shape (batch, n).
        residual_scale: standard deviation of each residual up to a common factor, shape (n,); ones without weights.
        lower, upper: bounds of the parameters, shape (num_params,) or (batch, num_params).
    """

    law: Law
    objective: Objective
    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    residual_scale: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @cached_property
    def criterion(self) -> Objective:
        """The objective on the scale on which the law is straight, where it has one."""
        return self.objective if self.law.link is None else replace(self.objective, link=self.law.link)

    @property
    def link(self) -> Link:
        return self.criterion.link

    @cached_property
    def in_log(self) -> np.ndarray:
        """Which parameters are moved by factors, shape (num_params,)."""
        return np.array([name in self.law.in_log for name in self.law.params])

    @cached_property
    def total_weight(self) -> np.ndarray:
        """Sum of the weights in units of residuals that are one, shape (batch,)."""
        return np.sum(self.weights / self.residual_scale**2, axis=-1)

    def rows(self, index: np.ndarray) -> "Problem":
        """The same problem for some members of the batch."""
        per_member = {"weights": self.weights[index]}
        if self.y.ndim == 2:
            per_member["y"] = self.y[index]
        if self.lower.ndim == 2:
            per_member |= {"lower": self.lower[index], "upper": self.upper[index]}
        return replace(self, **per_member)

    def repeated(self, num: int) -> "Problem":
        """A batch of `num` equal members, of a problem of one."""
        return replace(self, weights=np.broadcast_to(self.weights, (num, self.weights.shape[-1])))

    def residuals(self, theta: np.ndarray) -> np.ndarray:
        """T(f(x)) - T(y) over its scale, shape (batch, n)."""
        with np.errstate(all="ignore"):
            return self.criterion.residual(self.law.value(theta, self.x), self.y, self.residual_scale)

    def value(self, theta: np.ndarray) -> np.ndarray:
        """The objective, shape (batch,); inf where the law is not defined."""
        with np.errstate(all="ignore"):
            terms = self.criterion.value(self.law.value(theta, self.x), self.y, self.residual_scale)
            total = np.sum(np.where(self.weights > 0, self.weights * terms, 0.0), axis=-1)
        return np.where(np.isnan(total), np.inf, total)

    def residual_jacobian(self, theta: np.ndarray) -> np.ndarray:
        """d residual / d theta, shape (batch, n, num_params)."""
        slope = self.criterion.residual_slope(self.law.value(theta, self.x), self.residual_scale)
        return self.law.jacobian(theta, self.x) * slope[..., None]
