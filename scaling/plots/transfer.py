"""Figures of downstream against upstream accuracy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..transfer import TransferFit
from ..transfer.fit import HIDDEN_ALPHA
from .legends import legend_clear
from .style import BESIDE_COLOUR, LAW_COLOUR, TRANSFER_COLOUR, draw_points, new_axes
from .words import SELECTION_LABELS, shown_name

__all__ = ["plot_transfer"]

_MOST_RINGS = 40  # of models; more are smaller and faded, so that the models can be seen below them
_NEAR = 0.08  # of the axis: two saturations nearer than that have their texts one above the other
_LINE_POINTS = 12  # from one text to the next
_MARGIN = 0.05  # left of and below the models, of the range up to upstream accuracy 1


def plot_transfer(
    trans: TransferFit, *, beside: TransferFit | None = None, groups: Sequence[Any] | None = None, level: float = 0.95,
    ax: Axes | None = None, task: str = "downstream", chance: float | None = None,
) -> Axes:  # fmt: skip
    """Downstream against upstream accuracy: models, Eq. 1 with a band up to upstream accuracy 1, saturation.

    The models marked are those on the hull, joined by lines, or of a stochastic frontier those near it; a cross marks
    each anchor of the hull's ends. The axis begins at the models and ends at 1, where the saturation is read, which is
    not drawn where the models contradict the law.

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
    ring: dict[str, Any] = {"ms": 8} if len(best) <= _MOST_RINGS else {"ms": 4, "mew": 0.4, "alpha": 0.12}
    look: dict[str, Any] = {"color": LAW_COLOUR, "mfc": "none", "lw": 1}
    ax.plot(*hull.T, line, **look, **ring)
    ax.plot([], [], line, **look, ms=6, label=marked)  # in the legend faded ones could not be seen
    if len(trans.anchor_points):
        name = f"anchor: {', '.join(trans.anchors)}"
        ax.plot(*trans.anchor_points.T, "x", color=LAW_COLOUR, ms=9, mew=2, label=name)
    laws = [(law, colour) for law, colour in ((trans, TRANSFER_COLOUR), (beside, BESIDE_COLOUR)) if law is not None]
    for law, colour in laws:
        _draw_transfer_law(ax, law, level, colour)
    if chance is not None:
        ax.axhline(chance, color="0.6", lw=1, ls="-.", label="chance")
    shown = trans.downstream if chance is None else np.append(trans.downstream, chance)
    ends = [(law, colour) for law, colour in laws if not _is_refuted(law)]
    values = [*(law.saturation for law, _ in ends), *shown]
    ax.set(xlabel="upstream accuracy", ylabel=f"{shown_name(task)} accuracy", xlim=(_below(trans.upstream, 1.0), 1))
    ax.set_ylim(_below(shown, max(values)), min(1.05, max(values) + 0.12 * (max(values) - min(shown))))
    _name_saturations(ax, ends)
    legend_clear(ax)
    return ax


def _below(values: np.ndarray, end: float) -> float:
    """Where an axis to `end` begins: a little below the values, and at no accuracy below 0."""
    return max(float(values.min()) - _MARGIN * (end - float(values.min())), 0.0)


def _band_label(trans: TransferFit, level: float) -> str:
    is_shifted = trans.intervals == "simulated_world"
    return f"{level:.0%} band" + (", the selection's bias taken off" if is_shifted else "")


def _is_refuted(trans: TransferFit) -> bool:
    return trans.stochastic is not None and any(warning.kind == "poor_fit" for warning in trans.warnings)


def _draw_transfer_law(ax: Axes, trans: TransferFit, level: float, colour: str) -> None:
    models = trans.upstream[trans.selected] if trans.stochastic is None else trans.upstream
    grid = np.linspace(models.min(), 0.999, 300)
    band, fitted = trans.predict(grid, level), grid <= models.max()
    law = np.where(band.median > 0, band.median, np.nan)  # where it would be less, it is cut at 0
    ax.plot(
        grid[fitted],
        law[fitted],
        "-",
        color=colour,
        lw=2,
        label=f"{SELECTION_LABELS[trans.selection]}: k e^alpha + e_IR",
    )
    ax.plot(grid[~fitted], law[~fitted], "--", color=colour, lw=2)
    ax.fill_between(grid, band.low, band.high, color=colour, alpha=0.18, lw=0, label=_band_label(trans, level))
    if _is_refuted(trans):
        ax.plot([], [], ls="none", label="the models contradict this law (poor_fit)")
        return
    ax.axhline(trans.saturation, color=colour, lw=1, ls=":")


def _name_saturations(ax: Axes, laws: Sequence[tuple[TransferFit, str]]) -> None:
    """Each above its line, where few models are; of two lines near each other both above the upper."""
    bottom, top = ax.get_ylim()
    at, lift = np.inf, 0
    for trans, colour in sorted(laws, key=lambda law: -law[0].saturation):
        is_near = at - trans.saturation < _NEAR * (top - bottom)
        at, lift = (at, lift + _LINE_POINTS) if is_near else (trans.saturation, 3)
        where = {"xycoords": ax.get_yaxis_transform(), "xytext": (-3, lift), "textcoords": "offset points"}
        ax.annotate(_end(trans), (1.0, at), ha="right", va="bottom", fontsize="small", color=colour, **where)


def _end(trans: TransferFit) -> str:
    if not any(warning.kind == "hidden_curvature" for warning in trans.warnings):
        return f"saturation {trans.saturation:.2f}"
    if trans.params["alpha"] >= HIDDEN_ALPHA:
        return f"{trans.selected.size + len(trans.anchor_points)} points: no curvature seen, so no saturation"
    return "end of a straight line: no saturation seen"
