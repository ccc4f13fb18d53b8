"""A table as cells: what is shown, what it is in full, and how a column sorts."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .parts import TableView
from .texts import prose, readable, shortened

__all__ = ["Cell", "Column", "TableCells", "table_cells"]

_MISSING = "–"
_LONGEST_NAME, _LONGEST_TEXT = 60, 400  # characters that are shown of a word, and of all
_LONGEST_LINE = 40  # characters of a text that stands in one line
_LONGEST_TITLE = 1_000  # characters that are shown while the pointer rests on a cell
_MOST_DIGITS = 6  # of a whole number among the fractions of its column


@dataclass(frozen=True)
class Cell:
    """A value: the text shown, its full text where that is another, and "number", "text", "prose" or "missing"."""

    text: str
    full: str
    kind: str


@dataclass(frozen=True)
class Column:
    """A heading and whether all values below it are numbers or missing."""

    heading: Cell
    is_number: bool


@dataclass(frozen=True)
class TableCells:
    """A table as a page shows it."""

    caption: str
    note: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


def table_cells(view: TableView) -> TableCells:
    """Every value as a cell; columns may share a name."""
    columns = [[_cell(value) for value in _plain(view.frame.iloc[:, k])] for k in range(view.frame.shape[1])]
    headings = [_text_cell(readable(name)) for name in view.frame.columns]
    heads = tuple(Column(name, _is_number(cells)) for name, cells in zip(headings, columns, strict=True))
    return TableCells(prose(view.caption), prose(view.note), heads, tuple(zip(*columns, strict=True)))


def _is_number(cells: Sequence[Cell]) -> bool:
    return {cell.kind for cell in cells} - {"missing"} == {"number"}


def _plain(values: pd.Series) -> Iterator[Any]:
    return iter(values.astype(object).tolist())


def _cell(value: Any) -> Cell:
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return Cell(_MISSING, "", "missing")
    if isinstance(value, bool | np.bool_):
        return Cell("yes" if value else "no", "", "text")
    if isinstance(value, int | np.integer):
        return Cell(str(value), "", "number")
    if isinstance(value, float | np.floating):
        return _number_cell(float(value))
    return _text_cell(readable(value))


def _number_cell(value: float) -> Cell:
    is_short = value.is_integer() and abs(value) < 10**_MOST_DIGITS
    full = str(int(value)) if is_short else repr(value)
    shown = full if is_short else f"{value:.4g}"
    return Cell(shown, "" if full == shown else full, "number")


def _text_cell(text: str) -> Cell:
    words = [shortened(word, _LONGEST_NAME) for word in text.split()]
    shown = shortened(" ".join(words), _LONGEST_TEXT)
    full = "" if shown == text else shortened(text, _LONGEST_TITLE)
    return Cell(shown, full, "prose" if len(shown) > _LONGEST_LINE else "text")
