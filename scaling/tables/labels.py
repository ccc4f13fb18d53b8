"""Rows of a table by their labels, columns by their names, and values that are matched by place."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..frames import check_frame, there_is
from ..inputs import check_same_index, numbers

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check_shapes", "check_unique", "labelled_row"]


def check_unique(table: pd.DataFrame, what: str) -> None:
    """A ValueError that names the labels that occur twice."""
    check_frame(table)
    twice = table.index[table.index.duplicated()]
    if len(twice):
        raise ValueError(f"the index must name {what} once; {twice[0]!r} occurs twice ({len(twice)} such)")


def labelled_row(table: pd.DataFrame, label: Any) -> int:
    """Place of the row of that label, or a ValueError that names near ones."""
    place = table.index.get_loc(label) if isinstance(label, Hashable) and label in table.index else None
    if not isinstance(place, int):
        raise ValueError(f"no row has the label {label!r}; {there_is(table.index, label)}")
    return place


def check_shapes(**values: ArrayLike) -> None:
    """A ValueError where arrays are of shapes that do not broadcast, or Series name their rows differently."""
    check_same_index(**values)
    shapes = {name: numbers(name, value).shape for name, value in values.items()}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"shapes must be equal or broadcast, got {listed}") from None
