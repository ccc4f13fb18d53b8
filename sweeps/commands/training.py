"""What the commands that train share: where it is done, being stopped, what is written at the end."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from scaling.command_line import print_note

from ..runner.run import run_sweep
from ..runner.status import SweepStatus
from ..specs.faults import SpecError
from ..specs.grid import Plan
from ..stopping import Interrupted, interrupted_by_signals
from .base import MOST_SLOTS, SOME_FAILED, collected, print_line, print_status

__all__ = [
    "AcceptOption", "AddressOption", "DevicesOption", "EngineOption", "JobOption", "KeepGoingOption", "SlotsOption",
    "SlotsPerDeviceOption", "train_and_report", "until_stopped", "where",
]  # fmt: skip

EngineOption = Annotated[str, typer.Option(help="Where runs are trained: local, ray or slurm.")]
DevicesOption = Annotated[str | None, typer.Option(help="As cuda:0,cuda:1; default all GPUs, or the CPU.")]
SlotsOption = Annotated[
    int | None, typer.Option(min=1, max=MOST_SLOTS, help="Runs side by side; default all there is room for.")
]
SlotsPerDeviceOption = Annotated[int, typer.Option(min=1, max=MOST_SLOTS, help="Runs that share a GPU.")]
AddressOption = Annotated[str | None, typer.Option(help="Of a Ray cluster; default one on this machine.")]
JobOption = Annotated[list[str] | None, typer.Option("--option", help="Of Slurm, as partition=gpu; may be repeated.")]
AcceptOption = Annotated[
    bool, typer.Option("--accept-changes", help="Go on where the spec or the code changed since the folder was run.")
]
KeepGoingOption = Annotated[
    bool, typer.Option("--keep-going", help="Do not stop where run after run fails with the same error.")
]

_STOPPING = "\nstopping: trainings save what they have; once more stops them at once\n"


def where(
    devices: str | None, slots: int | None, slots_per_device: int, address: str | None, options: Sequence[str] | None
) -> dict[str, Any]:
    """Fields of `EngineOptions`.

    Raises:
        SpecError: an option that is not written as key=value.
    """
    pairs = [option.partition("=") for option in options or ()]
    if wrong := [key for key, equals, _ in pairs if not (key and equals)]:
        raise SpecError(f"--option: must be key=value, as partition=gpu, got {wrong[0]!r}")
    return {
        "devices": devices.split(",") if devices else None,
        "slots": slots,
        "slots_per_device": slots_per_device,
        "address": address,
        "job_options": {key: value for key, _, value in pairs},
    }


def until_stopped(command: Callable[[], None]) -> None:
    """Call it; told to stop it is one line and exit code 128 + the signal's number."""
    try:
        with interrupted_by_signals(_STOPPING):
            command()
    except Interrupted as told:
        with suppress(OSError):  # the terminal may be gone
            print_line("stopped; the same command goes on from here", stderr=True)
        raise typer.Exit(told.exit_code) from None


def train_and_report(plan: Plan, spec_text: str | None, folder: Path, **options: Any) -> None:
    """Run the sweep, write its tables, figures and summary.

    Raises:
        typer.Exit: some runs have no result.
    """
    from .. import summary  # noqa: F401 - now, lest they be edited while it trains

    status = run_sweep(plan, spec_text, folder, afterwards=partial(_report, plan, folder), **options)
    if not status.all_finished:
        raise typer.Exit(SOME_FAILED)


def _report(plan: Plan, folder: Path, status: SweepStatus) -> None:
    from ..planning.describe import tuned_columns
    from ..summary import write_summary  # matplotlib takes a second, which no other command needs

    print_status(status, folder)
    collected(folder)
    run_ids = {config.run_id for config in plan.configs}
    print_line(write_summary(folder, plan.name, run_ids, tuned_columns(plan.configs)))
    print_note(f"figures and summary.txt are in {folder}")
