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
_LAW_COLOUR, _TRANSFER_COLOUR = "#222222", "#009E73"
_ERROR_TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, *(k / 10 for k in range(2, 11)))
_EXTRAPOLATED = 3.0  # how far beyond the best run a law is drawn, as a factor of x


def plot_frontier(
    front: FrontierFit, *, groups: Sequence[Any] | None = None, level: float = 0.95, ax: Axes | None = None,
    x_label: str = "training compute (FLOPs)", y_label: str = "upstream error",
) -> Axes:  # fmt: skip
    """All runs, the frontier, its law with a band, and the irreducible error as a line.

    Args:
        front: from `fit_frontier`.
        groups: a label a run, for colour and marker, e.g. its family.
        level: of the band.
        ax: where to draw; a new figure without.
    """
    ax = ax or _new_axes()
    _draw_points(ax, front.x, front.y, groups)
    ax.plot(front.x[front.selected], front.y[front.selected], "o", mfc="none", mec=_LAW_COLOUR, ms=9, label="frontier")
    start = front.x[front.selected].min()
    grid = np.geomspace(start, front.x.max() * _EXTRAPOLATED, 200)
    band = front.predict(grid, level)
    fitted = grid <= front.x[front.selected].max()
    law = front.fit.predict(grid)
    ax.plot(grid[fitted], law[fitted], "-", color=_LAW_COLOUR, label=f"law {_formula(front.fit)}")
    ax.plot(grid[~fitted], law[~fitted], "--", color=_LAW_COLOUR)
    ax.fill_between(grid, band.low, band.high, color=_LAW_COLOUR, alpha=0.15, lw=0, label=f"{level:.0%} band")
    ax.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
    _error_axis(ax, front.y)
    if front.params.get("c", 0.0) > ax.get_ylim()[0]:
        ax.axhline(front.params["c"], color=_LAW_COLOUR, lw=1, ls=":", label=_irreducible(front, level))
    ax.legend(fontsize="small", frameon=False, loc="lower left")
    return ax


def plot_transfer(
    trans: TransferFit, *, groups: Sequence[Any] | None = None, level: float = 0.95, ax: Axes | None = None,
    task: str = "downstream", chance: float | None = None,
) -> Axes:  # fmt: skip
    """Downstream against upstream accuracy: models, hull, Eq. 1 with a band up to upstream accuracy 1, saturation.

    Args:
        trans: from `fit_transfer`.
        groups: a label a model, for colour and marker.
        level: of the band.
        ax: where to draw; a new figure without.
        task: for the label of the axis.
        chance: accuracy of a guess, drawn as a line.
    """
    ax = ax or _new_axes()
    _draw_points(ax, trans.upstream, trans.downstream, groups)
    hull = trans.selected
    ax.plot(trans.upstream[hull], trans.downstream[hull], "-o", color=_LAW_COLOUR, mfc="none", ms=8, lw=1, label="hull")
    grid = np.linspace(trans.upstream[hull].min(), 0.999, 300)
    band = trans.predict(grid, level)
    fitted = grid <= trans.upstream[hull].max()
    ax.plot(grid[fitted], band.median[fitted], "-", color=_TRANSFER_COLOUR, lw=2, label="k e^alpha + e_IR")
    ax.plot(grid[~fitted], band.median[~fitted], "--", color=_TRANSFER_COLOUR, lw=2)
    ax.fill_between(grid, band.low, band.high, color=_TRANSFER_COLOUR, alpha=0.18, lw=0, label=f"{level:.0%} band")
    ax.axhline(trans.saturation, color=_TRANSFER_COLOUR, lw=1, ls=":")
    above = {"textcoords": "offset points", "xytext": (3, 3), "fontsize": "small", "color": _TRANSFER_COLOUR}
    is_straight = any(warning.kind == "hidden_curvature" for warning in trans.warnings)
    text = "end of a straight line: no saturation seen" if is_straight else f"saturation {trans.saturation:.2f}"
    ax.annotate(text, (0, trans.saturation), **above)
    if chance is not None:
        ax.axhline(chance, color="0.6", lw=1, ls="-.", label="chance")
    top = min(1.05, 1.25 * max(trans.downstream.max(), trans.saturation))
    ax.set(xlabel="upstream accuracy", ylabel=f"{task} accuracy", xlim=(0, 1), ylim=(0, top))
    ax.legend(fontsize="small", frameon=False, loc="lower right")
    return ax


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
        colour, marker = _STYLES[place % len(_STYLES)]
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
