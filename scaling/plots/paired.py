"""Figure of what one choice changes, seed by seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from ..frames import check_columns, column_of
from .style import LAW_COLOUR, STYLES, new_axes
from .tables import name_rows
from .words import MODEL_LABEL, row_names, shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["plot_paired_differences"]

_ROW_INCHES, _FRAME_INCHES = 0.45, 1.5
_RESULT = (
    "mean_a", "mean_b", "difference", "standard_error", "low", "high", "num_pairs", "num_unpaired",
)  # fmt: skip


def plot_paired_differences(
    table: pd.DataFrame, *, ax: Axes | None = None, x_label: str = "difference, b less a"
) -> Axes:
    """The mean difference of each group with its interval; open where the interval holds 0 or there is one pair.

    Args:
        table: from `paired_difference`.
        ax: where to draw; a new figure without.
        x_label: of the axis: the quantity, its unit, and which choice is subtracted from which.
    """
    check_columns(table, *_RESULT)
    if table.empty:
        raise ValueError("the table must have rows, as paired_difference gives them")
    ax = ax or new_axes(height=max(2.6, _ROW_INCHES * len(table) + _FRAME_INCHES))
    names = _group_names(table)
    difference, place = column_of(table, "difference"), np.arange(len(table))
    low, high = table["low"].to_numpy(dtype=float), table["high"].to_numpy(dtype=float)
    has_interval = np.isfinite(low) & np.isfinite(high)
    is_clear = has_interval & ((low > 0) | (high < 0))
    colour, marker = STYLES[0]
    ax.axvline(0, color="0.3", lw=1)
    ax.hlines(place[has_interval], low[has_interval], high[has_interval], color=colour, lw=2)
    ax.plot(difference[is_clear], place[is_clear], marker, color=colour, ms=8)
    ax.plot(difference[~is_clear], place[~is_clear], marker, mfc="white", mec=colour, mew=1.5, ms=8)
    for row, num in enumerate(table["num_pairs"]):
        text = f"{difference[row]:+.3g} ({num} pair{'s' if num > 1 else ', no interval'})"
        above = {"textcoords": "offset points", "xytext": (0, 7), "ha": "center", "fontsize": "x-small"}
        ax.annotate(text, (difference[row], row), color=LAW_COLOUR, **above)
    name_rows(ax, names)
    ax.set_xmargin(0.15)
    ax.locator_params(axis="x", nbins=6)  # beside long names the axes are narrow
    ax.set_xlabel(x_label)
    return ax


def _group_names(table: pd.DataFrame) -> list[str]:
    """By family and variant, and by as few of the other columns as tell the groups apart."""
    columns = [name for name in table.columns if name not in _RESULT]
    for name in reversed(columns):
        others = [other for other in columns if other != name]
        if name not in MODEL_LABEL and others and not table.duplicated(others).any():
            columns = others
    return [shown_name(name) for name in row_names(table, columns)] if columns else ["all"]
