"""Figure of several laws over the same points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ..ensemble.weighted import EnsembleFit
from ..fitting.fit import Fit
from ..frontier import FrontierFit
from ..selection.hulls import finite_points
from .legends import legend
from .style import (
    BESIDE_COLOUR,
    LAW_COLOUR,
    STYLES,
    TRANSFER_COLOUR,
    decimal_ticks,
    draw_points,
    error_axis,
    first_drawn,
    law_at,
    new_axes,
)
from .words import shown_name

__all__ = ["plot_laws"]

_EXTRAPOLATED = 10.0  # how far beyond the points laws are drawn, as a factor of x
_DASHES = ("--", (0, (6, 2, 1, 2)), (0, (2, 1)), (0, (8, 3)))  # beyond the points: lines that run alike are told apart
_NUM_GRID = 300
_COLOURS = (*(colour for colour, _ in STYLES[:-1]), TRANSFER_COLOUR, BESIDE_COLOUR)  # without grey, which points have

_Laws = Fit | FrontierFit | EnsembleFit


def plot_laws(
    fits: Mapping[str, _Laws], *, points: tuple[ArrayLike, ArrayLike] | None = None,
    groups: Sequence[Any] | None = None, level: float | None = None, kind: str = "confidence",
    up_to: float | None = None, ax: Axes | None = None, x_label: str = "x", y_label: str = "error",
) -> Axes:  # fmt: skip
    """Points, and each law solid over those that it was fitted to, dashed beyond; a law that is known is dotted.

    Known is one without a free parameter: the truth of a simulation, or a law as a paper prints it, is
    `fit_law(law, x, y, fixed=params)` with all its parameters.

    Args:
        fits: by the name in the legend, of laws of one variable that fall with it: from `fit_law`, `fit_frontier` or
            `fit_ensemble`, which is for what lies beyond the points and is drawn from their last factor of 8 on.
        points: x and y of all points to draw; without, those of the first fit.
        groups: a label a point, for colour and marker.
        level: of a band around each law that is not known; none without.
        kind: of the band, as in `Fit.predict`; a frontier has one kind.
        up_to: the largest x drawn; ten times beyond the points if not told.
        ax: where to draw; a new figure without.
        x_label, y_label: what x and y are, with their units.

    Raises:
        ValueError: no fits, or a law of several variables, one that grows, or a line between accuracies.
    """
    if not fits:
        raise ValueError("fits must name at least one, got none")
    for name, fit in fits.items():
        law = None if isinstance(fit, EnsembleFit) else _fit_of(fit).law
        if law is not None and (law.num_inputs > 1 or law.link is not None or law.increasing):
            raise ValueError(f"plot_laws draws laws of one variable that fall with it, got {law.name!r} for {name!r}")
    first = next(iter(fits.values()))
    x, y = finite_points(*points) if points is not None else (first.x, first.y)
    ax = ax or new_axes()
    if groups is None:
        ax.plot(x, y, "o", color="0.65", ms=4.5, mew=0)
    else:
        draw_points(ax, x, y, groups)
    ax.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
    grid = np.geomspace(x.min(), up_to or x.max() * _EXTRAPOLATED, _NUM_GRID)
    places = {name: place for place, name in enumerate(name for name, fit in fits.items() if not _is_known(fit))}
    drawn = [_draw_law(ax, name, fit, grid, places.get(name), level, kind) for name, fit in fits.items()]
    error_axis(ax, np.concatenate([y, *drawn]))
    if x.max() <= 1:
        decimal_ticks(ax.xaxis)
    legend(ax, "best")
    return ax


def _draw_law(
    ax: Axes, name: str, fit: _Laws, grid: np.ndarray, place: int | None, level: float | None, kind: str
) -> np.ndarray:
    """The law, whose values on the grid are returned; one that is known has no place among the colours."""
    law = law_at(fit, grid)
    label = shown_name(name)
    if place is None:
        ax.plot(grid, law, ":", color=LAW_COLOUR, lw=2, label=label, zorder=3)
        return law
    colour = _COLOURS[place % len(_COLOURS)]
    if isinstance(fit, EnsembleFit):
        grid, law = (values[grid >= first_drawn(fit)] for values in (grid, law))
    is_before, is_after = grid < _fitted_x(fit).min(), grid > _fitted_x(fit).max()
    is_fitted = ~is_before & ~is_after
    ax.plot(grid[is_fitted], law[is_fitted], "-", color=colour, label=label)
    for part in (is_before, is_after):
        ax.plot(grid[part], law[part], ls=_DASHES[place % len(_DASHES)], color=colour)
    if level is not None:
        band = law_at(fit, grid, level) if isinstance(fit, FrontierFit) else law_at(fit, grid, level, kind)
        ax.fill_between(grid, band.low, band.high, color=colour, alpha=0.15, lw=0)
    return law


def _is_known(fit: _Laws) -> bool:
    return isinstance(fit, Fit) and fit.num_free == 0


def _fit_of(fit: Fit | FrontierFit) -> Fit:
    return fit.fit if isinstance(fit, FrontierFit) else fit


def _fitted_x(fit: _Laws) -> np.ndarray:
    """x of the points that the law was fitted to; a stochastic frontier is fitted to all."""
    return fit.x[fit.selected] if isinstance(fit, FrontierFit) and fit.stochastic is None else fit.x
