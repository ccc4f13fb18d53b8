"""`sweeps run`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..grid import Plan
from ..run import run_sweep
from .base import SOME_FAILED, SpecArgument, collected, plan_of_spec, print_line, print_status

__all__ = ["run"]

_INTERRUPTED = 130


def run(
    spec: SpecArgument,
    out: Annotated[Path | None, typer.Option(help="The sweep's folder; default runs/<name>.")] = None,
    slots: Annotated[int | None, typer.Option(min=1, help="Runs side by side on the CPU; default all cores.")] = None,
) -> None:
    """Train what is not finished, then fit the laws and write figures and a summary. The same command resumes."""
    plan = plan_of_spec(spec)
    folder = out or Path("runs") / plan.name
    try:
        status = run_sweep(plan, spec.read_text(), folder, devices=["cpu"] * slots if slots else None)
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped; the same command goes on from here")
        raise typer.Exit(_INTERRUPTED) from None
    print_status(status, folder)
    _write_results(folder, plan)
    if not status.all_finished:
        raise typer.Exit(SOME_FAILED)


def _write_results(folder: Path, plan: Plan) -> None:
    from ..describe import tuned_columns
    from ..summary import write_summary  # matplotlib takes a second, which no other command needs

    collected(folder)
    run_ids = {config.run_id for config in plan.configs}
    print_line(write_summary(folder, plan.name, run_ids, tuned_columns(plan.configs)))
    print_line(f"figures and summary.txt are in {folder}")
