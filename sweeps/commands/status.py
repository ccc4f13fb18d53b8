"""`sweeps status`."""

import typer

from ..frozen_plan import read_frozen_plan
from ..paths import SweepPaths
from ..status import sweep_status
from .base import SOME_FAILED, FolderArgument, print_status

__all__ = ["status"]


def status(folder: FolderArgument) -> None:
    """Count a sweep's runs by status, and its failures by error."""
    paths = SweepPaths(folder)
    found = sweep_status(read_frozen_plan(paths).run_ids, paths)
    print_status(found, folder)
    if not found.all_finished:
        raise typer.Exit(SOME_FAILED)
