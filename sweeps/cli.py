"""The command line: training grids of vision models whose records show how error scales."""

from importlib import import_module

import typer

from .commands import COMMANDS
from .commands.base import one_line_errors

__all__ = ["main"]

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
for _name in COMMANDS:
    app.command(_name)(one_line_errors(getattr(import_module(f".commands.{_name}", __package__), _name)))


def main() -> None:
    """Exit codes: 0 all is done, 1 some runs failed or still wait, 2 wrong use, 128 + n stopped by signal n."""
    app()
