"""Figures of what is measured at each layer of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes

from ..frames import check_columns, column_of
from ..layers import layer_order
from ..schema import KEY
from .legends import legend
from .style import name_lines, new_axes
from .words import MODEL_LABEL, QUANTITY_LABELS, column_label, shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["layer_ticks", "plot_attention_distance", "plot_by_layer"]

_PARTS = ("dataset", "split", "other")  # that tell the lines of one model apart
_LINES = ("-", "--", ":", "-.")  # of those parts
_MOST_TICKS = 14
_SHORT = {"embedding": "embed-\nding", "pre_logits": "pre-\nlogits", "head": "head"}  # beside a block's number
_BESIDE = 0.16  # between the heads of two models at one block, where blocks are 1 apart


def plot_by_layer(
    table: pd.DataFrame, *, label: str | Sequence[str] = MODEL_LABEL, y: str = "value", ax: Axes | None = None,
    y_label: str | None = None,
) -> Axes:  # fmt: skip
    """A quantity against the depth of the layer, a line a name; heads are averaged.

    Several models of one name, such as seeds, are thin lines, and their mean a thick one where they have the same
    layers. Models of other layers are drawn by place between their first layer and their last.

    Args:
        table: from `measurement_table`, of one measurement that is taken by layer; or from `layer_accuracies`, with
            `y="accuracy"` and a `label` of its columns.
        label: column, or columns, that name the lines; what else tells values of a model apart, such as the split,
            differs in the line. The parts of a layer (`other`, such as the two MLPs of a Mixer) are drawn where the
            table has no values of whole layers.
        y: the column of the quantity.
        ax: where to draw; a new figure without.
        y_label: without, by the name of the measurement.
    """
    check_columns(table, "layer", "position", y)
    quantity = _one_name(table, y)
    column_of(table, "position")  # a value without a layer has none
    if "other" in table and table["other"].isna().any():
        table = table[table["other"].isna()]  # whole layers; their parts are drawn where they are given alone
    told_by = [part for part in _PARTS if part in table and table[part].nunique(dropna=False) > 1]
    key = [part for part in KEY if part in table]
    names, looks = name_lines(table, label)
    parts = name_lines(table, told_by)[0] if told_by else ""
    places = ["_line", "_part", *key, "layer", "position"]
    lines = table.assign(_line=names, _part=parts).groupby(places, dropna=False)[y].mean().reset_index()
    order = layer_order(lines["layer"].unique())
    is_alike = lines.groupby(["_line", "_part", *key], dropna=False)["layer"].nunique().min() == len(order)
    lines["_x"] = lines["layer"].map(order) if is_alike else lines["position"]
    ax = ax or new_axes()
    dashes = {part: _LINES[place % len(_LINES)] for place, part in enumerate(sorted(set(lines["_part"])))}
    drawn = dict(list(lines.groupby(["_line", "_part"])))
    for name, part in [(name, part) for name in looks for part in dashes if (name, part) in drawn]:
        shown = ", ".join(filter(None, (name, part)))
        _draw_lines(ax, drawn[name, part], key, y, shown, {**looks[name], "ls": dashes[part]})
    if is_alike:
        layer_ticks(ax, list(order))
    else:
        ax.set_xlabel("layer (0 the first of its model, 1 the last)")
    ax.set_ylabel(y_label or column_label(quantity))
    if lines[y].min() >= 0 and quantity != "accuracy":
        _from_zero(ax)
    legend(ax, "best")
    return ax


def _draw_lines(ax: Axes, lines: pd.DataFrame, key: list[str], y: str, name: str, look: dict[str, Any]) -> None:
    """The models of one name."""
    groups = lines.groupby(key, dropna=False) if key else [("", lines)]
    models = [of_model.sort_values("_x") for _, of_model in groups]
    if len(models) == 1:
        ax.plot(models[0]["_x"], models[0][y], ms=5, label=shown_name(name), **look)
        return
    for model in models:
        ax.plot(model["_x"], model[y], "-", color=look["color"], lw=0.8, alpha=0.5)
    if len({tuple(model["layer"]) for model in models}) == 1:
        mean = lines.groupby("_x")[y].mean()
        ax.plot(mean.index, mean, ms=5, lw=2, label=f"{shown_name(name)} (mean of {len(models)})", **look)
    else:
        ax.plot([], [], "-", color=look["color"], lw=0.8, label=f"{shown_name(name)} ({len(models)} models)")


def plot_attention_distance(
    table: pd.DataFrame, *, label: str | Sequence[str] = MODEL_LABEL, ax: Axes | None = None
) -> Axes:
    """How far the heads of each block look: a point a head, and a line through the mean of each block's heads.

    Args:
        table: from `measurement_table`, of `attention_distance`.
        label: column, or columns, that name the models.
        ax: where to draw; a new figure without.

    Source: Dosovitskiy et al. 2020 (arXiv 2010.11929), Figure 7; Raghu et al. 2021 (arXiv 2108.08810), Figure 1.
    """
    check_columns(table, "layer", "head", "value")
    _one_name(table, "value")
    ax = ax or new_axes()
    order = layer_order(table["layer"].dropna().unique())
    if not order:
        raise ValueError("each distance must be of a layer, column 'layer', which is null")
    names, looks = name_lines(table, label)
    for place, (name, look) in enumerate(looks.items()):
        of_name = table[(names == name).to_numpy()]
        x = of_name["layer"].map(order) + _BESIDE * (place - (len(looks) - 1) / 2)
        ax.plot(x, of_name["value"], ls="", ms=4.5, label=shown_name(name), **look)
        mean = of_name["value"].groupby(x).mean()
        ax.plot(mean.index, mean, "-", color=look["color"], lw=1.2)
    layer_ticks(ax, list(order))
    ax.set_xlim(-0.5, len(order) - 0.5)
    _from_zero(ax)
    ax.set_ylabel(QUANTITY_LABELS["attention_distance"])
    ax.set_title("a point a head; lines: mean of the heads", fontsize="small", loc="left")
    legend(ax, "best")
    return ax


def _from_zero(ax: Axes) -> None:
    """The margin above the values is one of what is then shown, not of the values' range."""
    margin = ax.margins()[1]  # pyright: ignore[reportOptionalSubscript] None only where margins are set
    ax.set_ylim(0, ax.dataLim.y1 * (1 + margin) or 1)


def layer_ticks(ax: Axes, layers: Sequence[str], axis: str = "x") -> None:
    """Names of layers at 0, 1, ..., thinned where they are many; of blocks the number alone."""
    step = -(-len(layers) // _MOST_TICKS)
    # Those with a name of their own stay: the first and the last are read first.
    kept = [
        i for i, name in enumerate(layers) if i % step == 0 or not name.startswith("block_") or i == len(layers) - 1
    ]
    shown = [_SHORT.get(layers[i], shown_name(layers[i].removeprefix("block_"))) for i in kept]
    (ax.set_xticks if axis == "x" else ax.set_yticks)(kept, labels=shown)
    if axis == "x":
        ax.set_xlabel("layer (a number: the block)")


def _one_name(table: pd.DataFrame, y: str) -> str:
    """The measurement that a table is of."""
    if table.empty:
        raise ValueError("the table must have rows, as measurement_table gives them")
    names = list(dict.fromkeys(table["name"])) if "name" in table else [y]
    if len(names) != 1:
        raise ValueError(f"the table must be of one measurement, got {names}: choose one by its column 'name'")
    values = column_of(table, y)
    if not np.isfinite(values).all():
        raise ValueError(f"column {y!r} must hold finite numbers")
    return str(names[0])
