"""Curves of loss against compute at common values of compute, to see which is the lowest where."""

import numpy as np

__all__ = ["compute_grid", "curve_on_grid"]

_NUM_COMPUTE = 1500  # log-spaced, as Hoffmann et al. 2022


def compute_grid(log_c: np.ndarray) -> np.ndarray:
    """1500 values of log compute over the range of the runs."""
    return np.linspace(log_c.min(), log_c.max(), _NUM_COMPUTE)


def curve_on_grid(log_c: np.ndarray, values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Values of one curve's points, linear in log compute between them, inf beyond them, so that no minimum is there.

    Of points at one compute, such as seeds, the mean.

    >>> curve_on_grid(np.array([2.0, 1.0]), np.array([0.3, 0.5]), np.array([0.0, 1.0, 1.5, 3.0]))
    array([inf, 0.5, 0.4, inf])
    """
    at, place, counts = np.unique(log_c, return_inverse=True, return_counts=True)
    means = np.bincount(place.ravel(), weights=values) / counts
    return np.interp(grid, at, means, left=np.inf, right=np.inf)
