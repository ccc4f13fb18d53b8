"""Figures of robustness to a shift of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..transfer import Robustness
from .legends import legend_beside
from .lines import even_grid, scaled_axes
from .style import BESIDE_COLOUR, LAW_COLOUR, draw_points, label_points, new_axes

__all__ = ["plot_robustness"]

_NUM_NAMED = 3


def plot_robustness(
    robust: Robustness, *, groups: Sequence[Any] | None = None, num_named: int = _NUM_NAMED, ax: Axes | None = None,
    x_label: str = "standard accuracy", y_label: str = "accuracy under shift",
) -> Axes:  # fmt: skip
    """Shifted against standard accuracy on the line's scale, the line of standard models, y = x, and who is off it.

    The effective robustness of the models named, the most robust in order, is the bar from the line up to them.

    Args:
        robust: from `effective_robustness`.
        groups: a label a model, for colour and marker; without, standard models against the others.
        num_named: how many models are named.
        ax: where to draw; a new figure without.
    """
    ax = ax or new_axes()
    if groups is None:
        groups = ["all models"] * len(robust.names)
        if not robust.is_standard.all():
            groups = np.where(robust.is_standard, "standard models", "other models").tolist()
    draw_points(ax, robust.standard, robust.shifted, groups)
    line = robust.line
    scaled_axes(ax, line, robust.standard, robust.shifted)
    x_limits, y_limits = ax.get_xlim(), ax.get_ylim()
    grid = even_grid(line, *x_limits)
    ax.plot(grid, line.predict(grid), "-", color=LAW_COLOUR, label=f"line of standard models, {line.link.name}")
    ax.plot(grid, grid, ":", color="0.5", label="y = x: no drop")
    best = np.argsort(-robust.effective, kind="stable")[:num_named]
    ends = robust.shifted[best] - robust.effective[best], robust.shifted[best]
    ax.vlines(robust.standard[best], *ends, color=BESIDE_COLOUR, lw=1.5, label="effective robustness")
    names = [f"{robust.names[i]} {robust.effective[i]:+.3f}" for i in best]
    label_points(ax, robust.standard[best], robust.shifted[best], names, BESIDE_COLOUR)
    ax.set(xlabel=x_label, ylabel=y_label, xlim=x_limits, ylim=y_limits)
    legend_beside(ax, fontsize="small")
    return ax
