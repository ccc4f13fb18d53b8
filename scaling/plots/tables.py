"""Figures of fair tables: two rows task by task, factors, rank flips, audits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from ..frames import check_columns
from ..tables.audit import CHECKS
from ..tables.factors import factor_ranges, factor_steps, one_direction
from ..tables.ranks import RankFlips
from ..tables.rows import RowComparison
from .legends import legend, legend_above
from .style import STYLES, label_column, new_axes, style_of
from .words import shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["QUANTITIES", "name_rows", "plot_audit", "plot_factors", "plot_rank_flips", "plot_row_comparison"]

QUANTITIES = {
    "difference_in_sd": "difference in units of the larger SD", "difference": "difference",
    "error_cut": "share of the error cut",
}  # fmt: skip
_BLUE, _VERMILION, _GREY = STYLES[0][0], STYLES[1][0], STYLES[5][0]
_OUTCOME_COLOURS = {"win": _BLUE, "loss": _VERMILION, "tie": "0.35", "undecided": _GREY}
_BOUNDS = ("sign", "law end")  # kinds of checks where what follows is a bound
_ROW_INCHES, _FRAME_INCHES = 0.32, 1.4  # height of a figure with a line of text a row


def plot_row_comparison(
    result: RowComparison, *, quantity: str | None = None, ax: Axes | None = None, x_label: str | None = None
) -> Axes:
    """A bar a task, coloured by win, tie and loss, with its number.

    Args:
        result: from `compare_rows`.
        quantity: "difference_in_sd", the default where any task has an SD, "difference", the default otherwise, or
            "error_cut" where the result has it.
        ax: where to draw; a new figure without.
        x_label: of the axis, such as one with the unit of a difference.

    Raises:
        ValueError: an unknown quantity, or one that the result lacks.
    """
    if quantity is None:
        quantity = "difference_in_sd" if result.table["difference_in_sd"].notna().any() else "difference"
    if quantity not in QUANTITIES or quantity not in result.table:
        raise ValueError(f"quantity must be one of {[q for q in QUANTITIES if q in result.table]}, got {quantity!r}")
    table = result.table
    ax = ax or _tall_axes(len(table))
    values, place = table[quantity].to_numpy(), np.arange(len(table))
    for outcome, colour in _OUTCOME_COLOURS.items():
        of = (table["outcome"] == outcome).to_numpy() & np.isfinite(values)
        if of.any():
            ax.barh(place[of], values[of], height=0.6, color=colour, label=f"{outcome} ({of.sum()})")
    for y, value in zip(place, values, strict=True):
        aside = {"xytext": (-4, 0), "ha": "right"} if value < 0 else {"xytext": (4, 0), "ha": "left"}
        end = value if np.isfinite(value) else 0.0
        ax.annotate(
            _bar_text(value, quantity), (end, y), textcoords="offset points", va="center", fontsize="small", **aside
        )
    ax.axvline(0, color="0.3", lw=1)
    ax.set_xmargin(0.15)
    name_rows(ax, [shown_name(task) for task in table.index])
    ax.set(
        title=f"{shown_name(result.name_a)} against {shown_name(result.name_b)}", xlabel=x_label or QUANTITIES[quantity]
    )
    if quantity == "error_cut":
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    legend(ax, "best")
    return ax


def plot_factors(differences: pd.DataFrame, *, ax: Axes | None = None, x_label: str = "change of the metric") -> Axes:
    """One-factor differences by factor and step: what going from one value of it to another changed.

    Refused pairs stand apart, without a direction: by the size of their difference.

    Args:
        differences: from `factor_differences`.
        ax: where to draw; a new figure without.
        x_label: of the axis, with the unit of the metric.
    """
    pairs, steps = one_direction(differences), factor_steps(differences)
    refused = np.abs(differences.loc[differences["refused"].to_numpy(dtype=bool), "difference"].to_numpy())
    factors = sorted(map(str, factor_ranges(differences).index))
    ax = ax or _tall_axes(round(1.5 * len(steps)) + 3)
    shown = [[shown_name(part) for part in step] for step in steps.index]
    names = [f"{factor}: {a} → {b} ({num})" for (factor, a, b), num in zip(shown, steps["num_pairs"], strict=True)]
    changes = dict(list(pairs.groupby(["factor", "value_a", "value_b"], sort=False)["difference"]))
    for place, step in enumerate(steps.index):
        values = changes[step].to_numpy()
        colour, marker = style_of(str(step[0]), factors)
        ax.plot(values, place + _scatter(values.size), marker, color=colour, ms=7, alpha=0.85, mew=0)
        ax.plot([steps["mean"].iloc[place]] * 2, [place - 0.35, place + 0.35], color="0.2", lw=1.5)
    if refused.size:
        place = len(names)
        names.append(f"refused, either way ({refused.size}):\n2+ factors or unknown")
        ax.plot(refused, place + _scatter(refused.size), "x", color=_GREY, ms=4, alpha=0.7)
        ax.axhline(place - 0.5, color="0.3", lw=1, ls="--")
    ax.axvline(0, color="0.3", lw=1)
    name_rows(ax, names)
    ax.set(xlabel=x_label, title="one-factor pairs (bar: mean)")
    return ax


def plot_rank_flips(result: RankFlips, *, ax: Axes | None = None, y_label: str = "value") -> Axes:
    """Each model's value from condition to condition: lines that cross are rank flips.

    Args:
        result: from `rank_flips`.
        ax: where to draw; a new figure without.
        y_label: of the axis, with its unit.
    """
    ax = ax or new_axes()
    values, flipped = result.values, {*result.flips["model_a"], *result.flips["model_b"]}
    names = sorted(map(str, values.index))
    ends = []
    for model, row in zip(values.index, values.to_numpy(), strict=True):
        colour, marker = style_of(str(model), names)
        lw, alpha = (2.0, 1.0) if model in flipped else (1.0, 0.6)
        ax.plot(range(row.size), row, f"-{marker}", color=colour, ms=7, lw=lw, alpha=alpha)
        known = np.flatnonzero(np.isfinite(row))
        if known.size and known[-1] == row.size - 1:
            ends.append((row[-1], str(model), colour))
    ax.set_xticks(range(values.shape[1]), [shown_name(name) for name in values.columns])
    ax.set(xlim=(-0.15, values.shape[1] - 0.55), ylabel=y_label)
    heights, labels, colours = zip(*ends, strict=True) if ends else ((), (), ())
    label_column(ax, values.shape[1] - 1, np.array(heights), labels, colours)
    ax.set_title(f"{result.counts()}\n(models in them: thick)", fontsize="medium")
    return ax


def plot_audit(checks: pd.DataFrame, *, ax: Axes | None = None, x_label: str = "value") -> Axes:
    """Printed against what follows (of signs and of law ends: the bound), a line a check, with what rounding explains.

    Args:
        checks: from an audit, of quantities in one unit; an empty table gives "nothing found".
        ax: where to draw; a new figure without.
        x_label: of the axis, with its unit.

    Raises:
        ValueError: `checks` lacks a column of an audit.
    """
    check_columns(checks, *CHECKS)
    ax = ax or _tall_axes(len(checks))
    ax.set(xlabel=x_label)
    if not len(checks):
        ax.text(0.5, 0.5, "nothing found", transform=ax.transAxes, ha="center", va="center")
        ax.set(xticks=[], yticks=[])
        return ax
    place, bad = np.arange(len(checks)), ~checks["is_consistent"].to_numpy(dtype=bool)
    printed, follows = checks["printed"].to_numpy(), checks["follows"].to_numpy()
    ax.hlines(place[bad], printed[bad], follows[bad], color=_VERMILION, lw=2)
    ax.errorbar(
        follows, place, xerr=checks["tolerance"].to_numpy(), fmt="|", color="0.35", ms=12, mew=2, lw=1.5, capsize=3,
        label=("bound" if set(checks["kind"]) <= set(_BOUNDS) else "follows") + ", and rounding",
    )  # fmt: skip
    for which, colour, marker, label in ((~bad, _BLUE, "D", "printed"), (bad, _VERMILION, "s", "contradicts")):
        if which.any():
            ax.plot(printed[which], place[which], marker, color=colour, ms=6, label=f"{label} ({which.sum()})")
    name_rows(ax, [shown_name(where) for where in checks["where"]])
    legend_above(ax, "right", num_columns=3)
    return ax


def _bar_text(value: float, quantity: str) -> str:
    if not np.isfinite(value):
        return "unknown"
    if value == 0:
        return "0"
    if quantity == "error_cut":
        return f"{value:+.0%}" if abs(value) >= 0.005 else f"{value:+.1g}"
    if quantity == "difference":
        return f"{value:+.3g}"
    return f"{value:+.1f}" if abs(value) >= 0.05 else f"{value:+.1g}"


def _tall_axes(num_rows: int) -> Axes:
    ax = new_axes()
    figure = ax.get_figure(root=True)
    if figure is not None:
        figure.set_figheight(max(3.0, _ROW_INCHES * num_rows + _FRAME_INCHES))
    return ax


def name_rows(ax: Axes, names: list[str]) -> None:
    """The first row on top."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)


def _scatter(size: int) -> np.ndarray:
    """Small offsets that keep points of one row apart, the same each time."""
    return 0.5 * ((np.arange(size) * 0.618034) % 1 - 0.5)
