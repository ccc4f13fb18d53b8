"""Figures of the best models, held out and predicted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from ..transfer import BestModels, Rule
from .legends import legend_above
from .style import LAW_COLOUR, STYLES, TRANSFER_COLOUR, label_points, new_axes
from .words import shown_name

__all__ = ["plot_best_models"]

_SHOWN = (Rule("transfer", "stochastic"), Rule("logit", "pareto"), Rule("logit", "all"))
_SHOWN_LEFT = 3.0  # of the models fitted, how many times the range of those held out
_LINE_COLOURS = (TRANSFER_COLOUR, STYLES[1][0], STYLES[2][0], STYLES[3][0], STYLES[4][0], STYLES[0][0])
_LINE_STYLES = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)))


def plot_best_models(
    best: BestModels, *, rules: Sequence[Rule] | None = None, ax: Axes | None = None, task: str = "downstream",
    num_named: int = 1,
) -> Axes:  # fmt: skip
    """Models fitted, models held out, and what each rule says of these: where it is thick, it is a prediction.

    Only the models fitted that are not far from those held out are shown; the legend counts the others.

    Args:
        best: from `predict_best_models`.
        rules: which to draw; those without a fit are named in the legend. Without, the edge of all models and the two
            logit lines as far as they were asked for, or else all that were.
        ax: where to draw; a new figure without.
        task: for the label of the axis.
        num_named: how many of the held-out models, the best downstream, are named.
    """
    ax = ax or new_axes()
    if rules is None:
        rules = [rule for rule in _SHOWN if rule in best.reasons] or list(best.reasons)
    held, frontier = best.is_held_out, best.is_held_out & best.is_on_frontier
    cut, most = float(best.upstream[held].min()), float(best.upstream.max())
    least = max(cut - _SHOWN_LEFT * max(most - cut, 0.01), float(best.upstream.min()))
    shown = best.upstream >= least
    limits = _limits(best.upstream[shown]), _limits(best.downstream[shown])
    fitted = "models fitted" if shown.all() else f"models fitted ({np.sum(~shown)} further left)"
    ax.plot(best.upstream[~held], best.downstream[~held], "o", color="0.75", ms=3.5, mew=0, label=fitted)
    ax.plot(best.upstream[held], best.downstream[held], "D", color="0.35", ms=4, mew=0, label="models held out")
    circled = {"mfc": "none", "mec": LAW_COLOUR, "ms": 8, "label": "of them on the frontier"}
    ax.plot(best.upstream[frontier], best.downstream[frontier], "D", **circled)
    ax.axvline(cut, color="0.6", lw=1, ls=":")
    for place, rule in enumerate(rules):
        _draw_rule(ax, best, rule, cut, limits[0], place)
    ax.set(xlim=limits[0], ylim=limits[1], xlabel="upstream accuracy", ylabel=f"{shown_name(task)} accuracy")
    rows = np.flatnonzero(held)
    named = rows[np.argsort(-best.downstream[rows], kind="stable")[:num_named]]
    label_points(ax, best.upstream[named], best.downstream[named], [best.names[i] for i in named], LAW_COLOUR)
    legend_above(ax)
    return ax


def _draw_rule(ax: Axes, best: BestModels, rule: Rule, cut: float, limits: tuple[float, float], place: int) -> None:
    colour, style = _LINE_COLOURS[place % len(_LINE_COLOURS)], _LINE_STYLES[place % len(_LINE_STYLES)]
    if rule not in best.fits:
        ax.plot([], [], ls="none", label=f"{rule.name}: {'no fit' if rule in best.reasons else 'not fitted'}")
        return
    start, end = max(limits[0], 1e-3), min(limits[1], 0.999)
    for low, high, width, label in ((start, cut, 1.0, None), (cut, end, 2.5, f"{rule.name} ({rule.predicts} model)")):
        grid = np.linspace(low, high, 100)
        band = best.predict(rule, grid)
        ax.plot(grid, band.median, ls=style, color=colour, lw=width, label=label)
        if width > 1:
            ax.fill_between(grid, band.low, band.high, color=colour, alpha=0.15, lw=0)


def _limits(values: np.ndarray) -> tuple[float, float]:
    margin = 0.05 * float(np.ptp(values))
    return max(float(values.min()) - margin, 0.0), min(float(values.max()) + 2 * margin, 1.0)
