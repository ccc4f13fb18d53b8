"""Figures of upstream accuracy as the sufficient predictor of downstream accuracy."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..fitting.fit import Fit
from ..transfer import SameCurve, Sufficiency
from .legends import legend
from .style import TRANSFER_COLOUR, draw_points, new_axes, style_of
from .words import shown_name

__all__ = ["plot_same_curve", "plot_sufficiency"]

_LEGEND_LINE = 0.06  # height of an entry of a legend, as a share of the axis
_FACTORS = {"num_params": "parameters", "train_examples": "training images", "step": "steps"}


def plot_sufficiency(result: Sufficiency, factor: str | None = None, *, ax: Axes | None = None) -> Axes:
    """What Eq. 1 leaves of downstream accuracy, against a factor: size, number of images, steps.

    Args:
        result: from `sufficient_predictor`.
        factor: which; None: the first.
        ax: where to draw; a new figure without.
    """
    factor = next(iter(result.factors)) if factor is None else factor
    if factor not in result.factors:
        raise ValueError(f"factor must be one of {tuple(result.factors)}, got {factor!r}")
    ax = ax or new_axes()
    ax.axhline(0, color=TRANSFER_COLOUR, lw=2, label="Eq. 1 on upstream accuracy alone")
    draw_points(ax, result.factors[factor], result.residuals, None)
    row = result.table.set_index("factor").loc[factor]
    text = (
        f"rank correlation {row['rank_correlation']:+.2f}\n"
        f"at equal upstream accuracy, 10x is worth\n{row['slope']:+.4f} [{row['low']:+.4f}, {row['high']:+.4f}],"
        f" p = {row['p_value']:.2g}"
    )
    ax.annotate(text, (0.02, 0.98), xycoords="axes fraction", va="top", fontsize="small")
    top = 1.7 * np.max(np.abs(result.residuals), initial=1e-12)  # room for the words
    ax.set(
        xscale="log",
        xlabel=_FACTORS.get(factor, shown_name(factor.replace("_", " "))),
        ylabel="downstream accuracy less Eq. 1",
        ylim=(-top, top),
    )
    legend(ax, "lower right")
    return ax


def plot_same_curve(result: SameCurve, *, task: str = "downstream", ax: Axes | None = None) -> Axes:
    """Downstream against upstream accuracy of several arms of runs, with the one curve fitted to all of them.

    Args:
        result: from `same_curve`.
        task: for the label of the axis.
        ax: where to draw; a new figure without.
    """
    ax = ax or new_axes()
    upstream, downstream, names = 1 - result.fit.x, 1 - result.fit.y, [str(arm) for arm in result.arms]
    _draw_arms(ax, upstream, downstream, names)
    grid = np.linspace(upstream.min(), upstream.max(), 200)
    ax.plot(grid, 1 - result.fit.predict(1 - grid), color=TRANSFER_COLOUR, lw=2, label=_label(result.fit))
    freedom = f"F({result.num_added}, {result.degrees_of_freedom}) = {result.statistic:.2f}"
    text = f"an arm's own {result.effect}: {freedom}, p = {result.p_value:.2g}"
    ax.set_title(text, fontsize="small", loc="left")
    ax.set(xlabel="upstream accuracy", ylabel=f"{shown_name(task)} accuracy")
    bottom, top = ax.get_ylim()
    num_lines = len(ax.get_legend_handles_labels()[0])
    ax.set_ylim(bottom, top + (top - bottom) * _LEGEND_LINE * (num_lines + 1))  # room for the legend
    legend(ax, "upper left")
    return ax


def _draw_arms(ax: Axes, x: np.ndarray, y: np.ndarray, names: list[str]) -> None:
    """Open markers: where arms trace one curve, their points lie on one another."""
    arms = sorted(set(names))
    for arm in arms:
        colour, marker = style_of(arm, arms)
        member = np.array(names) == arm
        ax.plot(x[member], y[member], marker, color=colour, mfc="none", mew=1.3, ms=6, label=shown_name(arm))


def _label(fit: Fit) -> str:
    values: dict[str, Any] = {name: f"{value:.3g}" for name, value in fit.params.items()}
    return "one curve: " + ", ".join(f"{name} = {value}" for name, value in values.items())
