"""Curves of loss against compute at common values of compute, to see which is the lowest where."""

import numpy as np

__all__ = ["compute_grid", "curve_on_grid"]

_NUM_COMPUTE = 1500  # log-spaced, as Hoffmann et al. 2022


def compute_grid(log_c: np.ndarray) -> np.ndarray:
    """1500 values of log compute over the range of the runs."""
    return np.linspace(log_c.min(), log_c.max(), _NUM_COMPUTE)


def curve_on_grid(log_c: np.ndarray, values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Values of one curve's points, linear in log compute between them and inf beyond them, so that no minimum is there.

    >>> curve_on_grid(np.array([2.0, 1.0]), np.array([0.3, 0.5]), np.array([0.0, 1.0, 1.5, 3.0]))
    array([inf, 0.5, 0.4, inf])
    """
    order = np.argsort(log_c, kind="stable")
    return np.interp(grid, log_c[order], values[order], left=np.inf, right=np.inf)
