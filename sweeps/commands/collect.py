"""`sweeps collect`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..paths import SweepPaths
from ..runner.frozen_plan import read_frozen_plan
from ..specs.faults import SpecError
from ..trackers import TRACKERS, track
from ..words import plural
from .base import FolderArgument, collected, print_line

if TYPE_CHECKING:
    from ..runner.collect import Collected

__all__ = ["collect"]

_MOST_NAMED = 10


def collect(
    folder: FolderArgument,
    tracker: Annotated[str | None, typer.Option(help=f"Also write the runs for one of {list(TRACKERS)}.")] = None,
) -> None:
    """Write one records, one evals and one measurements parquet into a sweep's folder."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    if tracker is not None and tracker not in TRACKERS:
        raise SpecError(f"--tracker must be one of {list(TRACKERS)}, got {tracker!r}")
    paths, found = SweepPaths(folder), collected(folder)
    _print_left_out(found)
    for table, num_rows in found.num_rows.items():
        if num_rows:
            print_line(f"{num_rows} {table} in {paths.table(table)}")
    if others := _num_others(paths, found):
        print_line(f"{plural(others, 'run')} of earlier plans are among them")
    if tracker is not None:
        _track(paths, tracker)


def _print_left_out(found: "Collected") -> None:
    damaged = [f"left out, damaged: {file}: {why}" for file, why in found.damaged.items()]
    repeated = [f"left out, holds the runs of {other} again: {name}" for name, other in found.repeated.items()]
    for lines, what in ((damaged, "damaged file"), (repeated, "folder")):
        for line in lines[:_MOST_NAMED]:
            print_line(line, style="yellow")
        if lines:
            print_line(f"{plural(len(lines), what)} left out", style="yellow")


def _num_others(paths: SweepPaths, found: "Collected") -> int:
    """Runs that the folder's plan does not ask for; none where it has no plan."""
    try:
        return len(found.run_ids.difference(read_frozen_plan(paths).run_ids))
    except FileNotFoundError:
        return 0


def _track(paths: SweepPaths, tracker: str) -> None:
    try:
        written, folder = track(paths, tracker)
    except ModuleNotFoundError as error:
        package = (error.name or tracker).partition(".")[0]
        raise SpecError(f"{package} is not installed: pip install '.[{tracker}]' in the folder you cloned") from error
    print_line(f"{plural(written, 'run')} written for {tracker} in {Path(folder)}, unchanged ones left as they are")
