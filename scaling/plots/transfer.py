"""Figures of downstream against upstream accuracy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..transfer import TransferFit
from .style import BESIDE_COLOUR, LAW_COLOUR, RULES, TRANSFER_COLOUR, draw_points, legend, new_axes

__all__ = ["plot_transfer"]


def plot_transfer(
    trans: TransferFit, *, beside: TransferFit | None = None, groups: Sequence[Any] | None = None, level: float = 0.95,
    ax: Axes | None = None, task: str = "downstream", chance: float | None = None,
) -> Axes:  # fmt: skip
    """Downstream against upstream accuracy: models, Eq. 1 with a band up to upstream accuracy 1, saturation.

    The models marked are those on the hull, joined by lines, or of a stochastic frontier those near it; a cross marks
    each anchor of the hull's ends.

    Args:
        trans: from `fit_transfer`.
        beside: another fit to the same models, whose law is drawn in a second colour.
        groups: a label a model, for colour and marker.
        level: of the band.
        ax: where to draw; a new figure without.
        task: for the label of the axis.
        chance: accuracy of a guess, drawn as a line.
    """
    ax = ax or new_axes()
    draw_points(ax, trans.upstream, trans.downstream, groups)
    line, marked = ("-o", "hull") if trans.stochastic is None else ("o", "near the frontier")
    best = np.column_stack([trans.upstream[trans.selected], trans.downstream[trans.selected]])
    hull = np.concatenate([best, trans.anchor_points])
    hull = hull[np.argsort(hull[:, 0], kind="stable")]
    ax.plot(*hull.T, line, color=LAW_COLOUR, mfc="none", ms=8, lw=1, label=marked)
    if len(trans.anchor_points):
        name = f"anchor: {', '.join(trans.anchors)}"
        ax.plot(*trans.anchor_points.T, "x", color=LAW_COLOUR, ms=9, mew=2, label=name)
    for result, colour, place in ((trans, TRANSFER_COLOUR, 0.0), (beside, BESIDE_COLOUR, 0.3)):
        if result is not None:
            _draw_transfer_law(ax, result, level, colour, place)
    if chance is not None:
        ax.axhline(chance, color="0.6", lw=1, ls="-.", label="chance")
    top = min(1.05, 1.25 * max(trans.downstream.max(), trans.saturation))
    ax.set(xlabel="upstream accuracy", ylabel=f"{task} accuracy", xlim=(0, 1), ylim=(0, top))
    legend(ax, "lower right")
    return ax


def _draw_transfer_law(ax: Axes, trans: TransferFit, level: float, colour: str, place: float) -> None:
    models = trans.upstream[trans.selected] if trans.stochastic is None else trans.upstream
    grid = np.linspace(models.min(), 0.999, 300)
    band, fitted = trans.predict(grid, level), grid <= models.max()
    ax.plot(
        grid[fitted], band.median[fitted], "-", color=colour, lw=2, label=f"{RULES[trans.selection]}: k e^alpha + e_IR"
    )
    ax.plot(grid[~fitted], band.median[~fitted], "--", color=colour, lw=2)
    ax.fill_between(grid, band.low, band.high, color=colour, alpha=0.18, lw=0, label=f"{level:.0%} band")
    ax.axhline(trans.saturation, color=colour, lw=1, ls=":")
    above = {"textcoords": "offset points", "xytext": (3, 3), "fontsize": "small", "color": colour}
    is_straight = any(warning.kind == "hidden_curvature" for warning in trans.warnings)
    text = "end of a straight line: no saturation seen" if is_straight else f"saturation {trans.saturation:.2f}"
    ax.annotate(text, (place, trans.saturation), **above)
