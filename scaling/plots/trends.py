"""Figures of the parameters of Eq. 1 against the number of shots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from ..inputs import check_columns
from .style import label_column, legend, new_axes, style_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["plot_trends"]

_LABELS = {"k": "k", "alpha": "alpha", "e_ir": "irreducible error e_IR"}
_FEW_TASKS = 6  # that many lines have their names and intervals drawn; more are a thicket


def plot_trends(table: pd.DataFrame, param: str = "e_ir", *, ax: Axes | None = None) -> Axes:
    """A parameter against the number of shots: a thin line a task, and the median over tasks of each upstream set.

    Up to six tasks have their names, and their intervals where the table has them. The median is over the tasks that
    have a fit at that number of shots: where some have none, it is over others than beside it.

    Args:
        table: from `fit_tasks`.
        param: "k", "alpha" or "e_ir".
        ax: where to draw; a new figure without.
    """
    check_columns(table, "task", "upstream", "num_shots", param)
    shown = table[table["num_shots"].notna() & table[param].notna()]
    if shown.empty:
        raise ValueError(f"no row of the table has both num_shots and {param!r}")
    ax = ax or new_axes()
    names = sorted(shown["upstream"].astype(str).unique())
    is_few = shown["task"].nunique() <= _FEW_TASKS
    ends = []
    for name in names:
        part = shown[shown["upstream"].astype(str) == name].sort_values("num_shots")
        colour, marker = style_of(name, names)
        for task, line in part.groupby("task"):
            _draw_task(ax, line, param, colour, is_few)
            ends.append((float(line["num_shots"].iloc[-1]), float(line[param].iloc[-1]), str(task), colour))
        middle = part.groupby("num_shots")[param].median()
        label = f"{name}: median of {part['task'].nunique()} tasks"
        ax.plot(middle.index.astype(float), middle, marker=marker, ms=7, lw=2.5, color=colour, label=label)
    shots = sorted({int(shot) for shot in shown["num_shots"]})
    ax.set(xscale="log", xlabel="shots (images a class)", ylabel=_LABELS.get(param, param))
    ax.set_xticks(shots, labels=[str(shot) for shot in shots])
    ax.minorticks_off()
    if is_few:
        ax.margins(x=0.25)
        last = max(end[0] for end in ends)
        _, heights, tasks, colours = zip(*ends, strict=True)
        label_column(ax, last, np.array(heights), tasks, colours)
    legend(ax, "best")
    return ax


def _draw_task(ax: Axes, line: pd.DataFrame, param: str, colour: str, with_interval: bool) -> None:
    shots, values = line["num_shots"].to_numpy(dtype=float), line[param].to_numpy(dtype=float)
    ax.plot(shots, values, "-", lw=1, color=colour, alpha=0.4)
    if with_interval and f"{param}_low" in line:
        low, high = (line[f"{param}_{end}"].to_numpy(dtype=float) for end in ("low", "high"))
        ax.vlines(shots, low, high, color=colour, alpha=0.3, lw=1)
