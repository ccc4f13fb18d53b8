"""Figures of compute-optimal shapes."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from ..errors import FitError
from ..frontier import ShapeFit
from .legends import legend_beside
from .style import LAW_COLOUR, new_axes, shades
from .words import amount, shown_name

__all__ = ["plot_shapes"]

_MOST_LEVELS = 6  # values of compute drawn, evenly chosen
_NUM_PATH = 60  # points of the line through the optima
_UNITS = {"mlp_dim": "MLP width"}


def plot_shapes(
    result: ShapeFit, dimension: str, *, level: float = 0.95, ax: Axes | None = None, y_label: str = "upstream error"
) -> Axes:
    """Error against one dimension of the shape at several values of compute, with the optimum of each as a star.

    The bar of a star is the interval of the optimum; a grey line joins the optima. Optima outside the sweep are not
    drawn.

    Args:
        result: from `fit_shapes`.
        dimension: which, e.g. "depth".
        level: of the intervals.
        ax: where to draw; a new figure without.
        y_label: what the runs' y is.

    Raises:
        FitError: the sweep does not show the optimum of that dimension.
    """
    if dimension not in result.draws:
        raise FitError(f"no optimum of {dimension!r}: {result.reasons.get(dimension, f'there is {[*result.draws]}')}")
    ax = ax or new_axes()
    fit = result.draws[dimension].fit
    x, compute = fit.x.T
    sweep, levels = np.unique(x), np.unique(compute)
    shown = levels[np.unique(np.linspace(0, levels.size - 1, min(levels.size, _MOST_LEVELS)).round().astype(int))]
    for t, colour in zip(shown, shades(shown.size), strict=True):
        ax.plot(x[compute == t], fit.y[compute == t], "o", color=colour, ms=4.5, mew=0)
        grid = np.geomspace(sweep[0], sweep[-1], 100)
        ax.plot(grid, _law(result, dimension, grid, t), "-", color=colour, lw=1.5)
        ax.plot([], [], "o-", color=colour, ms=4.5, label=amount(t))
        _draw_optimum(ax, result, dimension, float(t), level, (sweep[0], sweep[-1]))
    _draw_path(ax, result, dimension, levels)
    row = result.exponent_table(level).set_index("dimension").loc[dimension]
    label = f"optimum ~ C^s,\ns = {row['s']:.2f} [{row['s_low']:.2f}, {row['s_high']:.2f}]"
    ax.plot([], [], "*", color=LAW_COLOUR, ms=10, label=label)
    ax.set(xscale="log", xlabel=_UNITS.get(dimension, shown_name(dimension)), ylabel=y_label)
    ax.xaxis.set_major_locator(FixedLocator(sweep.tolist()))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter("{x:g}")
    legend_beside(ax, title="compute", fontsize="small", title_fontsize="small")
    return ax


def _law(result: ShapeFit, dimension: str, x: np.ndarray, compute: float | np.ndarray) -> np.ndarray:
    fit = result.draws[dimension].fit
    return fit.predict(np.stack([x, np.broadcast_to(compute, x.shape)], axis=-1))


def _draw_optimum(
    ax: Axes, result: ShapeFit, dimension: str, compute: float, level: float, ends: tuple[float, float]
) -> None:
    best = result.optimum(dimension, [compute], level)
    if ends[0] < best.median[0] < ends[1]:
        at = _law(result, dimension, best.median, compute)
        bar = np.clip([best.low[0], best.high[0]], *ends)
        ax.plot(bar, [at[0], at[0]], "-", color=LAW_COLOUR, lw=1.2, zorder=4)
        ax.plot(best.median, at, "*", color=LAW_COLOUR, ms=11, mec="white", mew=0.7, zorder=5)


def _draw_path(ax: Axes, result: ShapeFit, dimension: str, levels: np.ndarray) -> None:
    x = result.draws[dimension].fit.x[:, 0]
    compute = np.geomspace(levels[0], levels[-1], _NUM_PATH)
    best = result.optimum(dimension, compute)
    inside = (best > x.min()) & (best < x.max())
    ax.plot(best[inside], _law(result, dimension, best[inside], compute[inside]), "-", color="0.6", lw=1, zorder=3)
