"""Figures of the compute-optimal model size and images seen."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm

from ..frontier import OptimalAllocation
from ..frontier.allocation import AllocationFit
from ..frontier.optimal import interval_text
from .legends import legend, legend_beside
from .style import LAW_COLOUR, STYLES, new_axes, shades
from .words import amount

__all__ = ["plot_isoflop", "plot_optimal"]

_QUANTITIES = {"num_params": ("model size (parameters)", "N", "a"), "images_seen": ("images seen", "D", "b")}
_NAMES = {"envelope": "envelope", "isoflop": "IsoFLOP vertices", "parametric": "parametric"}
_WIDTHS = {"envelope": 3.5, "isoflop": 2.5, "parametric": 1.5}  # so that each shows where they coincide
_EXTRAPOLATED = 10.0  # how far beyond the most compute the power laws are drawn, as a factor
_MANY_POINTS = 200
_SHOWN = ListedColormap(shades(256))
_MOST_NAMED = 8  # budgets in a legend
_REFUSED = "0.7"


def plot_optimal(
    result: OptimalAllocation, *, quantity: str = "num_params", level: float = 0.95, ax: Axes | None = None,
    x_label: str = "training compute (FLOPs)",
) -> Axes:  # fmt: skip
    """Compute-optimal model size, or images seen, against compute: the approaches, each with points, line and band.

    A line is dashed beyond the compute of the points that it was fitted to.

    Args:
        result: from `optimal_allocation`.
        quantity: "num_params" or "images_seen".
        level: of the bands.
        ax: where to draw; a new figure without.
        x_label: of compute, in the unit of the runs.
    """
    if quantity not in _QUANTITIES:
        raise ValueError(f"quantity must be one of {tuple(_QUANTITIES)}, got {quantity!r}")
    ax = ax or new_axes()
    runs = result.runs
    y = np.exp(runs.log_n if quantity == "num_params" else runs.log_d)
    ax.plot(np.exp(runs.log_c), y, ".", color="0.8", ms=4, label="runs", zorder=0)
    y_label, symbol, exponent = _QUANTITIES[quantity]
    end = np.exp(runs.log_c.max()) * _EXTRAPOLATED
    for (approach, fit), (colour, marker) in zip(result.fits.items(), STYLES, strict=False):
        _draw_approach(ax, fit, quantity, end, level, colour, marker)
        line = getattr(fit, quantity)
        low, high = line.exponent_interval(level)
        text = f"{_NAMES[approach]}: {symbol} ~ C^{exponent}, {exponent} = {line.exponent:.2f} "
        text += interval_text(low, high, 2)
        shown = "" if approach == "parametric" else marker
        ax.plot([], [], marker=shown, color=colour, lw=_WIDTHS[approach], ms=7, label=text)
    ax.set(xscale="log", yscale="log", xlabel=x_label, ylabel=f"compute-optimal {y_label}")
    legend(ax, "upper left")
    return ax


def _draw_approach(
    ax: Axes, fit: AllocationFit, quantity: str, end: float, level: float, colour: str, marker: str
) -> None:
    points = fit.points.dropna(subset=[quantity])
    compute = points["compute_flops"].to_numpy()
    if fit.approach != "parametric":
        size = 5 if len(points) <= _MANY_POINTS else 2.5  # a staircase over training curves
        ax.plot(compute, points[quantity], marker, color=colour, ms=size, alpha=0.6, mew=0)
    grid = np.geomspace(compute.min(), max(end, compute.max()), 200)
    line, inside, width = getattr(fit, quantity), grid <= compute.max(), _WIDTHS[fit.approach]
    ax.plot(grid[inside], line.predict(grid[inside]), "-", color=colour, lw=width)
    ax.plot(grid[~inside], line.predict(grid[~inside]), "--", color=colour, lw=width)
    band = line.interval(grid, level)
    if np.isfinite(band).all():  # not of an open interval
        ax.fill_between(grid, *band, color=colour, alpha=0.12, lw=0)


def plot_isoflop(result: OptimalAllocation, *, ax: Axes | None = None, y_label: str = "upstream error") -> Axes:
    """Error against model size at each budget of compute: runs, parabola, and its vertex as a star.

    A refused budget has hollow runs, a dotted parabola and no star; of more than eight budgets the refused ones are
    grey, and a bar has the colours of compute.

    Args:
        result: from `optimal_allocation`.
        ax: where to draw; a new figure without.
        y_label: what the runs' y is.

    Raises:
        FitError: the IsoFLOP approach was not had.
    """
    table, budgets = result.budgets, result.fits["isoflop"].budgets
    assert budgets is not None
    ax = ax or new_axes()
    size = np.exp(budgets.runs.log_n)
    are_many = len(table) > _MOST_NAMED
    colours = _colours(table["compute_flops"].to_numpy(), are_many)
    for row, (colour, compute, reason) in enumerate(zip(colours, table["compute_flops"], table["reason"], strict=True)):
        own = budgets.budget == row
        line, fill, note = ("-", colour, "") if reason == "" else (":", "none", " (refused)")
        colour = _REFUSED if are_many and reason else colour
        ax.plot(size[own], budgets.runs.y[own], "o", color=colour, ms=4.5, mfc=fill)
        if own.any() and np.isfinite(budgets.middle[row]):
            grid = np.geomspace(size[own].min(), size[own].max(), 100)
            ax.plot(grid, budgets.parabola(row, grid), line, color=colour, lw=1.5)
        if not are_many:
            ax.plot([], [], f"o{line}", color=colour, ms=4.5, mfc=fill, label=amount(float(compute)) + note)
    num_refused = int((table["reason"] != "").sum())
    if are_many and num_refused:
        ax.plot([], [], "o:", color=_REFUSED, ms=4.5, mfc="none", label=f"{num_refused} refused budgets")
    star = {"color": LAW_COLOUR, "ms": 11, "mec": "white", "mew": 0.7, "zorder": 5}
    ax.plot(table["num_params"], table["y"], "*", label="vertex", **star)
    ax.set(xscale="log", xlabel="model size (parameters)", ylabel=y_label)
    if are_many:
        _draw_bar(ax, table["compute_flops"].to_numpy())
        legend(ax, "best")
    else:
        legend_beside(ax, title="compute", fontsize="small", title_fontsize="small")
    return ax


def _colours(compute: np.ndarray, by_compute: bool) -> np.ndarray:
    """Of each budget, evenly or by its log compute."""
    if by_compute:
        return _SHOWN(_norm(compute)(compute))
    return shades(compute.size)


def _norm(compute: np.ndarray) -> LogNorm:
    return LogNorm(compute.min(), compute.max())


def _draw_bar(ax: Axes, compute: np.ndarray) -> None:
    figure = ax.get_figure()
    if figure is not None:
        figure.colorbar(ScalarMappable(_norm(compute), _SHOWN), ax=ax, label="compute")
