"""The command line: fit scaling laws to the records of trained models, predict with an interval, draw, report."""

from .command_line import command_group
from .commands import COMMANDS
from .commands.base import answered

__all__ = ["main"]

app = command_group("scaling.commands", list(COMMANDS), answered, __doc__ or "")


def main() -> None:
    """Exit codes: 0 an answer, 1 the analysis says no (no law can be had, a target is never reached), 2 wrong use."""
    app()
