"""Figures of the cost of two families at equal error."""

import numpy as np
from matplotlib.axes import Axes

from ..frontier import CostRatio, FrontierFit
from ..frontier.family_costs import FamilyRuns
from .legends import legend
from .style import LAW_COLOUR, error_axis, law_at, new_axes, style_of
from .words import shown_name

__all__ = ["plot_cost_ratio"]

_MOST_ARROWS = 6  # of more targets those at equal steps are drawn
_LINE = 0.045  # of the height of the axes that a label takes
_ROOM = 0.35  # of the width of the axes, for the labels, right of all runs
_BEYOND = 3.0  # how far beyond a family's runs its law is drawn, as a factor of x


def plot_cost_ratio(
    ratios: CostRatio, *, method: str = "interpolation", ax: Axes | None = None,
    x_label: str = "training compute (FLOPs)", y_label: str = "error",
) -> Axes:  # fmt: skip
    """Runs and frontiers of two families, and at each target an arrow from the reference's cost to the rival's.

    Each arrow has the ratio and its interval ("open" where it has no upper end). Frontiers are drawn through; laws are
    dotted where fitted, dashed beyond the runs.

    Args:
        ratios: from `cost_ratio`.
        method: of the arrows, "interpolation" or "law"; a ratio of 0 or inf has none.
        ax: where to draw; a new figure without.
        x_label, y_label: of the axes, with the unit of cost.
    """
    if method not in ("interpolation", "law"):
        raise ValueError(f"method must be 'interpolation' or 'law', got {method!r}")
    ax = ax or new_axes()
    ax.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
    names = ratios.families or sorted((ratios.reference.name, ratios.rival.name))
    pair = ((ratios.reference, ratios.reference_law), (ratios.rival, ratios.rival_law))
    for runs, front in pair:
        _draw_family(ax, runs, front, *style_of(runs.name, names))
    error_axis(ax, np.concatenate([ratios.reference.y, ratios.rival.y]))
    _draw_arrows(ax, ratios, method)
    legend(ax, "best")
    return ax


def _draw_family(ax: Axes, runs: FamilyRuns, front: FrontierFit | None, colour: str, marker: str) -> None:
    best, name = runs.selected, shown_name(runs.name)
    others = np.setdiff1d(np.arange(runs.x.size), best)
    ax.plot(runs.x[others], runs.y[others], marker, color=colour, ms=5, alpha=0.35, mew=0)
    ax.plot(runs.x[best], runs.y[best], marker + "-", color=colour, ms=6, lw=1.5, label=f"{name} frontier")
    if front is None:
        return
    grid = np.geomspace(runs.x.min() / _BEYOND, runs.x.max() * _BEYOND, 200)
    law, is_before, is_after = law_at(front.fit, grid), grid < runs.x.min(), grid > runs.x.max()
    is_inside = ~is_before & ~is_after
    ax.plot(grid[is_inside], law[is_inside], ":", color=colour, lw=1.2, label=f"{name} law")
    for part in (is_before, is_after):
        ax.plot(grid[part], law[part], "--", color=colour, lw=0.9, alpha=0.6)


def _draw_arrows(ax: Axes, ratios: CostRatio, method: str) -> None:
    table = ratios.table[(ratios.table["method"] == method) & np.isfinite(ratios.table["ratio"].astype(float))]
    table = table[table["ratio"] > 0].sort_values("target_error")
    if table.empty:
        return
    shown = table.iloc[np.unique(np.linspace(0, len(table) - 1, min(len(table), _MOST_ARROWS)).astype(int))]
    arrow = {"arrowstyle": "->", "color": LAW_COLOUR, "lw": 1.3, "shrinkA": 0, "shrinkB": 0}
    heights = _apart(np.log(shown["target_error"].to_numpy(dtype=float)), _LINE * np.ptp(np.log(ax.get_ylim())))
    left, right = ax.get_xlim()
    edge = right * (right / left) ** _ROOM
    columns = ("reference_cost", "rival_cost", "target_error", "ratio", "low", "high")
    rows = shown[[*columns]].to_numpy(dtype=float)
    for (start, end, error, ratio, low, high), height in zip(rows, np.exp(heights), strict=True):
        ax.annotate("", (end, error), (start, error), arrowprops=arrow)
        ax.plot([max(start, end), right], [error, height], ":", color="0.6", lw=0.7, zorder=0)
        text = f"{ratio:.3g}× [{low:.2g}, {'open' if np.isinf(high) else f'{high:.2g}'}]"
        beside = {"textcoords": "offset points", "xytext": (-3, 0), "va": "center", "ha": "right"}
        ax.annotate(text, (edge, height), fontsize="small", color=LAW_COLOUR, **beside)
    rival, reference = shown_name(ratios.rival.name), shown_name(ratios.reference.name)
    label = f"cost of {rival} / {reference} at equal\nerror, {ratios.level:.0%} interval"
    ax.plot([], [], "-", marker=">", color=LAW_COLOUR, lw=1.3, ms=4, label=label)
    ax.set_xlim(left, edge)


def _apart(heights: np.ndarray, gap: float) -> np.ndarray:
    """Ascending heights, raised so that neighbours are at least a gap apart."""
    steps = gap * np.arange(heights.size)
    return np.maximum.accumulate(heights - steps) + steps
