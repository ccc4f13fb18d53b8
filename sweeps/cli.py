"""The command line: training grids of vision models whose records show how error scales."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from .commands import COMMANDS
from .commands.base import one_line_errors

__all__ = ["main"]


class _Commands(TyperGroup):
    """Imports a command's module when it is asked for: `status` must not wait for what `run` takes."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        function = getattr(import_module(f".commands.{cmd_name}", __package__), cmd_name)
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(cmd_name)(one_line_errors(function))
        return typer.main.get_command(alone)


app = typer.Typer(
    cls=_Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__
)


@app.callback()
def _all() -> None:
    """Typer makes a group of commands only where there is one or this."""


def main() -> None:
    """Exit codes: 0 all is done, 1 some runs failed or still wait, 2 wrong use, 128 + n stopped by signal n."""
    app()
