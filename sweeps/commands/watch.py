"""`sweeps watch`."""

from typing import Annotated

import typer

from scaling.command_line import new_console

from ..stopping import interrupted_by_signals
from .base import FolderArgument

__all__ = ["watch"]


def watch(
    folder: FolderArgument,
    every: Annotated[float, typer.Option(min=0.2, max=86400, help="Seconds between two looks.")] = 5.0,
    once: Annotated[bool, typer.Option("--once", help="Look once and end.")] = False,
) -> None:
    """A sweep live in the terminal: runs done and failing, images a second, time left, the frontier so far."""
    from ..watching.watch import watch as watch_folder  # the frontier takes `scaling`, which no other command needs

    with interrupted_by_signals():  # the terminal's cursor comes back
        watch_folder(folder, every, once, new_console())
