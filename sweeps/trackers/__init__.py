"""Trackers that other tools show runs in, written from the records: nothing is tracked while a run trains."""

from importlib import import_module
from pathlib import Path

from ..paths import SweepPaths

__all__ = ["TRACKERS", "track"]

TRACKERS = ("tensorboard", "wandb")
"""Each is its module, its extra and its folder in the sweep's; the module has `write_run(run, folder, sweep)`."""


def track(paths: SweepPaths, name: str) -> tuple[int, Path]:
    """Write each run that has changed since it was last written; returns how many these were, and where they lie.

    Raises:
        ValueError: no such tracker.
        ModuleNotFoundError: its package is not installed.
    """
    if name not in TRACKERS:
        raise ValueError(f"tracker must be one of {list(TRACKERS)}, got {name!r}")
    from .base import tracked_runs  # takes `scaling`

    module = import_module(f".{name}", __package__)
    folder, written = paths.folder / name, 0
    for run in tracked_runs(paths):
        mark = folder / ".written" / run.run_id
        if mark.is_file() and mark.read_text() == run.stamp:
            continue
        module.write_run(run, folder, paths.folder.resolve().name)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text(run.stamp)
        written += 1
    return written, folder
