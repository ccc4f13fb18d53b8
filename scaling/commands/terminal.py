"""A table for a person at a terminal: as it is where it fits, else turned, its rows side by side."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ..command_line import new_console, print_line

__all__ = ["cell", "print_table", "printable"]

_UNBOUNDED = 1_000_000  # characters a line, of which a table takes what it needs
_MOST_LINES = 200  # of a table in a terminal; --csv and --json give all
_LONGEST = 120  # characters of a cell in a terminal
_NARROWEST = 16  # of a column of texts that are broken over lines


def print_table(table: pd.DataFrame) -> None:
    """On standard output. Columns that are empty in all rows are left out."""
    console = new_console()
    shown = table.head(_MOST_LINES) if console.is_terminal else table
    shown = shown[[name for name in shown if not shown[name].map(_is_empty).all()]]
    if not shown.empty:
        _print(console, shown)
    if len(table) > len(shown):
        print_line(f"... and {len(table) - len(shown)} more rows: --csv or --json gives all")


def cell(value: Any) -> str:
    """For a reader: four significant digits; csv and JSON have them all."""
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return printable(str(value))


def printable(text: str) -> str:
    r"""A text that a terminal takes no order from: what cannot be printed is written as in a program.

    >>> printable("a\x1b[31m b")
    'a\\x1b[31m b'
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value == "")


def _print(console: Console, table: pd.DataFrame) -> None:
    texts = [[cell(value) for value in row] for row in table.itertuples(index=False)]
    if console.is_terminal:
        texts = [[text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..." for text in row] for row in texts]
    names = [printable(str(name)) for name in table.columns]
    if not console.is_terminal:  # nothing is cut where no terminal reads
        widest = (max(map(len, column)) for column in zip(names, *texts, strict=True))
        console = new_console(width=sum(widest) + 2 * len(names))
    is_number = [_is_number(table.iloc[:, place]) for place in range(len(names))]
    upright = _table(names, texts, is_number)
    least = Measurement.get(console, console.options.update(width=_UNBOUNDED), upright).minimum
    if least <= console.width:
        console.print(upright)
        return
    for some in _side_by_side(names, texts, console.width):
        console.print(_turned(names, some))


def _table(names: Sequence[str], texts: Sequence[Sequence[str]], is_number: Sequence[bool]) -> Table:
    shown = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for place, (name, number) in enumerate(zip(names, is_number, strict=True)):
        widest = max(len(name), *(len(row[place]) for row in texts))
        least = widest if number else min(widest, max(_NARROWEST, len(name)))
        justify = "right" if number else "left"
        shown.add_column(Text(name), justify=justify, no_wrap=number, overflow="fold", min_width=least)
    for row in texts:
        shown.add_row(*map(Text, row))
    return shown


def _turned(names: Sequence[str], texts: Sequence[Sequence[str]]) -> Table:
    """A line a column of the table."""
    shown = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    shown.add_column(style="bold", no_wrap=True)
    for _ in texts:
        shown.add_column(overflow="fold")
    for place, name in enumerate(names):
        shown.add_row(Text(name), *(Text(row[place]) for row in texts))
    shown.add_row()  # between tables of more rows than fit side by side
    return shown


def _side_by_side(
    names: Sequence[str], texts: Sequence[Sequence[str]], width: int
) -> list[Sequence[Sequence[str]]]:  # fmt: skip
    """As many rows as fit beside each other, at least one."""
    groups: list[list[Sequence[str]]] = []
    left = 0
    for row in texts:
        needed = max(map(len, row)) + 2
        if not groups or needed > left:
            groups.append([])
            left = width - max(map(len, names)) - 2
        groups[-1].append(row)
        left -= needed
    return list(groups)


def _is_number(column: pd.Series) -> bool:
    told = column.dropna()
    return bool(len(told)) and all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in told)
