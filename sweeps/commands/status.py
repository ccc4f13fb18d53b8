"""`sweeps status`."""

import json
from typing import Annotated

import typer
from rich.console import Console

from ..paths import SweepPaths
from ..watching.overview import overview
from ..watching.overview_text import overview_json, overview_lines
from .base import SOME_FAILED, FolderArgument, print_line

__all__ = ["status"]


def status(
    folder: FolderArgument,
    as_json: Annotated[bool, typer.Option("--json", help="All facts as one JSON object.")] = False,
) -> None:
    """What is done, what runs, what failed and why, what diverged, and how much longer it takes."""
    found = overview(SweepPaths(folder))
    if as_json:
        print_line(json.dumps(overview_json(found), indent=1))
    else:
        for line, style in overview_lines(found, Console().width):
            print_line(line, style=style)
    if not found.all_finished:
        raise typer.Exit(SOME_FAILED)
