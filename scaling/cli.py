"""The command line: fit scaling laws to the records of trained models, predict with an interval, draw, report."""

from collections.abc import Callable
from typing import Any

from .command_line import command_group
from .commands import COMMANDS

__all__ = ["main"]


def _answered(command: Callable[..., Any]) -> Callable[..., None]:
    from .commands.base import answered  # and pandas, which the list of commands does without

    return answered(command)


app = command_group("scaling.commands", list(COMMANDS), _answered, __doc__ or "")


def main() -> None:
    """Exit codes: 0 an answer, 1 the analysis says no (no law can be had, a target is never reached), 2 wrong use."""
    app()
