"""Figure of a tuning: the error of every value that was tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ..frames import check_columns, column_of
from .legends import legend_beside
from .style import STYLES, new_axes, shades
from .words import shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["plot_tuning"]

_LABELS = {"lr": "learning rate", "weight_decay": "weight decay", "head_weight_decay": "weight decay of the head"}
_AT_TOP = 0.97  # height of the crosses of diverged runs, as a share of the axis


def plot_tuning(
    table: pd.DataFrame, *, setting: str = "lr", y: str = "upstream_error", label: str = "model_variant",
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Error against what was tuned, two lines a cell: held-out (solid) and on the evaluation set (dashed).

    A large marker is the chosen value, open where it lies at the end of those tried; crosses at the top are values at
    which a run diverged. Where more was tuned than `setting`, each point is the best of the rest by its held-out score.

    Args:
        table: from `tuning_table`; its rows are drawn, so that a part of them draws a part of the cells.
        setting: the column across, positive.
        y: the column of the error on the evaluation set.
        label: the column that names the lines; cells of one name have one colour.
        ax: where to draw; a new figure without.
    """
    check_columns(table, "cell", "choice_score", "is_chosen", "edge", setting, y, label)
    if table.empty:
        raise ValueError("the table must have rows, as tuning_table gives them")
    ax = ax or new_axes()
    column_of(table, setting)
    names = list(dict.fromkeys(table[label].astype(str)))
    colours, has_score = shades(len(names)), np.isfinite(table["choice_score"])
    for _, cell in table.groupby("cell"):
        name = str(cell[label].iloc[0])
        place = names.index(name)
        _draw_cell(ax, cell[has_score[cell.index]], setting, y, colours[place], STYLES[place % len(STYLES)][1])
    lost = np.unique(table.loc[~has_score, setting].to_numpy(dtype=float))
    ax.plot(lost, np.full(lost.size, _AT_TOP), "x", color="0.4", transform=ax.get_xaxis_transform())
    if (table[setting] > 0).all():
        ax.set_xscale("log")
    handles = [
        Line2D([], [], color=tuple(colour), marker=STYLES[place % len(STYLES)][1], label=shown_name(name))
        for place, (name, colour) in enumerate(zip(names, colours, strict=True))
    ]
    handles += [
        Line2D([], [], color="0.4", ls=style, label=of) for style, of in (("-", "held out"), ("--", "evaluation"))
    ]
    legend_beside(ax, handles=handles, fontsize="small")
    ax.set(xlabel=_LABELS.get(setting, shown_name(setting.replace("_", " "))), ylabel="error")
    ax.set_title("large: chosen; open: at the end of the range; x: diverged", fontsize="small", loc="left")
    return ax


def _draw_cell(ax: Axes, cell: pd.DataFrame, setting: str, y: str, colour: np.ndarray, marker: str) -> None:
    """Means over seeds, where the table has several."""
    if cell.empty:
        return
    best = cell.groupby(setting)["choice_score"].transform("min")
    of_value = cell[cell["choice_score"] == best].groupby(setting)
    score, error = of_value["choice_score"].mean(), of_value[y].mean()
    ax.plot(score.index, score, "-", marker=marker, ms=4, lw=1.3, color=colour)
    ax.plot(error.index, error, "--", lw=1.0, color=colour)
    chosen = cell[cell["is_chosen"]].head(1)
    face = "white" if (chosen["edge"] != "").any() else colour
    ax.plot(chosen[setting], chosen["choice_score"], marker, ms=10, mfc=face, mec=colour, mew=1.5)
