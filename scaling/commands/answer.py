"""What a command has found, and its forms: tables for a terminal, JSON, csv, figures."""

import json
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..command_line import new_console, print_line, print_note
from ..errors import FitError, FitWarning
from .terminal import print_table, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FIGURE_TYPES", "Answer", "check_figures", "draw_groups", "print_answer", "save_figures"]

FIGURE_TYPES = (".png", ".svg", ".pdf")
_DOTS_PER_INCH = 150
_MOST_NOTES = 100  # in a terminal
_MOST_AXES = 24  # of one figure
_AXES_INCHES = (8.0, 4.8)  # with a legend beside them


@dataclass(frozen=True, eq=False)
class Answer:
    """What a command has found.

    Attributes:
        table: the answer, a row a group, a law or a prediction; --csv writes it and --json its rows.
        title: a line above the table.
        notes: lines below it: what was left out, what a fit says of itself.
        values: plain values beside the rows, for --json.
        predictions: what the laws say where that was asked, below the table; --csv then writes it instead.
        draw: draws the answer, None where there is no figure.
        dots_per_inch: of a figure that is a png.
        no: the analysis says no: exit code 1.
    """

    table: pd.DataFrame
    title: str = ""
    notes: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    predictions: pd.DataFrame | None = None
    draw: "Callable[[], Axes | Figure] | None" = None
    dots_per_inch: float = _DOTS_PER_INCH
    no: bool = False


def print_answer(
    answer: Answer, found: Sequence[warnings.WarningMessage], *, as_json: bool = False, as_csv: bool = False
) -> None:
    """The answer on standard output; warnings, each once, on standard error, or inside the JSON."""
    told = list(dict.fromkeys((_kind(each.message), str(each.message)) for each in found))
    if as_json:
        values = {"rows": answer.table.to_dict("records"), **answer.values, "notes": list(answer.notes)}
        if answer.predictions is not None:
            values["predictions"] = answer.predictions.to_dict("records")
        values["warnings"] = [{"kind": kind, "text": text} for kind, text in told]
        print(json.dumps(_plain(values), indent=2, allow_nan=False))
        return
    for kind, text in told:
        print_note(f"warning ({kind}): {printable(text)}", stderr=True, style="yellow")
    if as_csv:
        print((answer.table if answer.predictions is None else answer.predictions).to_csv(index=False), end="")
        return
    if answer.title:
        print_note(printable(answer.title), style="bold")
    print_table(answer.table)
    if answer.predictions is not None:
        print_line("")
        print_table(answer.predictions)
    shown = answer.notes[:_MOST_NOTES] if new_console().is_terminal else answer.notes
    for note in shown:
        print_note("\n".join(map(printable, note.split("\n"))))
    if len(answer.notes) > len(shown):
        print_note(f"... and {len(answer.notes) - len(shown)} more notes: --json gives all")


def save_figures(answer: Answer, paths: Sequence[Path]) -> None:
    """The answer's figure, drawn once, as the types that the paths' suffixes name."""
    if not paths:
        return
    if answer.draw is None:
        raise (FitError if answer.no else ValueError)("--figure: there is nothing to draw")
    import matplotlib as mpl

    mpl.use("agg")
    drawn: Any = answer.draw()
    figure = drawn if hasattr(drawn, "savefig") else drawn.get_figure(root=True)
    for path in paths:
        figure.savefig(path, dpi=answer.dots_per_inch)


def check_figures(paths: Sequence[Path]) -> None:
    """Before an hour of work: that each path names a type, in a folder that can be written to.

    Raises:
        ValueError: it does not.
    """
    for path in paths:
        if path.suffix.lower() not in FIGURE_TYPES:
            raise ValueError(f"--figure must end in one of {', '.join(FIGURE_TYPES)}, got {path}")
        if not path.parent.is_dir():
            raise ValueError(f"--figure: there is no folder {path.parent}")
        if not os.access(path if path.exists() else path.parent, os.W_OK) or path.is_dir():
            raise ValueError(f"--figure: {path} cannot be written")


def draw_groups(draw: "Mapping[str, Callable[[Axes], Any]]") -> "Callable[[], Figure] | None":
    """What draws one figure of all groups, each on axes of its own below its name; None where there is no group.

    Drawing raises a ValueError where there are too many to be read.
    """
    return (lambda: _figure_of(draw)) if draw else None


def _figure_of(draw: "Mapping[str, Callable[[Axes], Any]]") -> "Figure":
    if len(draw) > _MOST_AXES:
        raise ValueError(f"--figure draws at most {_MOST_AXES} groups, got {len(draw)}: choose some with --where")
    import matplotlib.pyplot as plt

    from ..plots.words import shown_name

    columns = min(len(draw), 2)
    lines = -(-len(draw) // columns)
    size = (_AXES_INCHES[0] * columns, _AXES_INCHES[1] * lines)
    figure, axes = plt.subplots(lines, columns, figsize=size, layout="constrained", squeeze=False)
    for ax, (name, function) in zip(axes.flat, draw.items(), strict=False):
        function(ax)
        if len(draw) > 1:
            ax.set_title(shown_name(name))
    for ax in axes.flat[len(draw) :]:
        ax.remove()
    return figure


def _kind(warning: Warning | str) -> str:
    return warning.kind if isinstance(warning, FitWarning) else "note"


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
