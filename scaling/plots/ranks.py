"""Figures of rank correlations between tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from .style import new_axes

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["plot_rank_matrix"]

_CELL = 0.42  # inches: two digits that can be read on paper
_MARGIN = 2.0  # inches for the names of tasks
_BAR = 0.8  # inches for the bar of colours
_DARK = 0.6  # of a correlation, from which on white digits are read more easily


def plot_rank_matrix(matrix: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Spearman's correlations as a heat map with two digits in each cell.

    Args:
        matrix: from `rank_correlations`; the order of rows and columns is kept.
        ax: where to draw; without, a new figure as large as the matrix needs.
    """
    values = matrix.to_numpy(dtype=float)
    height, width = (max(_CELL * size + _MARGIN, 4.0) for size in values.shape)
    ax = ax or new_axes(width + _BAR, height)
    image = ax.imshow(values, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    ax.set_xticks(range(values.shape[1]), labels=[str(name) for name in matrix.columns], rotation=90)
    ax.set_yticks(range(values.shape[0]), labels=[str(name) for name in matrix.index])
    ax.tick_params(length=0, labelsize="small")
    for (row, column), value in np.ndenumerate(values):
        colour = "white" if abs(value) > _DARK else "black"
        ax.text(column, row, _digits(value), ha="center", va="center", fontsize=8, color=colour)
    bar = ax.figure.colorbar(image, ax=ax, shrink=min(1.0, 6 / len(values)), pad=0.01)
    bar.set_label("Spearman's rank correlation")
    return ax


def _digits(value: float) -> str:
    """.87, -.12, 1.: no zero before the point, and a 1 only where it is one."""
    if abs(value) > 1 - 1e-9:
        return f"{value:.0f}"
    text = f"{np.clip(value, -0.99, 0.99):.2f}".replace("0.", ".", 1)
    return ".00" if text == "-.00" else text
