"""Figures of what holds a grid of runs back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from ..frontier import Bottlenecks
from .legends import legend
from .style import LAW_COLOUR, STYLES, error_axis, new_axes, shades
from .words import short_count, shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["plot_bottlenecks"]

_EDGE = 0.15  # of the width: a name there is drawn to the inside
_NEAR = 0.05  # of the width of the axes: two names that near to each other overlap
_ROOM = 0.06  # of the height, below the best error, for its name
_ORDER = {"data": "data", "model": "size"}
_PANELS = {"model": ("size", "data"), "data": ("data", "model")}


def plot_bottlenecks(
    found: Bottlenecks, panel: str = "model", *, ax: Axes | None = None, x_label: str | None = None,
    y_label: str = "best error",
) -> Axes:  # fmt: skip
    """Best error against the size of the model, or of the data, for each of the other, and the best of all.

    Where a line runs level, the other axis holds the runs back. Against data it joins the points of a model, and rises
    where they differ in more, such as their duration; against model size, of which several models may be alike, it is
    the best error at that size or less. A cell whose best run is not its longest has a cross.

    Args:
        found: from `bottlenecks`.
        panel: "model" or "data", the axis of x.
        ax: where to draw; a new figure without.
        x_label: without, "parameters" or "training images".
    """
    if panel not in _PANELS:
        raise ValueError(f"panel must be one of {tuple(_PANELS)}, got {panel!r}")
    ax = ax or new_axes()
    across, lines = _PANELS[panel]
    cells, best = found.cells, found.by_model if panel == "model" else found.by_data
    parts = list(cells.sort_values([_ORDER[lines], across]).groupby(lines, sort=False))
    colours = shades(len(parts))  # from small to large
    for place, (name, line) in enumerate(parts):
        label, marker = (
            f"{short_count(name)} images" if lines == "data" else shown_name(name),
            STYLES[place % len(STYLES)][1],
        )
        joined = line["error"].cummin() if panel == "model" else line["error"]
        ax.plot(line[across], joined, "-", color=colours[place], lw=1.2)
        ax.plot(line[across], line["error"], marker, color=colours[place], ms=5, mew=0)
        ax.plot([], [], marker + "-", color=colours[place], ms=5, lw=1.2, mew=0, label=label)
    ax.plot(best[across], best["error"], "o", mfc="none", mec=LAW_COLOUR, ms=10, label=f"best of each {panel} size")
    worse = cells[~cells["is_longest"]]
    if len(worse):
        ax.plot(worse[across], worse["error"], "x", color=LAW_COLOUR, ms=8, mew=1.5, label="longer was worse")
    if panel == "model":
        ax.plot([], [], "-", color="0.5", lw=1.2, label="lines: best at that size or less")
    labels = {"model": "model size (parameters)", "data": "size of the data (training images)"}
    ax.set(xscale="log", xlabel=x_label or labels[panel], ylabel=y_label)
    shown = cells.loc[cells["error"] > 0, "error"].to_numpy(dtype=float)
    if shown.size:  # a logarithmic axis has no place for an error of 0
        ax.set_yscale("log")
        error_axis(ax, shown)
        bottom, top = ax.get_ylim()
        ax.set_ylim(bottom / (top / bottom) ** _ROOM, top)
    _name_best(ax, best, across)
    legend(ax, "best")
    return ax


def _name_best(ax: Axes, best: pd.DataFrame, across: str) -> None:
    """Names of the best models that no smaller size beats, below their points, where the next one leaves room."""
    named = best[best["error"] <= best["error"].cummin()]
    gaps = np.append(np.diff(np.log(named[across])), np.inf)
    left, right = ax.get_xlim()
    for row in named[gaps > _NEAR * np.log(right / left)].itertuples():
        share = np.log(getattr(row, across) / left) / np.log(right / left)
        side = "left" if share < _EDGE else "right" if share > 1 - _EDGE else "center"
        below = {"textcoords": "offset points", "xytext": (0, -9), "ha": side, "va": "top", "fontsize": "small"}
        ax.annotate(shown_name(row.model), (getattr(row, across), row.error), color=LAW_COLOUR, **below)
