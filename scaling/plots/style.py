"""What the figures have in common: colours and markers, points, axes that a person can read."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.ticker import FixedLocator, LogLocator, NullLocator

from ..cells import number_rows
from ..ensemble.members import REACHES
from ..ensemble.weighted import EnsembleFit
from ..errors import FitWarning
from ..frames import check_columns, check_names
from .words import row_names, shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "BESIDE_COLOUR",
    "LAW_COLOUR",
    "STYLES",
    "TRANSFER_COLOUR",
    "decimal_ticks",
    "draw_points",
    "error_axis",
    "first_drawn",
    "label_column",
    "label_points",
    "law_at",
    "name_lines",
    "new_axes",
    "shades",
    "style_of",
]

# Okabe and Ito's palette: told apart by colour-blind readers, and in grey with the markers.
STYLES = (
    ("#0072B2", "o"), ("#D55E00", "s"), ("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P"), ("#999999", "X"),
)  # fmt: skip
_FAMILIES = ("vit", "resnet", "mixer", "convnext", "hybrid")  # each looks the same in every figure
LAW_COLOUR, TRANSFER_COLOUR, BESIDE_COLOUR = "#222222", "#009E73", "#7A3E9D"
_MOST_GROUPS = 20  # of points that have a colour of their own
_ERROR_TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, *(k / 10 for k in range(2, 11)))
_CROWDED, _WIDE = (0.4, 0.6, 0.8, 0.9), 10.0  # ticks left out where the ends of the axis are so many times apart
_DARKEST, _LIGHTEST = 0.0, 0.85  # of the colour map: the end of viridis is too pale for a line on white
_PALE = 0.4  # of white in the colour of a line that has another of its colour beside it
_LINE_OF_TEXT = 0.042  # height of a name, as a share of the axis


def new_axes(width: float = 6.4, height: float = 4.8) -> Axes:
    """Of a new figure, in inches."""
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def style_of(name: str, names: Sequence[str]) -> tuple[str, str]:
    """Colour and marker of a group among sorted names: a family has its own, alike in every figure ("ViT" as "vit")."""
    others = [other for other in names if other.lower() not in _FAMILIES]
    first_other = len(_FAMILIES) if len(others) < len(names) else 0
    place = _FAMILIES.index(name.lower()) if name.lower() in _FAMILIES else first_other + others.index(name)
    # Where the colours come round again, other markers do.
    return STYLES[place % len(STYLES)][0], STYLES[(place + place // len(STYLES)) % len(STYLES)][1]


def draw_points(ax: Axes, x: np.ndarray, y: np.ndarray, groups: Sequence[Any] | None) -> None:
    """All points, coloured by group; of very many groups the small ones have one colour together."""
    labels = np.asarray(["runs"] * len(x) if groups is None else groups, dtype=str)
    if labels.shape != x.shape:
        raise ValueError(f"groups must have one label a point, shape {x.shape}, got {labels.shape}")
    names, counts = np.unique(labels, return_counts=True)
    if names.size > _MOST_GROUPS:
        small = names[np.argsort(-counts, kind="stable")[_MOST_GROUPS - 1 :]]
        labels = np.where(np.isin(labels, small), f"{small.size} others", labels)
        names = np.unique(labels)
    names = names.tolist()
    for name in names:
        colour, marker = style_of(name, names)
        member = labels == name
        ax.plot(x[member], y[member], marker, color=colour, ms=4.5, alpha=0.75, mew=0, label=shown_name(name))


def shades(num: int) -> np.ndarray:
    """Colours from dark to light for an order, such as of budgets, shape (num, 4)."""
    return colormaps["viridis"](np.linspace(_DARKEST, _LIGHTEST, num))


def error_axis(ax: Axes, y: np.ndarray) -> None:
    """Limits around the runs, and errors as plain decimals."""
    top = y.max() * 1.15
    ax.set_ylim(y.min() * 0.75, min(top, 1.05) if y.max() <= 1 else top)
    if y.max() <= 1:
        is_wide = y.max() > _WIDE * y.min()
        ticks = [tick for tick in _ERROR_TICKS if not (is_wide and tick in _CROWDED)]
        ax.yaxis.set_major_locator(FixedLocator(ticks))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.minorticks_off()


def decimal_ticks(axis: Axis) -> None:
    """Ticks of a logarithmic axis at 1, 2 and 5 of each decade, as plain decimals."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")


def label_points(ax: Axes, x: np.ndarray, y: np.ndarray, names: Sequence[str], colour: str) -> None:
    """A few points by numbers beside them, and a list of names at the lower right in the order given."""
    spots = ((-5, 3), (0, 6), (5, 3))  # left of the first in x, above the next, right of the others
    order = np.argsort(x, kind="stable").tolist()
    for place, i in enumerate(order):
        spot = spots[1 if len(order) == 1 else min(place, 2)]
        side = ("right", "center", "left")[spots.index(spot)]
        ax.annotate(
            str(i + 1), (x[i], y[i]), xytext=spot, textcoords="offset points", ha=side, color=colour,
            fontsize="small", weight="bold",
        )  # fmt: skip
    listed = "\n".join(f"{i + 1}: {shown_name(name)}" for i, name in enumerate(names))
    box = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 2}
    where = {"transform": ax.transAxes, "ha": "right", "va": "bottom"}
    ax.text(0.985, 0.02, listed, fontsize="small", color=colour, bbox=box, **where)


def first_drawn(fit: Any) -> float:
    """Where a law's curve begins: at its first point; before its last factor of 8 in x an ensemble says nothing."""
    if not isinstance(fit, EnsembleFit):
        return float(fit.x.min())
    return max(float(fit.x.min()), float(fit.x.max()) / max(reach for reach in REACHES if np.isfinite(reach)))


def law_at(fit: Any, x: np.ndarray, *interval: Any) -> Any:
    """What `fit.predict` says at x without a warning of extrapolation: a figure draws that part apart."""
    with warnings.catch_warnings(action="ignore", category=FitWarning):
        return fit.predict(x, *interval)


def name_lines(table: pd.DataFrame, label: str | Sequence[str]) -> tuple[pd.Series, dict[str, dict[str, Any]]]:
    """What the line of each row is called, and how each line looks, by value ascending: options of `plot`.

    Of several columns the first has the colour and marker; where the others tell two kinds apart, the second kind is
    pale with open markers.
    """
    columns = [label] if isinstance(label, str) else list(label)
    check_names("label", columns)
    check_columns(table, *columns)
    names, first, rest = (row_names(table, part) for part in (columns, columns[:1], columns[1:]))
    ordered = sorted(set(zip(number_rows(table, columns), names, first, rest, strict=True)))
    known = {name: (of_first, kind) for _, name, of_first, kind in ordered}
    firsts, kinds = (list(dict.fromkeys(part)) for part in zip(*known.values(), strict=True))
    if len(known) > len(firsts) and len(kinds) != 2:
        return names, {name: _line_look(*style_of(name, list(known))) for name in known}
    has_pale = len(known) > len(firsts)
    looks = {
        name: _line_look(*style_of(of_first, firsts), is_pale=has_pale and kind == kinds[1])
        for name, (of_first, kind) in known.items()
    }
    return names, looks


def _line_look(colour: str, marker: str, is_pale: bool = False) -> dict[str, Any]:
    edge = tuple(_PALE + (1 - _PALE) * np.array(to_rgb(colour))) if is_pale else colour
    return {"color": edge, "marker": marker, "mfc": "white" if is_pale else edge}


def label_column(ax: Axes, x: float, heights: np.ndarray, names: Sequence[str], colours: Sequence[str]) -> None:
    """Names right of points that share an x, moved apart where they would lie on one another."""
    bottom, top = ax.get_ylim()
    gap = _LINE_OF_TEXT * (top - bottom)
    order = np.argsort(heights, kind="stable")
    at = np.asarray(heights, dtype=float)[order]
    for row in range(1, at.size):
        at[row] = max(at[row], at[row - 1] + gap)
    limit = top - gap / 2
    for row in reversed(range(at.size)):  # and back down from the top
        at[row] = limit = min(at[row], limit)
        limit -= gap
    for row, height in zip(order, at, strict=True):
        name, beside = shown_name(names[row]), {"textcoords": "offset points", "xytext": (9, 0), "va": "center"}
        ax.annotate(name, (x, height), fontsize="x-small", color=colours[row], annotation_clip=False, **beside)
