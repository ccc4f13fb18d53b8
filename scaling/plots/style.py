"""What the figures have in common: colours and markers, points, axes that a person can read, legends."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import colormaps, rcParams
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ticker import FixedLocator, LogLocator, NullLocator

from ..cells import number_rows
from ..ensemble.members import REACHES
from ..ensemble.weighted import EnsembleFit
from ..errors import FitWarning
from ..inputs import check_columns, check_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "BESIDE_COLOUR",
    "LAW_COLOUR",
    "MODEL_LABEL",
    "QUANTITY_LABELS",
    "SELECTION_LABELS",
    "STYLES",
    "TRANSFER_COLOUR",
    "amount",
    "column_label",
    "column_words",
    "decimal_ticks",
    "draw_points",
    "error_axis",
    "first_drawn",
    "label_column",
    "label_points",
    "law_at",
    "legend",
    "legend_above",
    "legend_beside",
    "legend_clear",
    "name_lines",
    "new_axes",
    "probe_names",
    "row_names",
    "shades",
    "short_count",
    "shown_name",
    "style_of",
    "task_title",
    "task_words",
]

# Okabe and Ito's palette: told apart by colour-blind readers, and in grey with the markers.
STYLES = (
    ("#0072B2", "o"), ("#D55E00", "s"), ("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P"), ("#999999", "X"),
)  # fmt: skip
_FAMILIES = ("vit", "resnet", "mixer", "convnext", "hybrid")  # each looks the same in every figure
LAW_COLOUR, TRANSFER_COLOUR, BESIDE_COLOUR = "#222222", "#009E73", "#7A3E9D"
SELECTION_LABELS = {
    "stochastic": "edge of all runs", "pareto": "law on the frontier", "convex_hull": "law on the hull",
    "all": "law on all runs",
}  # fmt: skip
QUANTITY_LABELS = {
    "weight_norm": "norm of the weights", "distance_to_init": "distance of the weights to their start",
    "active_share": "share of active neurons", "active_share_mean": "share of active neurons, mean over layers",
    "attention_distance": "mean attention distance (pixels)", "hessian_top_eigenvalue": "top eigenvalue of the Hessian",
    "weight_norm_body": "norms of the weights, sum over the layers below the head",
    "weight_norm_head": "norm of the head's weights",
    "distance_to_init_body": "distances of the weights to their start, sum over the layers below the head",
    "sharpness": "sharpness: rise of the loss (nats)", "corruption_error_mean": "error under corruptions, their mean",
}  # fmt: skip
_COLUMN_LABELS = {
    "compute_flops": "training compute (FLOPs)", "compute_core_days": "training compute (core-days)",
    "num_params": "model size (parameters)", "flops_per_image": "forward pass (FLOPs an image)",
    "train_examples": "training images", "wall_seconds": "wall time (seconds)", "lr": "learning rate",
    "upstream_loss": "upstream loss (nats)", "energy_joules": "energy (joules)",
}  # fmt: skip
_SHOTS = re.compile(r"\b(\d+)shot\b")
_NO_WIDTH = "\u200b"
_LONGEST_NAME, _LAST = 60, 20  # characters, of which so many are the last, which often tell names apart
_NO_UNIT = 1e15  # of larger numbers, which nobody calls by a letter
_MOST_GROUPS = 20  # of points that have a colour of their own
MODEL_LABEL = ("model_family", "model_variant")  # two families may have one variant, such as S/16
_ERROR_TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, *(k / 10 for k in range(2, 11)))
_CROWDED, _WIDE = (0.4, 0.6, 0.8, 0.9), 10.0  # ticks left out where the ends of the axis are so many times apart
_DARKEST, _LIGHTEST = 0.0, 0.85  # of the colour map: the end of viridis is too pale for a line on white
_PALE = 0.4  # of white in the colour of a line that has another of its colour beside it
_WITH_LEGEND = 10.0  # inches, of one plot with its legend beside it
_LINE_OF_TEXT = 0.042  # height of a name, as a share of the axis
_MOST_INSIDE = 8  # entries of a legend among the points; more stand beside them


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


def shown_name(name: Any) -> str:
    """A name from data as a figure can show it; of what is shown already, the same.

    A dollar begins no formula, a legend does not leave it out (as it does an empty text, and one that begins with an
    underscore, which stands after a space of no width), a long one is cut, and what the font lacks is a question mark.

    >>> shown_name("$x"), shown_name(""), len(shown_name("a" * 10_000))
    ('\\\\$x', '(empty)', 60)
    """
    text = " ".join(str(name).replace(r"\$", "$").split())
    if len(text) > _LONGEST_NAME:
        text = f"{text[: _LONGEST_NAME - _LAST - 1]}\u2026{text[-_LAST:]}"
    known = _known_characters(tuple(rcParams["font.family"]))
    text = "".join(c if c.isascii() or ord(c) in known else "?" for c in text if c.isprintable() or c in _NO_WIDTH)
    text = text.replace("$", r"\$") or "(empty)"
    return f"{_NO_WIDTH}{text}" if text.startswith("_") else text


@cache
def _known_characters(families: tuple[str, ...]) -> frozenset[int]:
    """Code points that one of the fonts has."""
    known: set[int] = {ord(_NO_WIDTH)}
    for family in families:
        known |= get_font(findfont(FontProperties(family=[family]))).get_charmap().keys()
    return frozenset(known)


def column_label(name: str) -> str:
    """What a column of records is called on an axis, with its unit.

    >>> column_label("compute_flops"), column_label("pets_10shot_error"), column_label("top5_error")
    ('training compute (FLOPs)', 'pets 10-shot error', 'top5 error')
    """
    return shown_name(column_words(name))


def column_words(name: str) -> str:
    """As `column_label`, for a text that is no figure's: every character as it is."""
    words = _COLUMN_LABELS.get(name, QUANTITY_LABELS.get(name, name.replace("_", " ")))
    words = re.sub(r"\bzero shot error$", "zero-shot error", _SHOTS.sub(r"\1-shot", words))
    return re.sub(r"\bfinetune error$", "fine-tuned error", words)


def task_title(column: str) -> str:
    """What the task of a column of errors is called.

    >>> task_title("oxford_pets_10shot_error")
    'oxford pets 10-shot'
    """
    return shown_name(task_words(column))


def task_words(column: str) -> str:
    """As `task_title`, for a text that is no figure's: every character as it is.

    >>> task_words("$cars_zero_shot_error"), task_words("pets_finetune_error")
    ('$cars zero-shot', 'pets fine-tuned')
    """
    return column_words(column).removesuffix(" error")


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


def law_at(fit: Any, x: np.ndarray, *interval: Any) -> Any:
    """What `fit.predict` says at x without a warning of extrapolation: a figure draws that part apart."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        return fit.predict(x, *interval)


def first_drawn(fit: Any) -> float:
    """Where a law's curve begins: at its first point; before its last factor of 8 in x an ensemble says nothing."""
    if not isinstance(fit, EnsembleFit):
        return float(fit.x.min())
    return max(float(fit.x.min()), float(fit.x.max()) / max(reach for reach in REACHES if np.isfinite(reach)))


def legend(ax: Axes, loc: Any) -> None:
    num_entries = len(ax.get_legend_handles_labels()[0])
    if num_entries == 0:
        return
    if num_entries <= _MOST_INSIDE:
        ax.legend(fontsize="small", framealpha=0.9, edgecolor="0.85", loc=loc)  # over a band its edge is no step
    else:
        legend_beside(ax, fontsize="x-small")


def legend_clear(ax: Axes, loc: Any = "best") -> None:
    """As `legend`, but above the axes where no place among the points is free."""
    legend(ax, loc)
    figure, inside = ax.get_figure(root=True), ax.get_legend()
    if figure is None or figure.get_layout_engine() is None or inside is None:
        return
    figure.draw_without_rendering()
    box = inside.get_window_extent()
    points = [ax.transData.transform(line.get_xydata()) for line in ax.lines if line.get_linestyle() == "None"]
    if any(box.contains(*point) for line in points for point in line):
        _legend_above(ax, ax.get_window_extent().width)


def legend_above(ax: Axes, side: Literal["left", "right"] = "left", num_columns: int = 2, **options: Any) -> None:
    """Between the axes and its title, where it hides no point; in one column where more would be wider than the axes,
    which a layout would make narrow for it."""
    figure = ax.get_figure(root=True)
    if figure is not None and num_columns > 1:
        figure.draw_without_rendering()  # a layout tells how wide the axes are
    _legend_above(ax, ax.get_window_extent().width, side, num_columns, **options)


def _legend_above(ax: Axes, width: float, side: str = "left", num_columns: int = 2, **options: Any) -> None:
    where: dict[str, Any] = {"loc": f"lower {side}", "bbox_to_anchor": (0 if side == "left" else 1, 1)}
    look: dict[str, Any] = {"fontsize": "small", "frameon": False} | where | options
    drawn = ax.legend(ncols=num_columns, **look)
    if num_columns > 1 and ax.get_figure(root=True) is not None and drawn.get_window_extent().width > width:
        ax.legend(ncols=1, **look)


def legend_beside(ax: Axes, **options: Any) -> None:
    """On the right of the axes, where it hides no point; of a figure of one plot, which is widened for it.

    In a figure without a layout, which would cut it off, it stands inside.
    """
    figure = ax.get_figure(root=True)
    if figure is not None and figure.get_layout_engine() is None:
        ax.legend(framealpha=0.8, edgecolor="none", loc="best", **options)
        return
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), **options)
    if figure is not None and len(figure.axes) == 1:
        figure.set_figwidth(_WITH_LEGEND)


def amount(value: float) -> str:
    """A number of any size, short: 5.7e18, 163."""
    return f"{value:.3g}" if 1e-3 <= value < 1e4 else f"{value:.2g}".replace("e+", "e")


def short_count(value: Any) -> str:
    """30000000.0 as 30M.

    >>> short_count(3e7), short_count(1.5e9), short_count(640), short_count(0.05), short_count(2e18)
    ('30M', '1.5B', '640', '0.05', '2e18')
    """
    if value >= _NO_UNIT:
        return amount(value)
    for unit, name in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


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


def row_names(table: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """What each row is called: its values in these columns with a comma between, nulls left out.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"model_family": ["vit", "resnet"], "num_heads": [2, None], "lr": [1.0, 0.01]})
    >>> row_names(table, ["model_family", "num_heads", "lr"]).tolist()
    ['vit, 2, 1', 'resnet, 0.01']
    """
    import pandas as pd

    texts = [(", " + values.map(_text)).where(values.notna(), "") for _, values in table[list(columns)].items()]
    return sum(texts, start=pd.Series("", index=table.index, dtype=object)).astype(str).str.removeprefix(", ")


def _text(value: Any) -> str:
    """1.0 as 1, every digit kept: two values never have one name."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _line_look(colour: str, marker: str, is_pale: bool = False) -> dict[str, Any]:
    edge = tuple(_PALE + (1 - _PALE) * np.array(to_rgb(colour))) if is_pale else colour
    return {"color": edge, "marker": marker, "mfc": "white" if is_pale else edge}


def probe_names(table: pd.DataFrame) -> list[str]:
    """What the rows of a table of tasks are called in a figure: "pets 10-shot", or without shots "pets"."""
    if "num_shots" not in table:
        return [shown_name(task) for task in table["task"]]
    few = table["num_shots"].notna()
    return [
        f"{shown_name(task)} {int(shots)}-shot" if is_few else shown_name(task)
        for task, shots, is_few in zip(table["task"], table["num_shots"], few, strict=True)
    ]


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
