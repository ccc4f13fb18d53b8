"""What a command has found, and its forms: a table for a terminal, JSON, csv, figures."""

import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..command_line import print_line
from ..errors import FitWarning

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FIGURE_TYPES", "Answer", "print_answer", "save_figure"]

FIGURE_TYPES = (".png", ".svg", ".pdf")
_WIDE = 10_000  # characters a line where no terminal reads: nothing is cut
_MOST_LINES = 200  # of a table in a terminal; --csv and --json give all
_DOTS_PER_INCH = 150


@dataclass(frozen=True, eq=False)
class Answer:
    """What a command has found.

    Attributes:
        table: the answer, a row a group, a law or a prediction; --csv writes it and --json its rows.
        title: a line above the table.
        notes: lines below it: what was left out, what a fit says of itself.
        values: plain values beside the rows, for --json.
        draw: draws the answer, None where there is no figure.
        no: the analysis says no: exit code 1.
    """

    table: pd.DataFrame
    title: str = ""
    notes: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    draw: "Callable[[], Axes | Figure] | None" = None
    no: bool = False


def print_answer(
    answer: Answer, found: Sequence[warnings.WarningMessage], *, as_json: bool = False, as_csv: bool = False
) -> None:
    """The answer on standard output; warnings, each once, on standard error, or inside the JSON."""
    told = list(dict.fromkeys((_kind(each.message), str(each.message)) for each in found))
    if as_json:
        values = {"rows": answer.table.to_dict("records"), **answer.values, "notes": list(answer.notes)}
        values["warnings"] = [{"kind": kind, "text": text} for kind, text in told]
        print(json.dumps(_plain(values), indent=2, allow_nan=False))
        return
    for kind, text in told:
        print_line(f"warning ({kind}): {text}", stderr=True, style="yellow")
    if as_csv:
        print(answer.table.to_csv(index=False), end="")
        return
    if answer.title:
        print_line(answer.title, style="bold")
    _print_table(answer.table)
    for note in answer.notes:
        print_line(note)


def save_figure(answer: Answer, path: Path) -> None:
    """The answer's figure as the type that the path's suffix names."""
    import matplotlib as mpl

    if answer.draw is None:
        raise ValueError("--figure: this answer has no figure")
    mpl.use("agg")
    drawn: Any = answer.draw()
    figure = getattr(drawn, "figure", drawn)
    figure.savefig(path, dpi=_DOTS_PER_INCH)


def _kind(warning: Warning | str) -> str:
    return warning.kind if isinstance(warning, FitWarning) else "note"


def _print_table(table: pd.DataFrame) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDE)
    shown = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in table.columns:
        is_number = pd.api.types.is_numeric_dtype(table[name]) and not pd.api.types.is_bool_dtype(table[name])
        shown.add_column(Text(str(name)), justify="right" if is_number else "left", overflow="fold")
    for row in table.head(_MOST_LINES).itertuples(index=False):
        shown.add_row(*(Text(_cell(value)) for value in row))
    if len(table.columns):
        console.print(shown)
    if len(table) > _MOST_LINES:
        print_line(f"... and {len(table) - _MOST_LINES} more rows: --csv or --json gives all")


def _cell(value: Any) -> str:
    """For a reader: four significant digits; csv and JSON have them all."""
    if value is None or value is pd.NA or (isinstance(value, float | np.floating) and math.isnan(value)):
        return "-"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return str(value)


def _plain(value: Any) -> Any:
    """Values of JSON: a number that is not there is null, an infinite one the text "inf" or "-inf"."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if isinstance(value, bool | int | float | str) else str(value)
