"""What the points say of the parameters, to first order: covariance, and the directions that they do not tell."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Covariance", "parameter_covariance"]

# Smallest singular value, relative to the largest, of the Jacobian with columns of norm one. Below it the rounding of
# doubles (2e-16) moves the parameters by more than 1e-7 of their size.
_SINGULAR = 2e-9
_COMPONENT = 1e-6  # of a unit vector along a direction that the points do not tell


@dataclass(frozen=True)
class Covariance:
    """Of the free parameters, in scaled units.

    Attributes:
        factor: shape (p, r): the covariance is factor @ factor.T on what the points tell.
        untold: unit vectors, shape (p, p - r), along which the points tell nothing, in units of each parameter's
            effect on the points.
        effects: what a unit of each parameter does to the residuals, shape (p,).
    """

    factor: np.ndarray
    untold: np.ndarray
    effects: np.ndarray

    def of(self, change: np.ndarray) -> np.ndarray:
        """Of quantities whose gradients are the rows of change (q, p): (q, q); nan for those that are not told."""
        factor = change @ self.factor
        matrix, hidden = factor @ factor.T, np.isinf(self.spread(change))
        matrix[hidden] = matrix[:, hidden] = np.nan
        return matrix

    def spread(self, gradient: np.ndarray) -> np.ndarray:
        """Standard deviation of quantities with that gradient (..., p); inf where the points do not tell them."""
        known = np.linalg.norm(gradient @ self.factor, axis=-1)
        relative = gradient / np.where(self.effects > 0, self.effects, 1.0)
        size = np.linalg.norm(relative, axis=-1, keepdims=True)
        hidden = np.abs(relative @ self.untold) > _COMPONENT * size
        return np.where(np.any(hidden, axis=-1), np.inf, known)


def parameter_covariance(jacobian: np.ndarray, variance: float) -> Covariance:
    """variance (J'J)^-1 for the residuals' Jacobian (n, p), by singular values."""
    if jacobian.shape[1] == 0:
        return Covariance(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0))
    effects = np.linalg.norm(jacobian, axis=0)
    scaled = jacobian / np.where(effects > 0, effects, 1.0)
    if not np.all(np.isfinite(scaled)):
        p = scaled.shape[1]
        return Covariance(np.zeros((p, 0)), np.eye(p), np.ones(p))
    _, sizes, directions = np.linalg.svd(scaled, full_matrices=scaled.shape[0] < scaled.shape[1])
    sizes = np.pad(sizes, (0, len(directions) - len(sizes)))
    told = sizes > _SINGULAR * max(float(sizes[0]), 1e-300)
    inverse = directions[told].T / sizes[told] / np.where(effects > 0, effects, 1.0)[:, None]
    return Covariance(np.sqrt(variance) * inverse, directions[~told].T, effects)
