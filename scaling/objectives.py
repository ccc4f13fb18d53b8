"""The criteria of a fit: what is made of the residuals. Always a sum over points, never a mean."""

from dataclasses import dataclass

import numpy as np

__all__ = ["OBJECTIVES", "Objective", "find_objective"]

LOG_HUBER_DELTA = 1e-3  # Hoffmann et al. 2022 (arXiv 2203.15556), approach 3: Huber loss on log L


@dataclass(frozen=True)
class Objective:
    """Sum over points of rho(residual), with residual f(x) - y or log f(x) - log y.

    rho(r) = r^2 / 2, and with a `delta` delta (|r| - delta / 2) beyond |r| = delta (Huber 1964).
    """

    name: str
    log: bool
    delta: float | None = None

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


OBJECTIVES = {
    objective.name: objective
    for objective in (
        Objective("least_squares", log=False),
        Objective("log_least_squares", log=True),
        Objective("huber", log=False, delta=LOG_HUBER_DELTA),
        Objective("log_huber", log=True, delta=LOG_HUBER_DELTA),
    )
}


def find_objective(name: str, delta: float | None = None) -> Objective:
    """The objective of that name, with another `delta` (its unit is the residual's) where one is given.

    Raises:
        ValueError: no objective has that name; a delta for one without, or one that is not positive.

    >>> find_objective("log_huber").delta
    0.001
    """
    if name not in OBJECTIVES:
        raise ValueError(f"objective must be one of {sorted(OBJECTIVES)}, got {name!r}")
    objective = OBJECTIVES[name]
    if delta is None:
        return objective
    if objective.delta is None or not 0 < delta < np.inf:
        raise ValueError(
            f"delta must be positive, finite and goes with a Huber objective, got delta={delta!r} for {name!r}"
        )
    return Objective(name, objective.log, delta)
