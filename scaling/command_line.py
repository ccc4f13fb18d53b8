"""What command lines share: commands imported when they are asked for, errors as one line with an exit code."""

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from typer.core import TyperCommand, TyperGroup

__all__ = ["command_group", "one_line_errors", "print_line"]


def command_group(package: str, names: Sequence[str], decorate: Callable[[Any], Any], text: str) -> typer.Typer:
    """A command line of lazily imported commands: none waits for what another takes.

    Args:
        package: where each command has a module of its name, with a function of its name.
        names: the commands, in the order of the help.
        decorate: what is applied to each function.
        text: the help of the whole.
    """

    class Commands(TyperGroup):
        only_listed = False

        def format_help(self, ctx: Any, formatter: Any) -> None:
            self.only_listed = True
            super().format_help(ctx, formatter)

        def list_commands(self, ctx: Any) -> list[str]:
            return list(names)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name not in names:
                return None
            if self.only_listed:
                return TyperCommand(cmd_name, help=_docstring(package, cmd_name))
            function = getattr(import_module(f"{package}.{cmd_name}"), cmd_name)
            alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            alone.command(cmd_name)(decorate(function))
            return typer.main.get_command(alone)

    group = typer.Typer(
        cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=text
    )

    @group.callback()
    def _all() -> None:
        """Typer makes a group of commands only where there is one or this."""

    return group


def _docstring(package: str, name: str) -> str | None:
    """Of a command's function, read and not imported: the list of all commands would wait for what each takes."""
    spec = find_spec(f"{package}.{name}")
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8")) if spec and spec.origin else ast.Module([], [])
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return ast.get_docstring(node)
    return None


def one_line_errors(
    command: Callable[..., None],
    exit_codes: Callable[[], Mapping[type[Exception], int]],
    text: Callable[[Exception], str] = str,
) -> Callable[..., None]:
    """A command whose errors of these kinds are one clear message and an exit code, not a traceback.

    Args:
        command: a function.
        exit_codes: makes the table of kinds of errors and their exit codes, the special ones before the general; it is
            called when there is an error, so that it may import.
        text: what is said of an error.
    """

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except BrokenPipeError:  # what reads the output has seen enough
            raise
        except Exception as error:
            code = next((code for kind, code in exit_codes().items() if isinstance(error, kind)), None)
            if code is None:
                raise
            print_line(f"error: {text(error)}", stderr=True, style="red")
            raise typer.Exit(code) from None

    return wrapped


def print_line(text: str, *, stderr: bool = False, **style: Any) -> None:
    """As it is: no markup, no colours of its own, no breaks."""
    Console(stderr=stderr).print(text, markup=False, highlight=False, soft_wrap=True, **style)
