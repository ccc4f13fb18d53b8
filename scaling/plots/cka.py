"""Figure of how alike the layers of models represent images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from ..frames import check_columns, column_of
from ..layers import layer_order
from .by_layer import layer_ticks
from .ranks import cell_digits, digits_fit
from .style import name_lines, new_axes
from .words import MODEL_LABEL, shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["plot_cka"]

_CELL, _FRAME = 0.42, 2.4  # inches of a cell, and of the names and the bar
_PALE = 0.6  # of a similarity, from which on black digits are read more easily


def plot_cka(
    table: pd.DataFrame, other: str | None = None, *, label: str | Sequence[str] = MODEL_LABEL,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """The similarity (linear CKA) of every two layers, of one model or of two, as a heat map.

    Args:
        table: from `measurement_table`, of `cka`, of one model.
        other: run id of the other model, or "init" for the model before training; None: the model with itself.
        label: column, or columns, that name the model.
        ax: where to draw; without, a new figure as large as the matrix needs.

    Raises:
        ValueError: rows of several models, or none with that other.

    Source: Raghu et al. 2021 (arXiv 2108.08810), Figures 1 and 2.
    """
    check_columns(table, "run_id", "layer", "other_layer", "other_run", "value")
    others = table["other_run"].fillna("")
    if table["run_id"].nunique() != 1:
        raise ValueError(
            f"the table must be of one model, got {table['run_id'].unique().tolist()[:6]}: choose a run_id"
        )
    of_other = table[(others == (other or "")).to_numpy()]
    if of_other.empty:
        raise ValueError(f"other must be one of {[name or None for name in others.unique()][:6]}, got {other!r}")
    matrix = _matrix(of_other.assign(value=column_of(of_other, "value")), is_own=other is None)
    fits = ax is None or digits_fit(ax, matrix.shape)
    ax = ax or new_axes(_CELL * matrix.shape[1] + _FRAME, _CELL * matrix.shape[0] + _FRAME - 0.8)
    image = ax.imshow(matrix.to_numpy(), cmap="magma", vmin=0, vmax=1, origin="lower", aspect="auto")
    for (row, column), value in np.ndenumerate(matrix.to_numpy()) if fits else ():
        colour = "black" if value > _PALE else "white"
        text = ax.text(
            column, row, cell_digits(value) if np.isfinite(value) else "", ha="center", va="center", fontsize=8,
            color=colour,
        )  # fmt: skip
        text.set_in_layout(False)
    layer_ticks(ax, list(matrix.columns))
    layer_ticks(ax, list(matrix.index), "y")
    ax.tick_params(length=0, labelsize="small")
    name = shown_name(name_lines(table, label)[0].iloc[0])
    ax.set(xlabel=_other_name(other, name), ylabel=f"layers of {name}")
    ax.figure.colorbar(image, ax=ax, pad=0.02).set_label("similarity (linear CKA)")
    return ax


def _matrix(table: pd.DataFrame, is_own: bool) -> pd.DataFrame:
    """Layers down, the other's across; of a model with itself both halves, of which the table may have one."""
    matrix = table.pivot_table(index="layer", columns="other_layer", values="value", aggfunc="mean")
    if is_own:
        layers = list(layer_order({*matrix.index, *matrix.columns}))
        matrix = matrix.reindex(index=layers, columns=layers)
        matrix = matrix.fillna(matrix.T)
        return matrix.mask(np.eye(len(layers), dtype=bool) & matrix.isna(), 1.0)  # a layer with itself
    return matrix.loc[list(layer_order(matrix.index)), list(layer_order(matrix.columns))]


def _other_name(other: str | None, name: str) -> str:
    if other is None:
        return f"layers of {name}"
    return f"layers of {name} before training" if other == "init" else f"layers of {shown_name(other)}"
