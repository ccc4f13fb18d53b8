"""Figure of a quantity against a setting of the runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes

from ..frames import check_columns, column_of
from .head_sweeps import SETTING_LABELS, setting_axis, setting_places
from .legends import legend, legend_beside
from .style import LAW_COLOUR, decimal_ticks, name_lines, new_axes
from .words import QUANTITY_LABELS, column_label, short_count, shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["plot_against"]

_LINES = ("-", "--", ":", "-.")  # of the columns, where there are several
_BESIDE = 0.12  # between the runs of two names at one word, where words are 1 apart
_NEAR = 0.06  # of the axes: two names that near to each other overlap
_MOST_INSIDE = 4  # entries of a legend among the points
_RATIO = 5.0  # of the largest over the least positive value, from which on an axis is logarithmic


def plot_against(
    runs: pd.DataFrame, setting: str, y: str | Sequence[str], *, label: str | Sequence[str] = "model_family",
    log: bool = False, crossings: pd.DataFrame | None = None, ax: Axes | None = None, y_label: str | None = None,
) -> Axes:  # fmt: skip
    """A quantity of each run against a setting, such as a weight decay, the number of images, or the recipe.

    A point a run; a line a name through the mean at each value, which for a setting in words is a bar.

    Args:
        runs: records with these columns, as of `add_measurements`; runs without a value are counted in the title.
        setting: column across, of numbers (0 stands left of the least positive one) or of words.
        y: column of the quantity; several of one unit, such as of training and test images, differ in the line.
        label: column, or columns, that name the lines.
        log: whether the quantity has a logarithmic axis.
        crossings: from `tables.crossings` of this quantity: a ring where two lines cross, pale where the runs do not
            make it clear.
        ax: where to draw; a new figure without.
        y_label: without, the name of the column.

    Raises:
        ValueError: a missing column, no run with a value, or with `log` a value that is not positive.
    """
    columns = [y] if isinstance(y, str) else list(y)
    check_columns(runs, setting, *columns)
    kept = runs[runs[[setting, *columns]].notna().all(axis=1).to_numpy()]
    if kept.empty:
        raise ValueError(f"no run has values of {[setting, *columns]}")
    values = kept[columns].to_numpy(dtype=float)
    if log and values.min() <= 0:
        raise ValueError(f"a logarithmic axis needs positive values, {columns} have {values.min():g}")
    ax = ax or new_axes()
    x, is_words = _places(ax, kept[setting], setting)
    names, looks = name_lines(kept, label)
    for place, (name, look) in enumerate(looks.items()):
        member = (names == name).to_numpy()
        at = x[member] + (_BESIDE * (place - (len(looks) - 1) / 2) if is_words else 0.0)
        for column, line in zip(columns, _LINES * len(columns), strict=False):
            shown = shown_name(name) + ("" if len(columns) == 1 else f", {shown_name(_words(column))}")
            _draw(ax, at, column_of(kept[member], column), line, look, shown, is_words)
    if log:
        ax.set_yscale("log")
        if values.max() < 1e3 * values.min():  # beyond it 1, 2 and 5 of each decade are too many
            decimal_ticks(ax.yaxis)
    _mark_crossings(ax, crossings)
    ax.set_ylabel(y_label or _quantity(columns))
    if len(kept) < len(runs):
        ax.set_title(f"{len(runs) - len(kept)} of {len(runs)} runs have no value", fontsize="small", loc="left")
    if len(ax.get_legend_handles_labels()[0]) > _MOST_INSIDE:
        legend_beside(ax, fontsize="small")
    else:
        legend(ax, "best")
    return ax


def _places(ax: Axes, values: pd.Series, setting: str) -> tuple[np.ndarray, bool]:
    """Where the runs stand across, and whether the setting is in words."""
    import pandas as pd

    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float)
    if np.isnan(numbers).any() or values.dtype == bool:
        words = values.astype(str)
        known = list(dict.fromkeys(words))
        ax.set_xticks(range(len(known)), labels=[shown_name(word) for word in known])
        ax.set(xlim=(-0.6, len(known) - 0.4), xlabel=SETTING_LABELS.get(setting, column_label(setting)))
        return words.map(known.index).to_numpy(dtype=float), True
    positive = numbers[numbers > 0]
    if (numbers >= 0).all() and positive.size and positive.max() >= _RATIO * positive.min():
        setting_axis(ax, numbers, setting)
        return setting_places(numbers, numbers), False
    ax.set_xlabel(SETTING_LABELS.get(setting, column_label(setting)))
    return numbers, False


def _draw(ax: Axes, x: np.ndarray, y: np.ndarray, line: str, look: dict[str, Any], name: str, is_words: bool) -> None:
    """The runs of one name, and their mean at each place."""
    places, of = np.unique(x, return_inverse=True)
    mean = np.bincount(of, y) / np.bincount(of)
    is_repeated = places.size < x.size
    if is_words:
        ax.plot(x, y, ls="", ms=6, alpha=0.8, label=name, **look)
        if is_repeated:
            ax.hlines(mean, places - _BESIDE / 2.4, places + _BESIDE / 2.4, color=look["color"], lw=2)
        return
    if is_repeated:
        ax.plot(x, y, ls="", ms=3.5, alpha=0.5, **look)
    ax.plot(places, mean, line, ms=5.5, lw=1.5, label=name, **look)


def _mark_crossings(ax: Axes, crossings: pd.DataFrame | None) -> None:
    """A ring at each, and its x beside it where no other name is."""
    if crossings is None or crossings.empty:
        return
    check_columns(crossings, "x_at", "y_at", "is_clear")
    named: list[np.ndarray] = []
    found = crossings.sort_values("x_at")
    points = np.stack([column_of(found, "x_at"), column_of(found, "y_at")], axis=1)
    for point, is_clear in zip(points, found["is_clear"], strict=True):
        ax.plot(*point, "o", mfc="none", mec=LAW_COLOUR if is_clear else "0.6", ms=13, mew=1.3)
        place = ax.transAxes.inverted().transform(ax.transData.transform(point))
        if all(np.abs(place - other).max() > _NEAR for other in named):
            named.append(place)
            beside = {"textcoords": "offset points", "xytext": (9, 6), "fontsize": "small", "color": LAW_COLOUR}
            ax.annotate(short_count(point[0]), (point[0], point[1]), **beside)
    for is_clear, colour, text in ((True, LAW_COLOUR, ""), (False, "0.6", ", perhaps")):
        if (crossings["is_clear"] == is_clear).any():
            ax.plot([], [], "o", mfc="none", mec=colour, ms=9, label=f"the order turns round{text}")


def _quantity(columns: Sequence[str]) -> str:
    """What columns have in common: of head_margin_train and head_margin_test, head margin."""
    words = list(zip(*(column.split("_") for column in columns), strict=False))
    shared = [word[0] for word in takewhile(lambda word: len(set(word)) == 1, words)]
    return QUANTITY_LABELS.get("_".join(shared), shown_name(" ".join(shared)) if shared else "value")


def _words(name: str) -> str:
    return name.replace("_", " ")
