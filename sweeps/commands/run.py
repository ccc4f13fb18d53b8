"""`sweeps run`."""

from pathlib import Path
from typing import Annotated

import typer

from .base import SpecArgument, check_name, plan_of_spec
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

__all__ = ["run"]


def run(
    spec: SpecArgument,
    out: Annotated[
        Path | None, typer.Option(help="The sweep's folder; default runs/<name>.", callback=check_name)
    ] = None,
    engine: EngineOption = "local",
    devices: DevicesOption = None,
    slots: SlotsOption = None,
    slots_per_device: SlotsPerDeviceOption = 1,
    address: AddressOption = None,
    option: JobOption = None,
    accept_changes: AcceptOption = False,
    keep_going: KeepGoingOption = False,
) -> None:
    """Train what is not finished, then fit the laws and write figures and a summary. The same command resumes."""
    places = where(devices, slots, slots_per_device, address, option)

    def command() -> None:
        plan, text = plan_of_spec(spec), spec.read_text(encoding="utf-8")
        folder = out or Path("runs") / plan.name
        how = {"engine": engine, "accept_changes": accept_changes, "keep_going": keep_going}
        train_and_report(plan, text, folder, **how, **places)

    until_stopped(command)
