"""Figures of straight lines between accuracies on scaled axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from ..transfer import AccuracyLine
from .legends import legend_beside
from .style import LAW_COLOUR, draw_points, new_axes

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["even_grid", "plot_lines", "plot_scalings", "scaled_axes"]

_CURVED = 1e-3  # p value below which the scatter counts as curved

# Round accuracies, the roundest first: later ones are left out where they would touch.
_TICKS = (
    0.5, 0.1, 0.9, 0.01, 0.99, 0.001, 0.999, 0.3, 0.7, 0.8, 0.2, 0.4, 0.6, 0.95, 0.05, 0.85, 0.98, 0.02, 0.75, 0.15,
    0.65, 0.995, 0.005, 0.998, 0.002,
)  # fmt: skip
_LEAST = 1e-6  # distance of a drawn accuracy from 0 and 1
_ENOUGH_TICKS = 3
_MOST_TICKS = 8  # on an axis
_MARGIN = 0.04  # of the axis, beyond the outermost models


def plot_lines(
    line: AccuracyLine, *, groups: Sequence[Any] | None = None, level: float = 0.95, ax: Axes | None = None,
    x_label: str = "upstream accuracy", y_label: str = "downstream accuracy",
) -> Axes:  # fmt: skip
    """Models and their line on the line's scale, with tick labels in accuracy; the band of the line and of a new model.

    Args:
        line: from `fit_line`.
        groups: a label a model of the line (`line.names`), for colour and marker.
        level: of both bands.
        ax: where to draw; a new figure without.
    """
    ax = ax or new_axes()
    draw_points(ax, line.upstream, line.downstream, groups)
    scaled_axes(ax, line, line.upstream, line.downstream)
    limits = ax.get_ylim()
    grid = even_grid(line, *ax.get_xlim())
    new, own = (line.predict(grid, level, kind=kind) for kind in ("prediction", "confidence"))
    label = f"{line.link.name}: R² {line.r2:.3f}, in accuracy {line.r2_accuracy:.3f}"
    ax.plot(grid, own.median, "-", color=LAW_COLOUR, label=label)
    for band, alpha, of in ((own, 0.3, "the line"), (new, 0.1, "a new model")):
        ax.fill_between(
            grid, band.low, band.high, color=LAW_COLOUR, alpha=alpha, lw=0, label=f"{level:.0%} band of {of}"
        )
    ax.set(xlabel=x_label, ylabel=y_label, ylim=limits)
    if line.dropped:
        ax.set_title(f"{len(line.dropped)} models of accuracy 0 or 1 have no place here", fontsize="small", loc="left")
    legend_beside(ax, fontsize="small")
    return ax


def plot_scalings(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """R2 in accuracy of the line on each scale, best on top and filled; beside it, whether the scatter is curved.

    Args:
        table: from `compare_scalings`.
        ax: where to draw; a new figure without.
    """
    ax = ax or new_axes(6.4, 2.6)
    ranked = table.sort_values("r2_accuracy")
    for place, (_, row) in enumerate(ranked.iterrows()):
        ax.plot(row.r2_accuracy, place, "o", ms=8, color=LAW_COLOUR, mfc=LAW_COLOUR if row.is_best else "none")
        curved = f"curved, p = {row.curvature_p:.0e}" if row.curvature_p < _CURVED else f"p = {row.curvature_p:.2g}"
        text = f"{row.r2_accuracy:.3f}  ({curved})"
        ax.annotate(text, (1.02, place), xycoords=("axes fraction", "data"), va="center", fontsize="small")
    ax.set_yticks(range(len(ranked)), [str(name) for name in ranked.index])
    ax.set(xlabel="R² in downstream accuracy", ylim=(-0.6, len(ranked) - 0.4))
    ax.margins(x=0.1)
    ax.set_title("line on each scale; p: of a quadratic term", fontsize="small", loc="left")
    ax.grid(axis="y", color="0.92")
    return ax


def scaled_axes(ax: Axes, line: AccuracyLine, x: np.ndarray, y: np.ndarray) -> None:
    """Both axes on the line's scale, around points, with few ticks at round accuracies."""
    link = line.link

    def forward(p: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):  # matplotlib asks for accuracies beyond 0 and 1 too
            return link.forward(np.clip(p, _LEAST, 1 - _LEAST)) if line.scaling != "identity" else np.asarray(p)

    def backward(z: np.ndarray) -> np.ndarray:
        return link.backward(np.asarray(z, dtype=float))

    for axis, values in (("x", x), ("y", y)):
        inside = values[(values > 0) & (values < 1)] if line.scaling != "identity" else values
        ends = forward(np.array([inside.min(), inside.max()]))
        margin = _MARGIN * max(float(np.ptp(ends)), 1e-6)
        low, high = np.clip(backward(ends + margin * np.array([-1, 1])), 0.0, 1.0)
        getattr(ax, f"set_{axis}scale")("function", functions=(forward, backward))
        getattr(ax, f"set_{axis}lim")(low, high)
        which = ax.xaxis if axis == "x" else ax.yaxis
        if line.scaling != "identity":
            which.set_major_locator(FixedLocator(_round_ticks(forward, low, high)))
        which.set_major_formatter(FuncFormatter(lambda p, _: f"{p:.3g}"))
        which.set_minor_locator(NullLocator())
        which.set_minor_formatter(NullFormatter())


def _round_ticks(forward: Any, low: float, high: float) -> list[float]:
    """Round accuracies inside, so far apart that no two labels touch; finer ones where these are too few."""
    fine = np.round(np.arange(0.01, 1.0, 0.01), 2).tolist()
    apart = float(forward(np.array(high)) - forward(np.array(low))) / _MOST_TICKS
    kept: list[float] = []
    for ticks in (_TICKS, fine):
        for p in ticks if len(kept) < _ENOUGH_TICKS else ():
            if low <= p <= high and all(abs(float(forward(np.array(p)) - forward(np.array(q)))) >= apart for q in kept):
                kept.append(p)
    return sorted(kept)


def even_grid(line: AccuracyLine, low: float, high: float) -> np.ndarray:
    """Accuracies evenly spaced on the line's scale."""
    start, end = line.link.forward(np.clip(np.array([low, high]), _LEAST, 1 - _LEAST))
    return line.link.backward(np.linspace(start, end, 200))
