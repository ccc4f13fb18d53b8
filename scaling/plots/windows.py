"""Figure of fits to one window of upstream accuracy and what they say of others."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes

from ..transfer import WindowComparison
from ..transfer.hull_distance import hull_line
from .legends import legend_above
from .style import LAW_COLOUR, STYLES, new_axes
from .words import shown_name

__all__ = ["plot_windows"]

_WINDOW_COLOUR, _HELD_OUT_COLOUR = "#56B4E9", "#E69F00"
_SHOWN = (0.01, 0.99)  # quantiles of the curves: at its left end a hull is steep, and the difference to it large
_ROOM = 0.3  # of the height of the curves, below the lowest and above the highest


def plot_windows(
    comparison: WindowComparison, *, fits: Sequence[str] | None = None, from_hull: bool = False, ax: Axes | None = None,
    task: str = "downstream",
) -> Axes:  # fmt: skip
    """All models, the fitted window and what is held out shaded apart, each fit's law: dashed beyond its window.

    Args:
        comparison: from `compare_windows`.
        fits: which of its fits are drawn; all without.
        from_hull: draw all accuracies less the hull of all models, which tells laws apart that are near it.
        ax: where to draw; a new figure without.
        task: for the label of the axis.

    Raises:
        ValueError: a fit that the comparison does not have.
    """
    names = tuple(comparison.fits if fits is None else fits)
    for name in names:
        if name not in comparison.fits:
            raise ValueError(f"fits must be among {tuple(comparison.fits)}, got {name!r}")
    ax = ax or new_axes()
    us, ds = comparison.upstream, comparison.downstream
    base = _hull(us, ds) if from_hull else np.zeros_like
    ax.plot(us, ds - base(us), ".", color="0.7", ms=3, mew=0, label="models", rasterized=us.size > 1000)
    _shade(ax, comparison, base)
    curves = [_draw_law(ax, comparison, name, STYLES[place % len(STYLES)][0], base) for place, name in enumerate(names)]
    # The laws and the best models, not the worst, are what the figure is about.
    best = float(np.max(ds - base(us)))
    drawn = np.quantile(np.concatenate([*curves, [best]]), _SHOWN)
    room = _ROOM * float(np.ptp(drawn))
    low, high = float(drawn[0]) - room, max(float(drawn[1]), best) + room
    what = f"{shown_name(task)} accuracy" + (" less that of the hull" if from_hull else "")
    ax.set(xlabel="upstream accuracy", ylabel=what, xlim=(us.min(), us.max()))
    ax.set_ylim((low, high) if from_hull else (max(low, 0.0), min(high, 1.0)))
    legend_above(ax, markerscale=3)
    return ax


def _hull(us: np.ndarray, ds: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The hull at upstream accuracies, level right of the best model."""
    corners = hull_line(us, ds, "flat_right")
    return lambda at: np.interp(at, *corners)


def _draw_law(
    ax: Axes, comparison: WindowComparison, name: str, colour: str, base: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """The law, whose values where it was fitted or is held out are returned."""
    low, high = float(comparison.upstream.min()), float(comparison.upstream.max())
    start, end = np.clip(comparison.fit_window, low, high)
    held = comparison.table[comparison.table["fit"] == name].iloc[0]
    curves = []
    for part, line in (((low, start), "--"), ((start, end), "-"), ((end, high), "--")):
        grid = np.linspace(*part, 200)
        curves.append(comparison.fits[name].predict(grid) - base(grid))
        label = f"{name}: held-out hull {held['hull_mae']:.4f} off" if line == "-" else None
        ax.plot(grid, curves[-1], line, color=colour, lw=2, label=label)
    return np.concatenate(curves[1:])


def _shade(ax: Axes, comparison: WindowComparison, base: Callable[[np.ndarray], np.ndarray]) -> None:
    low, high = float(comparison.upstream.min()), float(comparison.upstream.max())
    span = np.clip(comparison.fit_window, low, high)
    ax.axvspan(*span, color=_WINDOW_COLOUR, alpha=0.12, lw=0, label="fitted window")
    for place, held in enumerate(comparison.held_out):
        first = place == 0
        span = np.clip(held.window, low, high)
        ax.axvspan(*span, color=_HELD_OUT_COLOUR, alpha=0.15, lw=0, label="held out" if first else None)
        us, ds = held.hull
        ax.plot(
            us, ds - base(us), "-", color=LAW_COLOUR, lw=1, label="hull of all models up to there" if first else None
        )
