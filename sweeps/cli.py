"""The command line of training grids."""

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from scaling.command_line import command_group, print_note
from scaling.interrupts import say_stopped

from .commands import COMMANDS
from .commands.base import one_line_errors
from .stopping import Interrupted

__all__ = ["main"]

_HELP = """Training grids of vision models whose records show how error scales.

\bSPEC is a YAML file of models, subsets, steps, recipes; a list is an axis.
Begin with:
  sweeps plan SPEC    what it would train, how long it takes, how much disk
  sweeps run SPEC     train it; the same command resumes
  sweeps status DIR   what is done, what failed and why, time left
For example, the sweep behind the data set demo:
  sweeps run sweeps/configs/demo.yaml --out runs/demo
"""
_EPILOG = (
    "`sweeps COMMAND --help` tells all of one. Documentation: docs/tutorial.md, docs/overnight.md, docs/training.md"
)


def _stoppable(command: Callable[..., None]) -> Callable[..., None]:
    """Errors are one line each, and so is being told to stop in a part that puts in order what it has begun."""
    command = one_line_errors(command)

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except Interrupted as told:
            say_stopped()
            sys.exit(told.exit_code)

    return wrapped


app = command_group("sweeps.commands", list(COMMANDS), _stoppable, _HELP, _EPILOG)


def _tell_warning(message: Warning | str, *place: Any, **more: Any) -> None:
    print_note(f"warning: {message}", stderr=True, style="yellow")


def main() -> None:
    """Exit codes: 0 all is done, 1 some runs failed or still wait, 2 wrong use, 128 + n stopped by signal n."""
    warnings.showwarning = _tell_warning
    app(prog_name="sweeps")  # also of python -m
