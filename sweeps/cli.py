"""The command line: training grids of vision models whose records show how error scales."""

from scaling.command_line import command_group

from .commands import COMMANDS
from .commands.base import one_line_errors

__all__ = ["main"]

app = command_group("sweeps.commands", list(COMMANDS), one_line_errors, __doc__ or "")


def main() -> None:
    """Exit codes: 0 all is done, 1 some runs failed or still wait, 2 wrong use, 128 + n stopped by signal n."""
    app()
