"""Figures of linear probes at every layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from ..frames import check_columns
from ..transfer import LayerOverlay
from .legends import legend as draw_legend
from .style import LAW_COLOUR, STYLES, TRANSFER_COLOUR, new_axes
from .words import probe_names, row_names, shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["plot_best_layers", "plot_layers"]

_ROW_INCHES = 0.32
_RESULT = ("best_layer", "position", "accuracy", "last_accuracy", "gain", "num_layers", "task", "num_shots")


def plot_layers(overlay: LayerOverlay, *, task: str = "downstream", ax: Axes | None = None) -> Axes:
    """Accuracy against depth over accuracy against upstream accuracy, both rescaled to [0, 1].

    Args:
        overlay: from `overlay_layers`.
        task: for the label of the axis.
        ax: where to draw; a new figure without.
    """
    ax = ax or new_axes()
    colour, marker = STYLES[0]
    ax.plot(overlay.upstream, overlay.model_accuracy, marker, color="0.65", ms=4, mew=0, label="models, by upstream")
    ax.plot(overlay.depth, overlay.hull, "-", color=TRANSFER_COLOUR, lw=2, label="hull of the models")
    ax.plot(overlay.depth, overlay.layer_accuracy, "-o", color=colour, ms=6, label="layers of one model, by depth")
    best = int(np.argmax(overlay.layer_accuracy))
    at = (overlay.depth[best], overlay.layer_accuracy[best])
    ax.plot(*at, "o", mfc="none", mec=LAW_COLOUR, ms=12, label=f"best layer ({best + 1} of {overlay.depth.size})")
    label = "depth of the layer, or upstream accuracy (each from its least to its most)"
    ax.set(xlabel=label, ylabel=f"{shown_name(task)} accuracy", xlim=(-0.03, 1.03))
    draw_legend(ax, "lower right")
    return ax


def plot_best_layers(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """The best layer of each task, as its place between the first layer and the last, with the gain over the last.

    Args:
        table: from `best_layers`, of one model, of several, or averaged over models; what tells the rows of a task (and
            number of shots) apart, such as the run or the probe, is in their names.
        ax: where to draw; without, a new figure as tall as the rows need.
    """
    check_columns(table, "task", "position", "gain", "best_layer")
    ax = ax or new_axes(height=max(4.8, _ROW_INCHES * len(table) + 1))
    shown = table.sort_values(["position", "gain"], ascending=[True, False], kind="stable").reset_index(drop=True)
    colour, marker = STYLES[0]
    rows = np.arange(len(shown))
    ax.hlines(rows, shown["position"], 1, color="0.8", lw=1)
    ax.plot(shown["position"], rows, marker, color=colour, ms=7)
    for row, (layer, position, gain) in enumerate(
        zip(shown["best_layer"], shown["position"], shown["gain"], strict=True)
    ):
        ax.annotate(
            shown_name(layer),
            (position, row),
            textcoords="offset points",
            xytext=(0, 7),
            ha="center",
            fontsize="x-small",
        )
        ax.annotate(f"{gain:+.3f}", (1.08, row), va="center", fontsize="small", annotation_clip=False)
    ax.annotate(
        "gain over\nthe last layer", (1.08, len(shown) - 0.3), va="bottom", fontsize="small", annotation_clip=False
    )
    ax.set_yticks(rows, labels=_probes(shown))
    ax.set(xlabel="best layer (0 the first, 1 the last)", xlim=(-0.05, 1.35), ylim=(-0.6, len(shown) + 0.2))
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _probes(table: pd.DataFrame) -> list[str]:
    """Task and shots, and where they do not tell the rows apart what else does."""
    names = probe_names(table)
    others = [name for name in table.columns if name not in _RESULT and table[name].nunique(dropna=False) > 1]
    if len(set(names)) == len(names) or not others:
        return names
    return [f"{name}, {shown_name(rest)}" for name, rest in zip(names, row_names(table, others), strict=True)]
