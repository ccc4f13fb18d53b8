"""Figures of a fit to points, of an ensemble of laws, and of laws compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from ..ensemble.weighted import EnsembleFit
from ..fitting.fit import Fit
from ..fitting.grouped import GroupLaw
from .legends import legend_beside
from .style import BESIDE_COLOUR, LAW_COLOUR, decimal_ticks, draw_points, error_axis, first_drawn, law_at, new_axes

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["plot_fit", "plot_law_comparison"]

_FEW_DECADES = 300.0  # ratio of the ends of an axis
_EXTRAPOLATED = 10.0  # how far beyond the points a law is drawn, as a factor of x


def plot_fit(
    fit: Fit | GroupLaw | EnsembleFit, *, groups: Sequence[Any] | None = None, level: float = 0.95,
    kind: str = "confidence", up_to: float | None = None, ax: Axes | None = None, x_label: str = "x",
    y_label: str = "error",
) -> Axes:  # fmt: skip
    """The points, the law solid over them and dashed beyond, a band, and the irreducible error where there is one.

    Args:
        fit: from `fit_law`, of one variable, one group's of a joint fit (`of_group`), or from `fit_ensemble`, which is
            for what lies beyond the points and is drawn from their last factor of 8 on.
        groups: a label a point, for colour and marker.
        level, kind: of the band, as in `predict`.
        up_to: the largest x drawn (of a law that grows with x, the least); ten times beyond the points if not told.
        ax: where to draw; a new figure without.
        x_label, y_label: what x and y are, with their units.

    Raises:
        ValueError: a law of several variables, or a line between accuracies, whose figure is `plot_lines`.
    """
    law = None if isinstance(fit, EnsembleFit) else fit.law
    if law is not None and (law.num_inputs > 1 or law.link is not None):
        raise ValueError(f"plot_fit draws laws of one positive variable, got {law.name!r}")
    ax = ax or new_axes()
    draw_points(ax, fit.x, fit.y, groups)
    ax.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
    _draw_law(ax, fit, level, kind, up_to)
    if not isinstance(fit, EnsembleFit) and law is not None and law.offset is not None and fit.params[law.offset] > 0:
        value = fit.params[law.offset]
        ax.axhline(value, color=LAW_COLOUR, lw=1, ls=":", label=f"irreducible error {value:.3g}")
    if fit.x.max() <= 1:
        decimal_ticks(ax.xaxis)
    error_axis(ax, np.append(fit.y, ax.get_lines()[-1].get_ydata()))  # the limit, or the law beyond the points
    legend_beside(ax, fontsize="small")
    return ax


def _draw_law(ax: Axes, fit: Fit | GroupLaw | EnsembleFit, level: float, kind: str, up_to: float | None) -> None:
    increasing = not isinstance(fit, EnsembleFit) and fit.law.increasing
    ends = [first_drawn(fit), fit.x.max()]
    ends[0 if increasing else 1] = up_to or (ends[0] / _EXTRAPOLATED if increasing else ends[1] * _EXTRAPOLATED)
    grid = np.geomspace(min(ends), max(ends), 300)
    seen = (grid >= fit.x.min()) & (grid <= fit.x.max())
    band = law_at(fit, grid, level, kind)
    name = "weighted mean of laws" if isinstance(fit, EnsembleFit) else f"{fit.law.name}: {fit.law.formula}"
    ax.plot(grid[seen], band.median[seen], "-", color=LAW_COLOUR, label=name)
    ax.plot(grid[~seen], band.median[~seen], "--", color=LAW_COLOUR, label="extrapolated")
    ax.fill_between(grid, band.low, band.high, color=LAW_COLOUR, alpha=0.15, lw=0, label=f"{level:.0%} {kind} band")


def plot_law_comparison(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Error of each law on held-out points, best on top; baselines that need no fit hollow.

    Args:
        table: from `compare_laws`; laws without a score are left out.
        ax: where to draw; a new figure without.
    """
    ax = ax or new_axes()
    scored = table[table["heldout_log_rmse"].notna()].iloc[::-1]
    scores = scored["heldout_log_rmse"].to_numpy(dtype=float)
    for place, (score, is_baseline) in enumerate(zip(scores, scored["is_baseline"], strict=True)):
        colour, face = (BESIDE_COLOUR, "none") if is_baseline else (LAW_COLOUR, LAW_COLOUR)
        ax.plot([score], [place], "o", color=colour, mfc=face, ms=8)
        ax.annotate(f"{score:.3g}", (1.02, place), xycoords=("axes fraction", "data"), va="center", fontsize="small")
    ax.set_yticks(range(len(scored)), scored["law"])
    ax.set(xscale="log", xlabel="error on held-out points (root mean square of log)", ylim=(-0.7, len(scored) - 0.3))
    ax.margins(x=0.15)
    decimal_ticks(ax.xaxis)
    low, high = ax.get_xlim()
    if high > _FEW_DECADES * low:  # labels of 1, 2 and 5 of each decade would touch
        ax.xaxis.set_major_locator(LogLocator())
    ax.grid(axis="y", color="0.92")
    return ax
