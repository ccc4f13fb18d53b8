"""Figures of errors on images that were spoiled, by chance or on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from ..frames import check_columns, column_of
from ..inputs import check_fractions
from .legends import legend, legend_above
from .style import name_lines, new_axes
from .words import MODEL_LABEL, shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["plot_adversarial", "plot_corruptions"]

# An open marker round the filled one: at equal errors both are seen.
_ATTACKS = {"pgd_error": ("PGD", {"ls": "-", "ms": 5}), "fgsm_error": ("FGSM", {"ls": "--", "ms": 9, "mfc": "none"})}
_LEVELS = 255  # of a pixel: radii are given in them
_INCHES = 1.5  # of a corruption


def plot_corruptions(table: pd.DataFrame, *, label: str | Sequence[str] = MODEL_LABEL, ax: Axes | None = None) -> Axes:
    """Error against the severity of each corruption, side by side, and of their mean; a line a name.

    Models of one name, such as seeds, are averaged. The mean over all corruptions and severities is in the legend; the
    error on clean images, where the table has it, stands at severity 0 of each and is not part of it.

    Args:
        table: from `measurement_table`, of `corruption_error`.
        label: column, or columns, that name the models.
        ax: where to draw; a new figure without.

    Raises:
        ValueError: a model lacks a corruption or severity that another has: their means could not be compared.

    Source: Hendrycks and Dietterich 2019 (arXiv 1903.12261); Chen, Hsieh and Gong 2021 (arXiv 2106.01548), Table 2.
    """
    check_columns(table, "run_id", "corruption", "severity", "value")
    check_fractions("column 'value'", column_of(table, "value"))
    names, looks = name_lines(table, label)
    is_clean = (table["corruption"] == "clean").to_numpy()
    kinds = list(dict.fromkeys(table["corruption"][~is_clean]))
    _check_complete(table)
    severities = np.unique(column_of(table, "severity"))
    ax = ax or new_axes(width=_INCHES * (len(kinds) + 1) + 1)
    for name, look in looks.items():
        member = (names == name).to_numpy()
        mean = table["value"][member & ~is_clean].mean()
        for place, kind in enumerate([*kinds, None]):
            of_kind = ~is_clean if kind is None else (table["corruption"] == kind).to_numpy()
            rows = table[member & (of_kind | is_clean)]
            error = rows["value"].groupby(rows["severity"]).mean()
            x = place * (severities.size + 1) + np.searchsorted(severities, error.index.to_numpy(dtype=float))
            shown = f"{shown_name(name)}: mean {mean:.3f}" if kind is None else None
            ax.plot(x, error, "-", lw=2.2 if kind is None else 1.3, ms=4, label=shown, **look)
    _name_panels(ax, [*(str(kind).replace("_", " ") for kind in kinds), "mean"], severities)
    ax.set_ylabel("error")
    ax.set_ylim(bottom=0)
    legend_above(ax)
    return ax


def _check_complete(table: pd.DataFrame) -> None:
    num_conditions = len(table[["corruption", "severity"]].drop_duplicates())
    sizes = table.groupby("run_id", sort=False)[["corruption", "severity"]].apply(
        lambda rows: len(rows.drop_duplicates())
    )
    if (sizes != num_conditions).any():
        run = sizes[sizes != num_conditions].index[0]
        raise ValueError(
            f"each model must have all {num_conditions} corruptions and severities of the table; run {run!r} has"
            f" {sizes[run]}"
        )


def _name_panels(ax: Axes, names: list[str], severities: np.ndarray) -> None:
    """Under each group of severities what spoiled the images."""
    width = severities.size + 1
    ends = [0, severities.size - 1]
    ticks = [place * width + end for place in range(len(names)) for end in ends]
    ax.set_xticks(ticks, labels=[f"{severities[end]:g}" for _ in names for end in ends])
    for place, name in enumerate(names):
        middle = place * width + (severities.size - 1) / 2
        below = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "xytext": (0, -18)}
        ax.annotate(
            shown_name(name), (middle, 0), ha="center", va="top", fontsize="small", annotation_clip=False, **below
        )
        if place:
            ax.axvline(place * width - 1, color="0.85", lw=1)
    ax.set_xlabel("severity of the corruption", labelpad=18)


def plot_adversarial(table: pd.DataFrame, *, label: str | Sequence[str] = MODEL_LABEL, ax: Axes | None = None) -> Axes:
    """Error against the radius of an attack, PGD solid and FGSM dashed with open markers; a colour a name.

    Models of one name, such as seeds, are averaged.

    Args:
        table: from `measurement_table`, of `fgsm_error`, `pgd_error` or both.
        label: column, or columns, that name the models.
        ax: where to draw; a new figure without.

    Source: Chen, Hsieh and Gong 2021 (arXiv 2106.01548), on adversarial robustness.
    """
    check_columns(table, "name", "radius", "value")
    check_fractions("column 'value'", column_of(table, "value"))
    column_of(table, "radius")
    ax = ax or new_axes()
    names, looks = name_lines(table, label)
    for name, look in looks.items():
        for attack, (called, options) in _ATTACKS.items():
            rows = table[((names == name) & (table["name"] == attack)).to_numpy()]
            if len(rows):
                error = rows["value"].groupby(rows["radius"]).mean()
                shown = f"{shown_name(name)}, {called}"
                ax.plot(error.index * _LEVELS, error, label=shown, **{**look, **options})
    ax.set(xlabel="radius of the attack (largest change of a pixel, of 255)", ylabel="error", ylim=(0, 1.03))
    ax.set_xlim(0, table["radius"].max() * _LEVELS * 1.05)
    legend(ax, "best")
    return ax
