"""The two figures of a sweep: frontiers with their laws, tasks with their hulls and laws."""

import math

from matplotlib.figure import Figure

from scaling.plots import plot_frontier, plot_transfer

from .fits import LEVEL, Summary

__all__ = ["frontier_figure", "transfer_figure"]


def frontier_figure(summary: Summary) -> Figure:
    fitted = [frontier for frontier in summary.frontiers if frontier.fit]
    figure = Figure(figsize=(5.2 * len(fitted), 4.4), layout="constrained")
    axes = figure.subplots(1, len(fitted), sharex=True, sharey=True, squeeze=False)[0]
    limits = []
    for ax, frontier in zip(axes, fitted, strict=True):
        assert frontier.fit is not None
        plot_frontier(frontier.fit, groups=list(frontier.runs["model_family"]), level=LEVEL, ax=ax)
        limits.append(ax.get_ylim())
        ax.set_title(f"{frontier.name}: {frontier.verdict}", fontsize="medium")
        ax.label_outer()
    lows, highs = zip(*limits, strict=True)
    axes[0].set_ylim(min(lows), max(highs))
    return figure


def transfer_figure(summary: Summary) -> Figure:
    fitted = [task for task in summary.tasks if task.fit]
    columns = min(3, len(fitted))
    rows = math.ceil(len(fitted) / columns)
    figure = Figure(figsize=(4.6 * columns, 3.9 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, task in zip(axes, fitted, strict=False):
        assert task.fit is not None
        label = f"{task.name} {task.num_shots}-shot"
        groups = list(task.runs["model_family"])
        plot_transfer(task.fit, groups=groups, level=LEVEL, ax=ax, task=label, chance=task.chance)
        ax.get_legend().remove()  # the same in every panel: one below them all
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3 * min(2, columns), frameon=False
    )
    for ax in axes[len(fitted) :]:
        ax.remove()
    return figure
