"""The share of an error that a better model takes away."""

import numpy as np
from numpy.typing import ArrayLike

from ..inputs import check_fractions
from .labels import check_shapes

__all__ = ["error_cut"]


def error_cut(error_old: ArrayLike, error_new: ArrayLike) -> np.ndarray:
    """(error_old - error_new) / error_old, elementwise: the relative cut of an error; negative where it grew.

    Near the ceiling a small difference of accuracies is a large cut, and the label noise of the test set is part of the
    error: no model can take that away.

    Args:
        error_old, error_new: errors as fractions, of shapes that broadcast.

    Raises:
        ValueError: an error outside [0, 1] (percent?), an old error of 0, of which there is no share, or shapes that do
            not broadcast.

    Source: Table 2 of Dosovitskiy et al. 2020 (arXiv 2010.11929), as error rates.

    >>> error_cut([1 - 0.8754, 1 - 0.9937], [1 - 0.8855, 1 - 0.9950]).round(2)
    array([0.08, 0.21])
    """
    check_shapes(error_old=error_old, error_new=error_new)
    old, new = check_fractions("error_old", error_old), check_fractions("error_new", error_new)
    if np.any(old == 0):
        raise ValueError(f"error_old must be above 0; row {np.flatnonzero(old == 0)[0]} is 0: there is nothing to cut")
    return (old - new) / old
