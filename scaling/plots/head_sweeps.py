"""Figures of sweeps of the head's weight decay or learning rate."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from ..errors import FitWarning
from ..frames import check_columns, column_of
from ..transfer.head_sweeps import mean_errors
from .legends import legend
from .style import LAW_COLOUR, label_column, new_axes, style_of
from .words import column_label, probe_names, short_count

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SETTING_LABELS", "plot_head_sweep", "plot_wd_against_rank", "setting_axis", "setting_places"]

SETTING_LABELS = {
    "head_weight_decay": "weight decay of the head", "head_lr_multiplier": "learning rate of the head, times",
    "train_examples": "training images",
}  # fmt: skip
_LEFT_OF_LEAST = 10**0.7  # where 0 stands on a logarithmic axis: that factor below the least positive value
_LEAST_GAP = 0.09  # of the axis between two labels


def plot_head_sweep(
    records: pd.DataFrame, optima: pd.DataFrame, *, setting: str = "head_weight_decay", ax: Axes | None = None
) -> Axes:
    """Accuracy against the setting, a line a task, with its best value; an open marker is an optimum not bracketed.

    Args:
        records: what `head_optima` was given.
        optima: from `head_optima`; its rows are drawn, so that a part of them draws a part of the tasks.
        setting: the column of the values.
        ax: where to draw; a new figure without.
    """
    check_columns(optima, "task", "num_shots", "column", "best_value", "best_error", "status")
    if optima.empty:
        raise ValueError("optima must have rows, as head_optima gives them")
    ax = ax or new_axes(width=8.0)
    with warnings.catch_warnings(action="ignore", category=FitWarning):  # head_optima has said what it left out
        accuracy = 1 - mean_errors(records, setting, optima["column"].unique().tolist())
    values = accuracy.index.to_numpy(dtype=float)
    names = probe_names(optima)
    ends = []
    for name, (_, row) in zip(names, optima.iterrows(), strict=True):
        colour, marker = style_of(name, sorted(names))
        mean = accuracy[row["column"]]
        at = setting_places(values, values)
        ax.plot(at, mean, "-", marker=marker, ms=4, lw=1.3, color=colour, label=name)
        is_bracketed = row["status"] == "bracketed"
        best = setting_places(np.array([row["best_value"]]), values)
        face, edge = (colour, LAW_COLOUR) if is_bracketed else ("white", colour)
        ax.plot(best, 1 - row["best_error"], marker, ms=11, mfc=face, mec=edge, mew=1.5)
        ends.append((at[-1], mean.iloc[-1], colour))
    label_column(ax, ends[0][0], np.array([end[1] for end in ends]), names, [end[2] for end in ends])
    setting_axis(ax, values, setting)
    ax.set_xlim(right=ends[0][0] * (values.max() / setting_places(values, values).min()) ** 0.25)  # room for the names
    ax.set_ylabel("accuracy")
    ax.set_title("large marker: the best value; open: not bracketed", fontsize="small", loc="left")
    return ax


def plot_wd_against_rank(table: pd.DataFrame, *, setting: str = "head_weight_decay", ax: Axes | None = None) -> Axes:
    """Each task's best setting of the head against how well upstream accuracy ranks models for it.

    Args:
        table: from `optimum_against_rank`; an open marker is an optimum not bracketed.
        setting: for the label of the axis.
        ax: where to draw; a new figure without.
    """
    check_columns(table, "task", "num_shots", "best_value", "status", "rank_correlation")
    if table.empty:
        raise ValueError("the table must have rows, as optimum_against_rank gives them")
    ax = ax or new_axes(width=9.6)
    values, ranks = column_of(table, "best_value"), column_of(table, "rank_correlation")
    grid, places = np.unique(values, return_inverse=True)
    is_bracketed = (table["status"] == "bracketed").to_numpy()
    colour, marker = style_of("tasks", ["tasks"])
    for member, face, label in ((is_bracketed, colour, "bracketed"), (~is_bracketed, "white", "not bracketed")):
        if member.any():
            ax.plot(places[member], ranks[member], marker, color=colour, mfc=face, ms=7, label=label)
    low = min(ranks.min(), 0.0)
    ax.set(xlim=(-0.5, grid.size), ylim=(low - 0.08 * (1 - low), 1 + 0.05 * (1 - low)))
    names = probe_names(table if table["num_shots"].nunique() > 1 else table.drop(columns="num_shots"))
    for place in range(grid.size):
        column = np.flatnonzero(places == place)
        label_column(ax, place, ranks[column], [names[row] for row in column], ["0.25"] * column.size)
    ax.set_xticks(range(grid.size), labels=[f"{value:g}" for value in grid])
    ax.set_xlabel(f"best {SETTING_LABELS.get(setting, column_label(setting))} (the values found, not to scale)")
    ax.set_ylabel("rank correlation of upstream and downstream")
    legend(ax, "lower left")
    return ax


def setting_places(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Where values stand on a logarithmic axis, 0 left of the least positive one of the grid."""
    positive = grid[grid > 0]
    least = positive.min() if positive.size else 1.0
    return np.where(values > 0, values, least / _LEFT_OF_LEAST)


def _apart(grid: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The values of which no two are nearer on a logarithmic axis than a tenth of it, so that labels do not touch."""
    logs = np.log(places)
    gap, kept = _LEAST_GAP * np.ptp(logs), [0]
    for row in range(1, grid.size):
        if logs[row] - logs[kept[-1]] >= gap:
            kept.append(row)
    return grid[kept]


def setting_axis(ax: Axes, values: np.ndarray, setting: str) -> None:
    """A tick at each value, thinned where they are many, 0 named as such."""
    grid = np.unique(values)
    ticks = _apart(grid, setting_places(grid, values))
    ax.set_xscale("log")
    ax.set_xticks(setting_places(ticks, values), labels=[short_count(value) for value in ticks])
    ax.minorticks_off()
    ax.set_xlabel(SETTING_LABELS.get(setting, column_label(setting)))
