"""Figures of compute frontiers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..fitting.fit import Fit
from ..frontier import FrontierFit
from .legends import legend_beside, legend_clear
from .style import BESIDE_COLOUR, LAW_COLOUR, TRANSFER_COLOUR, draw_points, error_axis, law_at, new_axes
from .words import SELECTION_LABELS, shown_name

__all__ = ["plot_frontier"]

_SHOWN = 0.5  # of the least error: from there on the irreducible error is worth the space
_MOST_INSIDE = 6  # entries of a legend that have room below the frontier
_EXTRAPOLATED = 3.0  # how far beyond the best run a law is drawn, as a factor of x
_BESIDE_COLOURS = (BESIDE_COLOUR, TRANSFER_COLOUR)


def plot_frontier(
    front: FrontierFit, *, beside: FrontierFit | Mapping[str, FrontierFit | Fit] | None = None,
    groups: Sequence[Any] | None = None, level: float = 0.95, ax: Axes | None = None,
    x_label: str = "training compute (FLOPs)", y_label: str = "upstream error",
) -> Axes:  # fmt: skip
    """All runs, the law of their frontier with a band, and the irreducible error as a line.

    The runs marked are those that the law was fitted to, or of a stochastic frontier, the lower edge of all runs, those
    near it. The band of a law on frontier points has the bias taken off and may lie below the law.

    Args:
        front: from `fit_frontier`.
        beside: another fit to the same runs, whose law is drawn in a second colour: the published convention beside a
            stochastic frontier, say. Or several by the name in the legend, among them a `Fit`, which has no band here:
            the law that a paper prints is `fit_law(law, x, y, fixed=params)` with all its parameters.
        groups: a label a run, for colour and marker, e.g. its family.
        level: of the band.
        ax: where to draw; a new figure without.
    """
    ax = ax or new_axes()
    draw_points(ax, front.x, front.y, groups)
    marked = "frontier" if front.stochastic is None else "near the frontier"
    ax.plot(front.x[front.selected], front.y[front.selected], "o", mfc="none", mec=LAW_COLOUR, ms=9, label=marked)
    ax.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
    error_axis(ax, front.y)
    _draw_frontier_law(ax, front, level, LAW_COLOUR)
    named = beside if isinstance(beside, Mapping) else {} if beside is None else {"": beside}
    for place, (name, result) in enumerate(named.items()):
        colour = _BESIDE_COLOURS[place % len(_BESIDE_COLOURS)]
        if isinstance(result, Fit):
            grid = np.geomspace(front.x.min(), front.x.max() * _EXTRAPOLATED, 200)
            label = f"{shown_name(name)}: {_formula(result)}"
            ax.plot(grid, law_at(result, grid), "-.", color=colour, label=label)
        else:
            _draw_frontier_law(ax, result, level, colour, name)
    if len(ax.get_legend_handles_labels()[0]) > _MOST_INSIDE:
        legend_beside(ax, fontsize="small")
    else:
        legend_clear(ax, "lower left")  # below the frontier, where few runs lie
    return ax


def _draw_frontier_law(ax: Axes, front: FrontierFit, level: float, colour: str, name: str = "") -> None:
    start, end = front.x[front.selected].min(), front.x[front.selected].max()
    if front.stochastic is not None:
        start, end = front.x.min(), front.x.max()
    grid = np.geomspace(start, front.x.max() * _EXTRAPOLATED, 200)
    law, band, fitted = law_at(front.fit, grid), front.predict(grid, level), grid <= end
    label = f"{shown_name(name) if name else SELECTION_LABELS[front.selection]}: {_formula(front.fit)}"
    ax.plot(grid[fitted], law[fitted], "-", color=colour, label=label)
    ax.plot(grid[~fitted], law[~fitted], "--", color=colour)
    ax.fill_between(grid, band.low, band.high, color=colour, alpha=0.15, lw=0, label=f"{level:.0%} band")
    offset = front.fit.law.offset
    if offset is not None and front.params[offset] > _SHOWN * front.y.min():
        limit, (low, high) = front.params[offset], front.interval(offset, level)
        ax.set_ylim(bottom=min(ax.get_ylim()[0], 0.9 * limit))
        label = f"irreducible error {limit:.3g} [{low:.3g}, {high:.3g}]"
        ax.axhline(limit, color=colour, lw=1, ls=":", label=label)


def _formula(fit: Any) -> str:
    return "  ".join(f"{name}={value:.3g}" for name, value in fit.params.items())
