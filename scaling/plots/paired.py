"""Figure of what one choice changes, seed by seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from ..inputs import check_columns, column_of
from .style import LAW_COLOUR, STYLES, new_axes, row_names
from .tables import name_rows

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["plot_paired_differences"]

_ROW_INCHES, _FRAME_INCHES = 0.45, 1.5
_RESULT = (
    "mean_a", "mean_b", "difference", "standard_error", "low", "high", "num_pairs", "num_unpaired",
)  # fmt: skip
_SHAPE = ("num_params", "width", "depth", "num_heads", "mlp_dim", "patch_size", "pooling")  # of a `model_variant`


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
    ax.set_xlabel(x_label)
    return ax


def _group_names(table: pd.DataFrame) -> list[str]:
    """Of models by family and variant where that is enough."""
    groups = [name for name in table.columns if name not in _RESULT]
    named = [name for name in groups if name not in _SHAPE]
    columns = named if named and not table.duplicated(named).any() else groups
    return row_names(table, columns).tolist() if columns else ["all"]
