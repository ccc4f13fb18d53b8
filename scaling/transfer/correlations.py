"""Pearson's and Spearman's correlation of two quantities."""

from typing import Any

import numpy as np

__all__ = ["is_constant", "pearson", "spearman"]

_ROUNDING = 8 * np.finfo(float).eps  # of the largest value: 1 - .7 and .3 are one number


def is_constant(values: np.ndarray, axis: int | None = None) -> Any:
    """Whether values differ by no more than rounding; along an axis an array."""
    spread = np.max(values, axis=axis) - np.min(values, axis=axis)
    return spread <= _ROUNDING * np.max(np.abs(values), axis=axis)


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """In [-1, 1]; nan where x or y is constant.

    >>> pearson(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])).__round__(6)
    0.5
    """
    if is_constant(x) or is_constant(y):
        return float("nan")
    return float(np.clip(np.corrcoef(x, y)[0, 1], -1.0, 1.0))


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """In [-1, 1]; ties share the mean of their ranks; nan where x or y is constant.

    >>> spearman(np.array([1.0, 2.0, 30.0]), np.array([1.0, 3.0, 2.0])).__round__(6)
    0.5
    """
    from scipy.stats import rankdata

    return float("nan") if is_constant(x) or is_constant(y) else pearson(rankdata(x), rankdata(y))
