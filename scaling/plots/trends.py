"""Figures of the parameters of Eq. 1 against the number of shots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from ..frames import check_columns
from ..transfer.trends import check_labels
from .legends import legend
from .style import label_column, new_axes, style_of
from .words import shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["plot_trends"]

_LABELS = {"k": "k", "alpha": "alpha", "e_ir": "irreducible error e_IR"}
_FEW_TASKS = 6  # so many tasks have their intervals drawn; more are a thicket
_NAMED_LINES = 14  # so many lines have their names
_FAR_OUT = 3.0  # interquartile ranges beyond the quartiles (Tukey 1977): one such value would rule the axis


def plot_trends(table: pd.DataFrame, param: str = "e_ir", *, ax: Axes | None = None) -> Axes:
    """A parameter against the number of shots: a thin line a task, and the median over tasks of each upstream set.

    The median is over the tasks that have a fit at every number of shots of their upstream set, so that it compares the
    same tasks; without any there is none. Lines have their names where they are few, and up to six tasks their
    intervals where the table has them. The axis is that of the bulk of the values: the title counts those beyond it.

    Args:
        table: from `fit_tasks`.
        param: "k", "alpha" or "e_ir".
        ax: where to draw; a new figure without.
    """
    check_columns(table, "task", "upstream", "num_shots", param)
    check_labels(table)
    if table["num_shots"].isna().all():
        raise ValueError("num_shots is null: a trend needs columns <task>_<k>shot_error of several k")
    shown = table[table["num_shots"].notna() & table[param].notna()]
    if shown.empty:
        raise ValueError(f"no row of the table has both num_shots and {param!r}")
    ax = ax or new_axes()
    names = sorted(shown["upstream"].astype(str).unique())
    has_intervals = shown["task"].nunique() <= _FEW_TASKS and f"{param}_low" in shown
    ends = []
    for name in names:
        part = shown[shown["upstream"].astype(str) == name].sort_values("num_shots")
        colour, marker = style_of(name, names)
        for task, line in part.groupby("task"):
            _draw_task(ax, line, param, colour, has_intervals)
            ends.append((float(line["num_shots"].iloc[-1]), float(line[param].iloc[-1]), str(task), colour))
        _draw_median(ax, part, param, name, colour, marker)
    shots = sorted({int(shot) for shot in shown["num_shots"]})
    ax.set(xscale="log", xlabel="shots (images a class)", ylabel=_LABELS.get(param, param))
    ax.set_xticks(shots, labels=[str(shot) for shot in shots])
    ax.minorticks_off()
    _clip(ax, shown, param, has_intervals)
    if len(ends) <= _NAMED_LINES:
        ax.margins(x=0.25)
        _name_lines(ax, ends)
    legend(ax, "best")
    return ax


def _draw_task(ax: Axes, line: pd.DataFrame, param: str, colour: str, has_intervals: bool) -> None:
    shots, values = line["num_shots"].to_numpy(dtype=float), line[param].to_numpy(dtype=float)
    ax.plot(shots, values, "-", lw=1, color=colour, alpha=0.4)
    if has_intervals:
        low, high = (line[f"{param}_{end}"].to_numpy(dtype=float) for end in ("low", "high"))
        ax.vlines(shots, low, high, color=colour, alpha=0.3, lw=1)


def _draw_median(ax: Axes, part: pd.DataFrame, param: str, name: str, colour: str, marker: str) -> None:
    """Of the tasks that have all numbers of shots: where one drops out a median would move for that alone."""
    by_task = part.pivot(index="num_shots", columns="task", values=param)
    complete = by_task.dropna(axis="columns")
    num, of_all = complete.shape[1], by_task.shape[1]
    if num == 0:
        ax.plot([], [], "-", color=colour, label=f"{shown_name(name)}: no task has all shots")
        return
    tasks = f"{num} tasks" if num == of_all else f"the {num} of {of_all} tasks with all shots"
    shots = complete.index.to_numpy(dtype=float)
    ax.plot(
        shots,
        complete.median(axis="columns"),
        marker=marker,
        ms=7,
        lw=2.5,
        color=colour,
        label=f"{shown_name(name)}: median of {tasks}",
    )


def _clip(ax: Axes, shown: pd.DataFrame, param: str, has_intervals: bool) -> None:
    """The axis of the values that are not far out, and of interval ends up to once their span beyond."""
    values = shown[param].to_numpy(dtype=float)
    first, third = np.quantile(values, [0.25, 0.75])
    reach = _FAR_OUT * (third - first)
    is_inside = (values >= first - reach) & (values <= third + reach)
    low, high = values[is_inside].min(), values[is_inside].max()
    span = max(high - low, 1e-6 * abs(high), 1e-9)
    bottom, top = low, high
    if has_intervals:
        bottom = max(np.nanmin([low, *shown[f"{param}_low"]]), low - span)
        top = min(np.nanmax([high, *shown[f"{param}_high"]]), high + span)
    margin = 0.05 * (top - bottom) + 1e-9
    ax.set_ylim(bottom - margin, top + margin)
    if not is_inside.all():
        text = f"{np.sum(~is_inside)} of {values.size} values lie outside the axis"
        ax.set_title(text, fontsize="small", loc="left")


def _name_lines(ax: Axes, ends: list[tuple[float, float, str, str]]) -> None:
    """Each line's name at its end, inside the axis."""
    bottom, top = ax.get_ylim()
    for last in sorted({end[0] for end in ends}):
        _, heights, tasks, colours = zip(*(end for end in ends if end[0] == last), strict=True)
        label_column(ax, last, np.clip(heights, bottom, top), tasks, colours)
