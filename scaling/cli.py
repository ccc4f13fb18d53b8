"""The command line: fit scaling laws to the records of trained models, predict with an interval, draw, report."""

from collections.abc import Callable
from typing import Any

from .command_line import command_group
from .commands import COMMANDS

__all__ = ["main"]

_HELP = """Scaling laws for vision: fit laws to the records of trained models, predict with an interval, draw, report.

\bRECORDS is a sweep's folder, a csv or parquet file, or the name of a data set.
Begin with:
  scaling datasets                    what can be had by name
  scaling frontier RECORDS --at 1e13  the law of the best runs, and its value
  scaling report RECORDS              all of it as one page, report.html
For example, what the shipped sweep says a task will reach:
  scaling predict demo --task digits --at 1e13
"""
_EPILOG = "`scaling COMMAND --help` tells all of one. Documentation: docs/tutorial.md, docs/command_line.md"


def _answered(command: Callable[..., Any]) -> Callable[..., None]:
    from .commands.base import answered  # and pandas, which the list of commands does without

    return answered(command)


app = command_group("scaling.commands", list(COMMANDS), _answered, _HELP, _EPILOG)


def main() -> None:
    """Exit codes: 0 an answer, 1 the analysis says no (no law can be had, a target is never reached), 2 wrong use."""
    app(prog_name="scaling")  # also of python -m
