"""`sweeps suggest`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ..specs.faults import SpecError
from .base import print_line

__all__ = ["suggest"]


def suggest(
    records: Annotated[str, typer.Argument(help="A sweep's folder, a parquet or csv file, or a data set's name.")],
    target_compute: Annotated[float, typer.Option(help="The x whose prediction is to become narrower.")],
    x: Annotated[str, typer.Option(help="Column that the law is a function of.")] = "compute_flops",
    y: Annotated[str | None, typer.Option(help="Column of the error; default upstream_error.")] = None,
    task: Annotated[str | None, typer.Option(help="A downstream task, whose error is then the law's.")] = None,
    shots: Annotated[int, typer.Option(min=1, help="With --task: images a class.")] = 10,
    law: Annotated[str, typer.Option(help="The law's name.")] = "saturating_power",
    select: Annotated[str, typer.Option(help="Runs fitted: all, pareto, convex_hull or stochastic.")] = "stochastic",
    where: Annotated[str | None, typer.Option(help="Rows to keep, an expression over columns.")] = None,
    by: Annotated[str | None, typer.Option(help="A law for each value of a column, such as model_family.")] = None,
    spec: Annotated[Path | None, typer.Option(help="Suggest runs of this spec; default computes on a grid.")] = None,
    max_flops: Annotated[float | None, typer.Option(help="Most FLOPs of one cell; default the budget.")] = None,
    budget: Annotated[float | None, typer.Option(help="FLOPs of all cells; default those of the runs so far.")] = None,
    count: Annotated[int, typer.Option(min=1, help="The most cells.")] = 20,
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="Of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Plain values instead of text.")] = False,
) -> None:
    """Show which cells to train next: those that most narrow a prediction for their FLOPs."""
    from scaling.datasets import path_or_data_set

    from ..suggestions.advice import Question, advise_groups  # pandas and the fits, which other commands do without
    from ..suggestions.advice_text import advice_text
    from ..suggestions.candidates import spec_cells
    from ..suggestions.present_fit import held_runs, read_runs

    for name, value in (("target-compute", target_compute), ("max-flops", max_flops), ("budget", budget)):
        if value is not None and not 0 < value < float("inf"):
            raise SpecError(f"--{name} must be a positive finite number, got {value:g}")
    if y is not None and task is not None:
        raise SpecError(f"--y and --task both name the error, got {y!r} and {task!r}")
    error = "upstream_error" if y is None else y
    error = error if task is None else f"{task}_{shots}shot_error"
    options = {"budget": budget, "max_flops": max_flops, "count": count, "level": level, "seed": seed}
    question = Question(target_compute, x, error, law, select, **options)
    try:
        source = path_or_data_set(records)
        runs = read_runs(source, x, error, where)
        cells = spec_cells(spec, held_runs(source), x) if spec else None
        advice, reasons = advise_groups(runs.frame, question, cells, by)
    except ValueError as fault:
        raise SpecError(str(fault)) from fault
    if as_json:
        found = {"advice": [each.to_dict() for each in advice], "no_fit": reasons, "left_out": runs.left_out}
        print_line(json.dumps(found, indent=2))
    else:
        parts = [advice_text(each) for each in advice]
        parts += [f"{name}: no law: {reason}" for name, reason in reasons.items()]
        parts += [f"left out: {runs.left_out}"] if runs.left_out else []
        print_line("\n\n".join(parts))
