"""What command lines share: commands imported when they are asked for, errors as one line with an exit code, quiet."""

import ast
import inspect
import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["command_group", "is_quiet", "new_console", "one_line_errors", "print_line", "print_note"]

_DISTRIBUTION = "vision-scaling-laws"
_QuietOption = typer.Option("--quiet", "-q", help="Print the answer and errors, no notes, warnings and progress.")
_quiet: list[bool] = []  # of the commands that run, the last one's


def command_group(
    package: str, names: Sequence[str], decorate: Callable[[Any], Any], text: str, epilog: str = ""
) -> typer.Typer:
    """A command line of lazily imported commands: none waits for what another takes.

    Args:
        package: where each command has a module of its name, with a function of its name.
        names: the commands, in the order of the help.
        decorate: what is applied to each function.
        text, epilog: the help of the whole, before and after the list of commands.
    """

    class Commands(TyperGroup):
        only_listed = False

        def main(self, *args: Any, **kwargs: Any) -> Any:
            _fit_to_output()
            if _has_no_colour():
                from typer import rich_utils

                rich_utils.COLOR_SYSTEM = None  # of helps and of wrong use
            try:
                return super().main(*args, **kwargs)
            except OSError as error:  # a help that a full disk has no room for
                sys.exit(f"error: {error}")

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
            if ctx.resilient_parsing:  # a shell completes
                from .completion import completed_command

                return completed_command(package.partition(".")[0], cmd_name)
            function = getattr(import_module(f"{package}.{cmd_name}"), cmd_name)
            alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            alone.command(cmd_name)(_with_quiet(decorate(function)))
            return typer.main.get_command(alone)

    group = typer.Typer(
        cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, help=text, epilog=epilog,
        context_settings={"help_option_names": ["--help", "-h"]},
    )  # fmt: skip

    def show_version(is_asked: bool) -> None:
        if is_asked:
            from importlib import metadata

            print(f"{package.partition('.')[0]} {metadata.version(_DISTRIBUTION)}")
            raise typer.Exit

    version_option: Any = Annotated[
        bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=show_version)
    ]

    @group.callback(help=text)
    def _all(
        version: version_option = False,  # pyright: ignore[reportInvalidTypeForm]
        quiet: Annotated[bool, _QuietOption] = False,
    ) -> None:  # fmt: skip
        """Typer makes a group of commands only where there is one or this."""
        _quiet[:] = [quiet]

    return group


def _with_quiet(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the option `--quiet`, which may stand before its name and after it."""

    @wraps(command)
    def wrapped(*args: Any, _is_quiet: bool = False, **kwargs: Any) -> None:
        before = _quiet[:]
        _quiet[:] = [_is_quiet or is_quiet()]
        try:
            command(*args, **kwargs)
        finally:
            _quiet[:] = before

    option: Any = Annotated[bool, _QuietOption]
    quiet = inspect.Parameter("_is_quiet", inspect.Parameter.KEYWORD_ONLY, annotation=option, default=False)
    own = inspect.signature(command, eval_str=True)
    wrapped.__signature__ = own.replace(parameters=[*own.parameters.values(), quiet])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {name: each.annotation for name, each in own.parameters.items()} | {"_is_quiet": option}
    return wrapped


def is_quiet() -> bool:
    """Whether only the answer and errors are to be printed."""
    return bool(_quiet) and _quiet[-1]


def _fit_to_output() -> None:
    """What the output's encoding lacks, such as a bar in ASCII, becomes `?`; a width of 0 columns is one not known."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    if not os.environ.get("COLUMNS", "").strip("0"):
        os.environ.pop("COLUMNS", None)


def _has_no_colour() -> bool:
    return bool(os.environ.get("NO_COLOR"))


def new_console(*, stderr: bool = False, **options: Any) -> "Console":
    """Of a terminal with styles, else without; where NO_COLOR is set (no-color.org) without colours, bold and dim."""
    from rich.console import Console  # which a completion does without

    return Console(stderr=stderr, color_system=None if _has_no_colour() else "auto", **options)


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
    new_console(stderr=stderr).print(text, markup=False, highlight=False, soft_wrap=True, **style)


def print_note(text: str, *, stderr: bool = False, **style: Any) -> None:
    """A line beside the answer, as `print_line`; not where the user wants quiet."""
    if not is_quiet():
        print_line(text, stderr=stderr, **style)
