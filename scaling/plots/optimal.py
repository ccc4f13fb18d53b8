"""Figures of the compute-optimal model size and images seen."""

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes

from ..errors import FitError
from ..frontier import OptimalAllocation
from ..frontier.allocation import AllocationFit
from .style import LAW_COLOUR, STYLES, amount, legend, legend_beside, new_axes

__all__ = ["plot_isoflop", "plot_optimal"]

_QUANTITIES = {"num_params": ("model size (parameters)", "N", "a"), "images_seen": ("images seen", "D", "b")}
_NAMES = {"envelope": "envelope", "isoflop": "IsoFLOP vertices", "parametric": "parametric"}
_WIDTHS = {"envelope": 3.5, "isoflop": 2.5, "parametric": 1.5}  # so that each shows where they coincide
_EXTRAPOLATED = 10.0  # how far beyond the most compute the power laws are drawn, as a factor
_MANY_POINTS = 200
_DARKEST, _LIGHTEST = 0.0, 0.85  # of the colour map: the end of viridis is too pale for a line on white


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
        text = f"{_NAMES[approach]}: {symbol} ~ C^{exponent}, {exponent} = {line.exponent:.2f} [{low:.2f}, {high:.2f}]"
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
    ax.fill_between(grid, *line.interval(grid, level), color=colour, alpha=0.12, lw=0)


def plot_isoflop(result: OptimalAllocation, *, ax: Axes | None = None, y_label: str = "upstream error") -> Axes:
    """Error against model size at each budget of compute: runs, parabola, and its vertex as a star.

    A refused budget has hollow runs, a dotted parabola and no star.

    Args:
        result: from `optimal_allocation`.
        ax: where to draw; a new figure without.
        y_label: what the runs' y is.

    Raises:
        FitError: the IsoFLOP approach was not had.
    """
    budgets = result.fits["isoflop"].budgets if "isoflop" in result.fits else None
    if budgets is None:
        raise FitError(f"no IsoFLOP budgets: {result.reasons.get('isoflop', 'the approach was not asked for')}")
    ax = ax or new_axes()
    table, size = budgets.table, np.exp(budgets.runs.log_n)
    colours = colormaps["viridis"](np.linspace(_DARKEST, _LIGHTEST, len(table)))
    for row, (colour, compute, reason) in enumerate(zip(colours, table["compute_flops"], table["reason"], strict=True)):
        own = budgets.budget == row
        line, fill, note = ("-", colour, "") if reason == "" else (":", "none", " (refused)")
        ax.plot(size[own], budgets.runs.y[own], "o", color=colour, ms=4.5, mfc=fill)
        if own.any() and np.isfinite(budgets.middle[row]):
            grid = np.geomspace(size[own].min(), size[own].max(), 100)
            ax.plot(grid, budgets.parabola(row, grid), line, color=colour, lw=1.5)
        ax.plot([], [], f"o{line}", color=colour, ms=4.5, mfc=fill, label=amount(float(compute)) + note)
    star = {"color": LAW_COLOUR, "ms": 11, "mec": "white", "mew": 0.7, "zorder": 5}
    ax.plot(table["num_params"], table["y"], "*", label="vertex", **star)
    ax.set(xscale="log", xlabel="model size (parameters)", ylabel=y_label)
    legend_beside(ax, title="compute", fontsize="small", title_fontsize="small")
    return ax
