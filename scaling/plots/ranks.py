"""Figures of rank correlations between tasks, and of choosing by another task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from ..transfer import ChoiceLoss
from .legends import legend
from .style import BESIDE_COLOUR, STYLES, new_axes
from .words import shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["cell_digits", "digits_fit", "plot_choice_loss", "plot_rank_matrix"]

_CELL = 0.42  # inches: two digits that can be read on paper
_LEAST_CELL = 0.22  # inches: below it the digits of two cells lie on one another
_MARGIN = 2.0  # inches for the names of tasks
_BAR = 0.8  # inches for the bar of colours
_DARK = 0.6  # of a correlation, from which on white digits are read more easily


def plot_rank_matrix(matrix: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Spearman's correlations as a heat map, with two digits in each cell where they can be read.

    Args:
        matrix: from `rank_correlations`; the order of rows and columns is kept.
        ax: where to draw; without, a new figure as large as the matrix needs.
    """
    if matrix.empty:
        raise ValueError(f"the matrix must have rows and columns, got shape {matrix.shape}")
    values = matrix.to_numpy(dtype=float)
    height, width = (max(_CELL * size + _MARGIN, 4.0) for size in values.shape)
    are_readable = ax is None or digits_fit(ax, values.shape)
    ax = ax or new_axes(width + _BAR, height)
    image = ax.imshow(values, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    ax.set_xticks(range(values.shape[1]), labels=[shown_name(name) for name in matrix.columns], rotation=90)
    ax.set_yticks(range(values.shape[0]), labels=[shown_name(name) for name in matrix.index])
    ax.tick_params(length=0, labelsize="small")
    for (row, column), value in np.ndenumerate(values) if are_readable else ():
        colour = "white" if abs(value) > _DARK else "black"
        text = ax.text(column, row, cell_digits(value), ha="center", va="center", fontsize=8, color=colour)
        text.set_in_layout(False)  # inside the axes anyway; to measure each takes most of the time of a large figure
    bar = ax.figure.colorbar(image, ax=ax, shrink=min(1.0, 6 / len(values)), pad=0.01)
    bar.set_label("Spearman's rank correlation")
    return ax


def digits_fit(ax: Axes, shape: tuple[int, ...]) -> bool:
    """Whether two digits can be read in each cell of a matrix of that shape."""
    return ax.get_window_extent().width / ax.figure.dpi / shape[1] >= _LEAST_CELL


def cell_digits(value: float) -> str:
    """.87, -.12, 1.: no zero before the point, and a 1 only where it is one."""
    if abs(value) > 1 - 1e-9:
        return f"{value:.0f}"
    text = f"{np.clip(value, -0.99, 0.99):.2f}".replace("0.", ".", 1)
    return ".00" if text == "-.00" else text


def plot_choice_loss(result: ChoiceLoss, *, ax: Axes | None = None) -> Axes:
    """What a choice by the first task loses on the second beside a blind choice, at each upstream accuracy.

    Args:
        result: from `choice_loss`.
        ax: where to draw; a new figure without.
    """
    ax = ax or new_axes()
    table, (colour, marker) = result.table, STYLES[0]
    ax.vlines(table["upstream"], table["loss"], table["loss_at_random"], color="0.8", lw=1)
    by_task, blind = f"by the first task: mean {result.mean_loss:.4f}", f"blind: mean {result.mean_loss_at_random:.4f}"
    ax.plot(table["upstream"], table["loss"], marker, color=colour, ms=6, label=by_task)
    ax.plot(table["upstream"], table["loss_at_random"], "D", mfc="none", mec=BESIDE_COLOUR, ms=6, label=blind)
    ax.axhline(result.mean_loss, color=colour, lw=1.3)
    ax.axhline(result.mean_loss_at_random, color=BESIDE_COLOUR, lw=1.3, ls="--")
    saved = f"{result.saved:+.4f} saved, {result.level:.0%} interval {result.low:+.4f} to {result.high:+.4f}"
    ax.set_title(f"{saved} ({len(table)} bins)", fontsize="small", loc="left")
    ax.set(xlabel="upstream accuracy", ylabel="accuracy lost on the second task")
    top = 1.25 * max(table["loss"].max(), table["loss_at_random"].max(), 1e-6)  # room for the legend
    ax.set_ylim(-0.03 * top, top)
    legend(ax, "upper left")
    return ax
