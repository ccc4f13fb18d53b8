"""`sweeps retry`."""

from pathlib import Path
from typing import Annotated

import typer

from ..paths import SweepPaths
from ..runner.frozen_plan import FrozenPlan, read_frozen_plan
from ..runner.record_rows import RecordRows
from ..specs.faults import SpecError
from .base import FolderArgument, print_line
from .training import (
    AcceptOption,
    AddressOption,
    DevicesOption,
    EngineOption,
    JobOption,
    KeepGoingOption,
    SlotsOption,
    SlotsPerDeviceOption,
    train_and_report,
    until_stopped,
    where,
)

__all__ = ["STATUSES", "retry"]

STATUSES = {"failed": {"failed"}, "oom": {"oom"}, "all": {"failed", "oom"}}


def retry(
    folder: FolderArgument,
    status: Annotated[str, typer.Option(help="Which runs: failed, oom or all.")] = "all",
    error: Annotated[str, typer.Option(help="Only those whose error has this text.")] = "",
    engine: EngineOption = "local",
    devices: DevicesOption = None,
    slots: SlotsOption = None,
    slots_per_device: SlotsPerDeviceOption = 1,
    address: AddressOption = None,
    option: JobOption = None,
    accept_changes: AcceptOption = False,
    keep_going: KeepGoingOption = False,
) -> None:
    """Train again the runs of a sweep's folder that failed, as they were planned, and nothing else."""
    places = where(devices, slots, slots_per_device, address, option)
    if status not in STATUSES:
        raise SpecError(f"--status: must be one of {list(STATUSES)}, got {status!r}")

    def command() -> None:
        frozen = read_frozen_plan(SweepPaths(folder))
        only = _failed(frozen, folder, STATUSES[status], error)
        print_line(f"{len(only)} runs to train again")
        how = {"engine": engine, "accept_changes": accept_changes, "keep_going": keep_going}
        if only:
            train_and_report(frozen.plan(), None, folder, only=only, **how, **places)

    until_stopped(command)


def _failed(frozen: FrozenPlan, folder: Path, statuses: set[str], error: str) -> set[str]:
    """Run ids of those that ended so, with that text in their error."""
    rows = RecordRows(SweepPaths(folder)).rows
    last = {run_id: rows[run_id][-1] for run_id in frozen.run_ids if run_id in rows}
    return {run_id for run_id, row in last.items() if row["status"] in statuses and error in (row["failure"] or "")}
