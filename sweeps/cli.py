"""The command line: `sweeps plan | run | status | collect`."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from .collect import collect as collect_tables
from .grid import Plan, make_plan
from .paths import SweepPaths
from .run import SweepBusyError, SweepStatus, planned_runs, run_sweep, sweep_status
from .spec import SpecError, read_spec

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["main"]

_WRONG_USE, _SOME_FAILED, _INTERRUPTED = 2, 1, 130

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
SpecArgument = Annotated[Path, typer.Argument(help="The sweep's YAML file.")]
FolderArgument = Annotated[Path, typer.Argument(help="A sweep's folder.")]


def main() -> None:
    """Exit codes: 0 all is done, 1 some runs failed or still wait, 2 wrong use, 130 stopped by Ctrl-C."""
    app()


def _one_line_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Wrong input is one clear message and exit code 2, not a traceback."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except (SpecError, SweepBusyError, OSError) as error:
            Console(stderr=True).print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
            raise typer.Exit(_WRONG_USE) from None

    return wrapped


@app.command()
@_one_line_errors
def run(
    spec: SpecArgument,
    out: Annotated[Path | None, typer.Option(help="The sweep's folder; default runs/<name>.")] = None,
    slots: Annotated[int | None, typer.Option(min=1, help="Runs side by side on the CPU; default all cores.")] = None,
) -> None:
    """Train what is not finished, then fit the laws and write figures and a summary. The same command resumes."""
    plan = _read_plan(spec)
    folder = out or Path("runs") / plan.name
    try:
        status = run_sweep(plan, spec.read_text(), folder, devices=["cpu"] * slots if slots else None)
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped; the same command goes on from here")
        raise typer.Exit(_INTERRUPTED) from None
    _print_status(status, folder)
    _write_results(folder, plan)
    if not status.all_finished:
        raise typer.Exit(_SOME_FAILED)


@app.command()
@_one_line_errors
def plan(spec: SpecArgument) -> None:
    """Show the runs of a spec, before anything is trained."""
    from .describe import describe_plan  # counting FLOPs takes torch, which no other command needs

    Console().print(describe_plan(_read_plan(spec)), markup=False, highlight=False, soft_wrap=True)


@app.command()
@_one_line_errors
def status(folder: FolderArgument) -> None:
    """Count a sweep's runs by status, and its failures by error."""
    paths = SweepPaths(folder)
    found = sweep_status(planned_runs(paths), paths)
    _print_status(found, folder)
    if not found.all_finished:
        raise typer.Exit(_SOME_FAILED)


@app.command()
@_one_line_errors
def collect(folder: FolderArgument) -> None:
    """Write one records, one evals and one measurements parquet into a sweep's folder."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    records = _collect(folder)
    Console().print(f"{len(records)} records in {SweepPaths(folder).table('records')}", highlight=False, soft_wrap=True)


def _collect(folder: Path) -> "pd.DataFrame":
    try:
        return collect_tables(folder)
    except ValueError as error:  # no records, as after a full disk
        raise SpecError(str(error)) from error


def _read_plan(spec: Path) -> Plan:
    return make_plan(read_spec(spec))


def _print_status(status: SweepStatus, folder: Path) -> None:
    console = Console()
    counts = ", ".join(f"{count} {name}" for name, count in sorted(status.statuses.items()))
    console.print(f"{folder}: {counts}", highlight=False, soft_wrap=True)
    for line, count in sorted(status.failures.items(), key=lambda item: -item[1]):
        console.print(f"  {count} run(s): {line}", style="red", markup=False, soft_wrap=True)


def _write_results(folder: Path, plan: Plan) -> None:
    from .describe import tuned_columns
    from .summary import write_summary  # matplotlib takes a second, which no other command needs

    _collect(folder)
    run_ids = {config.run_id for config in plan.configs}
    text = write_summary(folder, plan.name, run_ids, tuned_columns(plan.configs))
    Console().print(text, markup=False, highlight=False, soft_wrap=True)
    Console().print(f"figures and summary.txt are in {folder}", highlight=False, soft_wrap=True)
