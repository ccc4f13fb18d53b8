"""Figures of models on one task's hull, seen on the hulls of other tasks."""

import numpy as np
from matplotlib.axes import Axes

from ..transfer import HullOverlay
from ..transfer.hull_distance import hull_line
from .legends import legend
from .style import BESIDE_COLOUR, LAW_COLOUR, new_axes, style_of
from .words import task_title

__all__ = ["plot_hull_gap", "plot_hull_overlay"]


def plot_hull_overlay(overlay: HullOverlay, task: str, *, ax: Axes | None = None) -> Axes:
    """All models on a task, the task's hull, and on it the models of the other task's hull, each with its gap.

    Args:
        overlay: from `overlay_hull`.
        task: one of its tasks.
        ax: where to draw; a new figure without.

    Raises:
        ValueError: a task that the overlay does not have.
    """
    part = overlay.table[overlay.table["task"] == task]
    if part.empty:
        raise ValueError(f"task must be one of {overlay.trend['task'].tolist()}, got {task!r}")
    ax = ax or new_axes()
    us, ds = overlay.upstream, overlay.downstream[task]
    ax.plot(us, ds, ".", color="0.7", ms=3, mew=0, label="models", rasterized=us.size > 1000)
    ax.plot(*hull_line(us, ds, overlay.anchors), "-", color=LAW_COLOUR, lw=1.5, label=f"hull of {task_title(task)}")
    at, below, above = (part[name].to_numpy() for name in ("upstream_accuracy", "downstream_accuracy", "hull_accuracy"))
    ax.vlines(at, below, above, color=BESIDE_COLOUR, lw=1)
    ax.plot(at, below, "D", color=BESIDE_COLOUR, ms=4, label=f"models on the hull of {task_title(overlay.of)}")
    ax.set(xlabel="upstream accuracy", ylabel=f"{task_title(task)} accuracy")
    legend(ax, "best")
    return ax


def plot_hull_gap(overlay: HullOverlay, *, ax: Axes | None = None) -> Axes:
    """The gap of each model to the other tasks' hulls against its upstream accuracy.

    The dashed lines are each task's mean gap over the lower and over the upper half of the models.

    Args:
        overlay: from `overlay_hull`.
        ax: where to draw; a new figure without.
    """
    ax = ax or new_axes()
    names = overlay.trend["task"].tolist()
    for task, correlation in zip(names, overlay.trend["spearman"].to_numpy(), strict=True):
        part = overlay.table[overlay.table["task"] == task]
        colour, marker = style_of(task, names)
        rank = "" if np.isnan(correlation) else f" (rank correlation {correlation:+.2f})"
        us, gap = part["upstream_accuracy"].to_numpy(), part["gap"].to_numpy()
        ax.plot(us, gap, marker, color=colour, ms=5, label=f"{task_title(task)}{rank}")
        lower = us <= np.median(us)
        for half in (lower, ~lower):
            if half.any():
                ax.hlines(gap[half].mean(), us[half].min(), us[half].max(), color=colour, lw=1.5, ls="--")
    ax.axhline(0, color="0.6", lw=1)
    ax.set(xlabel="upstream accuracy", ylabel=f"gap to the task's hull, of models on that of\n{task_title(overlay.of)}")
    ax.plot([], [], "--", color="0.3", lw=1.5, label="mean of the lower, of the upper half")
    legend(ax, "best")
    return ax
