"""Which cells of a grid of runs a table does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..frames import check_names, check_single

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["missing_cells"]


def missing_cells(table: pd.DataFrame, axes: Sequence[str]) -> pd.DataFrame:
    """Combinations of the values of several columns that no row has.

    A best value over a grid is only fair between rows that had the same cells to choose from.

    Args:
        table: a row a run.
        axes: columns of the grid, such as model, data size and steps.

    Returns:
        A row a missing combination, columns `axes`, in the order of the axes' sorted values.

    Raises:
        ValueError: a column is missing, has a null, or holds values that have no order, such as text and numbers.

    >>> import pandas as pd
    >>> runs = pd.DataFrame({"model": ["S", "S", "L"], "epochs": [7, 14, 14]})
    >>> missing_cells(runs, ["model", "epochs"]).to_numpy().tolist()
    [['L', 7]]
    """
    import pandas as pd

    axes = check_names("axes", axes, table)
    check_single(table, *axes)
    for name in axes:
        missing = table[name].isna().to_numpy()
        if missing.any():
            raise ValueError(f"column {name!r} must have a value in every row; row {missing.argmax()} has none")
    cells = pd.MultiIndex.from_product([_levels(table[name]) for name in axes], names=axes)
    there = pd.MultiIndex.from_frame(table[axes])
    return cells[~cells.isin(there)].to_frame(index=False)


def _levels(column: pd.Series) -> list[Any]:
    try:
        return sorted(column.unique())
    except TypeError:
        kinds = sorted({type(value).__name__ for value in column})
        raise ValueError(f"column {column.name!r} must hold values of one kind, got {', '.join(kinds)}") from None
