"""Figures of fitted results. A plot draws a result and fits nothing; each returns the Axes it drew on."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from .frontier import FrontierFit
from .transfer import TransferFit

__all__ = ["plot_frontier", "plot_transfer"]

# Okabe and Ito's palette: told apart by colour-blind readers, and in grey with the markers.
_STYLES = (
    ("#0072B2", "o"), ("#D55E00", "s"), ("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P"), ("#999999", "X"),
)  # fmt: skip
_FAMILIES = ("vit", "resnet", "mixer", "convnext", "hybrid")  # each looks the same in every figure
_LAW_COLOUR, _TRANSFER_COLOUR, _BESIDE_COLOUR = "#222222", "#009E73", "#7A3E9D"
_RULES = {
    "stochastic": "edge of all runs", "pareto": "law on the frontier", "convex_hull": "law on the hull",
    "all": "law on all runs",
}  # fmt: skip
_ERROR_TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, *(k / 10 for k in range(2, 11)))
_SHOWN = 0.5  # of the least error: from there on the irreducible error is worth the space
_WITH_LEGEND = 10.0  # inches, of one plot with its legend beside it
_MOST_INSIDE = 8  # entries of a legend among the points; more stand beside them
_EXTRAPOLATED = 3.0  # how far beyond the best run a law is drawn, as a factor of x


def plot_frontier(
    front: FrontierFit, *, beside: FrontierFit | None = None, groups: Sequence[Any] | None = None, level: float = 0.95,
    ax: Axes | None = None, x_label: str = "training compute (FLOPs)", y_label: str = "upstream error",
) -> Axes:  # fmt: skip
    """All runs, the law of their frontier with a band, and the irreducible error as a line.

    The runs marked are those that the law was fitted to, or of a stochastic frontier, the lower edge of all runs, those
    near it. The band of a law on frontier points has the bias taken off and may lie below the law.

    Args:
        front: from `fit_frontier`.
        beside: another fit to the same runs, whose law is drawn in a second colour: the published convention beside a
            stochastic frontier, say.
        groups: a label a run, for colour and marker, e.g. its family.
        level: of the band.
        ax: where to draw; a new figure without.
    """
    ax = ax or _new_axes()
    _draw_points(ax, front.x, front.y, groups)
    marked = "frontier" if front.stochastic is None else "near the frontier"
    ax.plot(front.x[front.selected], front.y[front.selected], "o", mfc="none", mec=_LAW_COLOUR, ms=9, label=marked)
    ax.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
    _error_axis(ax, front.y)
    for result, colour in ((front, _LAW_COLOUR), (beside, _BESIDE_COLOUR)):
        if result is not None:
            _draw_frontier_law(ax, result, level, colour)
    _legend(ax, "lower left")
    return ax


def _draw_frontier_law(ax: Axes, front: FrontierFit, level: float, colour: str) -> None:
    start, end = front.x[front.selected].min(), front.x[front.selected].max()
    if front.stochastic is not None:
        start, end = front.x.min(), front.x.max()
    grid = np.geomspace(start, front.x.max() * _EXTRAPOLATED, 200)
    law, band, fitted = front.fit.predict(grid), front.predict(grid, level), grid <= end
    ax.plot(grid[fitted], law[fitted], "-", color=colour, label=f"{_RULES[front.selection]}: {_formula(front.fit)}")
    ax.plot(grid[~fitted], law[~fitted], "--", color=colour)
    ax.fill_between(grid, band.low, band.high, color=colour, alpha=0.15, lw=0, label=f"{level:.0%} band")
    if front.params.get("c", 0.0) > _SHOWN * front.y.min():
        ax.set_ylim(bottom=min(ax.get_ylim()[0], 0.9 * front.params["c"]))
        ax.axhline(front.params["c"], color=colour, lw=1, ls=":", label=_irreducible(front, level))


def plot_transfer(
    trans: TransferFit, *, beside: TransferFit | None = None, groups: Sequence[Any] | None = None, level: float = 0.95,
    ax: Axes | None = None, task: str = "downstream", chance: float | None = None,
) -> Axes:  # fmt: skip
    """Downstream against upstream accuracy: models, Eq. 1 with a band up to upstream accuracy 1, saturation.

    The models marked are those on the hull, joined by lines, or of a stochastic frontier those near it.

    Args:
        trans: from `fit_transfer`.
        beside: another fit to the same models, whose law is drawn in a second colour.
        groups: a label a model, for colour and marker.
        level: of the band.
        ax: where to draw; a new figure without.
        task: for the label of the axis.
        chance: accuracy of a guess, drawn as a line.
    """
    ax = ax or _new_axes()
    _draw_points(ax, trans.upstream, trans.downstream, groups)
    line, marked = ("-o", "hull") if trans.stochastic is None else ("o", "near the frontier")
    best = trans.selected
    ax.plot(trans.upstream[best], trans.downstream[best], line, color=_LAW_COLOUR, mfc="none", ms=8, lw=1, label=marked)
    for result, colour, place in ((trans, _TRANSFER_COLOUR, 0.0), (beside, _BESIDE_COLOUR, 0.3)):
        if result is not None:
            _draw_transfer_law(ax, result, level, colour, place)
    if chance is not None:
        ax.axhline(chance, color="0.6", lw=1, ls="-.", label="chance")
    top = min(1.05, 1.25 * max(trans.downstream.max(), trans.saturation))
    ax.set(xlabel="upstream accuracy", ylabel=f"{task} accuracy", xlim=(0, 1), ylim=(0, top))
    _legend(ax, "lower right")
    return ax


def _draw_transfer_law(ax: Axes, trans: TransferFit, level: float, colour: str, place: float) -> None:
    models = trans.upstream[trans.selected] if trans.stochastic is None else trans.upstream
    grid = np.linspace(models.min(), 0.999, 300)
    band, fitted = trans.predict(grid, level), grid <= models.max()
    ax.plot(
        grid[fitted], band.median[fitted], "-", color=colour, lw=2, label=f"{_RULES[trans.selection]}: k e^alpha + e_IR"
    )
    ax.plot(grid[~fitted], band.median[~fitted], "--", color=colour, lw=2)
    ax.fill_between(grid, band.low, band.high, color=colour, alpha=0.18, lw=0, label=f"{level:.0%} band")
    ax.axhline(trans.saturation, color=colour, lw=1, ls=":")
    above = {"textcoords": "offset points", "xytext": (3, 3), "fontsize": "small", "color": colour}
    is_straight = any(warning.kind == "hidden_curvature" for warning in trans.warnings)
    text = "end of a straight line: no saturation seen" if is_straight else f"saturation {trans.saturation:.2f}"
    ax.annotate(text, (place, trans.saturation), **above)


def _legend(ax: Axes, loc: Any) -> None:
    if len(ax.get_legend_handles_labels()[0]) <= _MOST_INSIDE:
        ax.legend(fontsize="small", frameon=False, loc=loc)
    else:
        ax.legend(fontsize="x-small", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure = ax.get_figure(root=True)
        if figure is not None and len(figure.axes) == 1:
            figure.set_figwidth(_WITH_LEGEND)


def _new_axes() -> Axes:
    return plt.subplots(figsize=(6.4, 4.8), layout="constrained")[1]


def _draw_points(ax: Axes, x: np.ndarray, y: np.ndarray, groups: Sequence[Any] | None) -> None:
    labels = np.asarray(["runs"] * len(x) if groups is None else groups, dtype=str)
    if labels.shape != x.shape:
        raise ValueError(f"groups must have one label a point, shape {x.shape}, got {labels.shape}")
    names = sorted(set(labels.tolist()))
    others = [name for name in names if name not in _FAMILIES]
    first_other = len(_FAMILIES) if len(others) < len(names) else 0
    for name in names:
        place = _FAMILIES.index(name) if name in _FAMILIES else first_other + others.index(name)
        # Where the colours come round again, other markers do.
        colour, marker = _STYLES[place % len(_STYLES)][0], _STYLES[(place + place // len(_STYLES)) % len(_STYLES)][1]
        member = labels == name
        ax.plot(x[member], y[member], marker, color=colour, ms=4.5, alpha=0.75, mew=0, label=name)


def _irreducible(front: FrontierFit, level: float) -> str:
    return "irreducible error {:.3g} [{:.3g}, {:.3g}]".format(front.params["c"], *front.interval("c", level))


def _formula(fit: Any) -> str:
    return "  ".join(f"{name}={value:.3g}" for name, value in fit.params.items())


def _error_axis(ax: Axes, y: np.ndarray) -> None:
    """Limits around the runs, and errors as plain decimals."""
    top = y.max() * 1.15
    ax.set_ylim(y.min() * 0.75, min(top, 1.05) if y.max() <= 1 else top)
    if y.max() <= 1:
        ax.yaxis.set_major_locator(FixedLocator(_ERROR_TICKS))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.minorticks_off()
