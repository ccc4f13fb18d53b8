"""The straight line of Cherti et al. 2023 (arXiv 2212.07143) through the best error of each bin of compute."""

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError
from ..inputs import check_whole
from .result import PublishedFit, check_curve, straight_line

__all__ = ["cherti2023"]

_NUM_BINS = 5
_BEYOND = 0.1  # decades by which the last bin ends after the largest x


def cherti2023(x: ArrayLike, y: ArrayLike, *, num_bins: int = _NUM_BINS) -> PublishedFit:
    """y = a x^-b: a line through (bin centre, log10 of the least y in the bin), over equal bins of log10 x.

    Args:
        x: total compute (the paper: GMAC a sample times samples seen); positive, shape (n,).
        y: error rates; positive, shape (n,).
        num_bins: of [min, max + 0.1] of log10 x; an empty one is left out.

    Raises:
        ValueError: a row of x or y is not positive and finite, or num_bins is below 2.
        FitError: fewer than 2 points or filled bins, or all x or all y equal.

    >>> fit = cherti2023([1e9, 1e10, 1e11, 1e12], [0.8, 0.6, 0.45, 0.34])
    >>> round(fit.params["b"], 2)
    0.14
    """
    check_whole("num_bins", num_bins, 2)
    x, y = check_curve("cherti2023", x, y, min_points=2)
    log_x, log_y = np.log10(x), np.log10(y)
    edges = np.linspace(log_x.min(), log_x.max() + _BEYOND, num_bins + 1)
    bin_of_point = np.searchsorted(edges, log_x, side="right") - 1
    filled = np.unique(bin_of_point)
    if filled.size < 2:
        raise FitError(f"'cherti2023' needs points in at least 2 of {num_bins} bins of log10 x, got {filled.size}")
    centres = (edges[filled] + edges[filled + 1]) / 2
    least = np.array([log_y[bin_of_point == index].min() for index in filled])
    intercept, slope = straight_line(centres, least)
    return PublishedFit(
        "cherti2023", "power", {"a": 10.0**intercept, "b": -slope},
        float(np.sum((least - intercept - slope * centres) ** 2)), num_iterations=1, num_starts=1, converged=True,
        note="the least error of a bin is moved to the bin's centre, and there is no irreducible error",
        source="Cherti et al. 2023 (arXiv 2212.07143), scaling laws of zero-shot and linear-probe error",
    )  # fmt: skip
