"""What the commands share: their arguments, their exit codes, errors as one line."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scaling import command_line
from scaling.command_line import print_line, print_note

if TYPE_CHECKING:  # each command imports what it takes when it is called, so that none waits for another's
    from ..runner.collect import Collected
    from ..runner.status import SweepStatus
    from ..specs.grid import Plan

__all__ = [
    "MOST_SLOTS", "SOME_FAILED", "WRONG_USE", "FolderArgument", "SpecArgument", "check_name", "collected",
    "one_line_errors", "plan_of_spec", "print_line", "print_status", "tell",
]  # fmt: skip

WRONG_USE, SOME_FAILED = 2, 1
MOST_SLOTS = 4096  # runs side by side: more than a machine has cores

SpecArgument = Annotated[Path, typer.Argument(help="The sweep's YAML file.")]


def check_name(path: Path | None) -> Path | None:
    """Arrow opens no file whose name has bytes that are no text; each would seem to be damaged.

    Raises:
        BadParameter: the name of a folder that has some.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise typer.BadParameter(f"must be a name that is text in this locale's encoding, got {str(path)!r}") from None
    return path


FolderArgument = Annotated[Path, typer.Argument(help="A sweep's folder.", callback=check_name)]


def one_line_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Wrong input is one clear message and exit code 2, not a traceback."""
    return command_line.one_line_errors(command, lambda: dict.fromkeys(_told_in_one_line(), WRONG_USE))


def _told_in_one_line() -> tuple[type[Exception], ...]:
    from ..runner.run import SweepBusyError
    from ..specs.faults import SpecError

    return SpecError, SweepBusyError, OSError


def tell(line: str) -> None:
    """What goes on, beside the answer on stdout."""
    print_note(line, stderr=True)


def plan_of_spec(spec: Path) -> "Plan":
    """The runs that a spec's file asks for."""
    from ..specs.grid import make_plan
    from ..specs.spec import read_spec

    return make_plan(read_spec(spec))


def collected(folder: Path) -> "Collected":
    """Write a sweep's tables and say what was left out.

    Raises:
        SpecError: there are none, as after a full disk.
    """
    from ..runner.collect import collect
    from ..specs.faults import SpecError

    try:
        return collect(folder)
    except ValueError as error:
        raise SpecError(str(error)) from error


def print_status(status: "SweepStatus", folder: Path) -> None:
    """Runs by status, and each failure with how many runs had it, the most frequent first."""
    print_line(f"{folder}: {', '.join(f'{count} {name}' for name, count in sorted(status.statuses.items()))}")
    for line, count in sorted(status.failures.items(), key=lambda item: -item[1]):
        print_line(f"  {count} run(s): {line}", style="red")
