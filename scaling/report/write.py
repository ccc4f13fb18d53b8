"""Write a report: one page of what records say."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ..page import Section, TableView, write_page
from .advice import told_warnings
from .asked import Asked, axes_of, read_asked
from .checklist import checklist_section
from .edge import Edge, find_edge
from .figures import frontier_picture, transfer_picture
from .noted import noted
from .overview import facts_of, summary_section
from .runs import count_statuses, runs_section
from .tasks import MOST_MODELS, TaskFit, fit_each_task, task_table
from .words import counted, short

__all__ = ["Written", "write_report"]

_MOST_PICTURES = 12  # of tasks


@dataclass(frozen=True)
class Written:
    """What was written.

    Attributes:
        path: of the page.
        num_rows, num_runs: of the records.
        num_by_status: rows that finished, lie inside a run, diverged, failed.
        num_fitted: rows that the law of the frontier was fitted to, 0 where there is none.
        num_tasks: downstream tasks.
        warnings: (kind, text) as the page has them.
        num_bytes: of the page.
    """

    path: Path
    num_rows: int
    num_runs: int
    num_by_status: Mapping[str, int]
    num_fitted: int
    num_tasks: int
    warnings: tuple[tuple[str, str], ...]
    num_bytes: int


def write_report(
    source: str | os.PathLike[str] | pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    columns: Mapping[str, str] | None = None,
    decimal: str | None = None,
    x: str | None = None,
    y: str | None = None,
    by: str | None = None,
    where: str | None = None,
    weights: str = "last",
    probe: str = "whitened",
    layer: str = "pre_logits",
    law: str = "saturating_power",
    level: float = 0.95,
    seed: int = 0,
) -> Written:
    """Write one self-contained page: summary, frontier, transfer, runs, warnings, reporting checklist.

    What the records cannot tell is said in a line in its place. Laws are fitted to at most 20,000 runs, chosen at
    random; figures show a few thousand points; tables the first few hundred rows. The page says so where it is so.

    Args:
        source: as in `read_records`, or the name of a data set of `scaling.datasets`; a path that exists wins.
        columns, decimal, where, weights, probe, layer: as in `read_records`.
        path: of the page; its folder must be there.
        title: of the page; None: of the source.
        x, y: columns of the cost and of the error; None: the data set's own, else compute_flops and upstream_error.
        by: column whose values are analysed apart; None: `model_family` where there is one.
        law: of the frontier, as in `fit_frontier`.
        level: of the intervals.
        seed: of draws and samples.

    Raises:
        ValueError: bad records, no row, no such column.
        OSError: no such file, a data set cannot be fetched, or the page cannot be written.
    """
    path = Path(path)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ValueError(f"the page must be a file in a folder that is there, got {path}")
    options = {**axes_of(source, x, y), "by": by, "where": where, "weights": weights, "probe": probe, "layer": layer}
    asked = Asked(**options, law=law, level=level, seed=seed)
    read, reason, notes = noted("reading", lambda: read_asked(source, asked, columns, decimal))
    if read is None:
        raise ValueError(reason)
    frame, asked = read
    edge, tasks = find_edge(frame, asked), list(fit_each_task(frame, asked))
    told = told_warnings([*notes, *edge.notes, *(note for task in tasks for note in task.notes)])
    named = "a table" if isinstance(source, pd.DataFrame) else os.fspath(source)
    sections = [
        summary_section(edge, tasks, asked), _frontier_section(edge, asked), _transfer_section(tasks, asked),
        runs_section(frame, edge, asked), _warnings_section(told), checklist_section(frame, edge, asked),
    ]  # fmt: skip
    write_page(path, title or f"Scaling report: {short(Path(named).name)}", facts_of(frame, named, asked), sections)
    num_fitted = 0 if edge.front is None else edge.fitted.size
    statuses = count_statuses(frame)
    return Written(
        path, len(frame), frame["run_id"].nunique(), statuses, num_fitted, len(tasks), told, path.stat().st_size
    )


def _warnings_section(told: tuple[tuple[str, str], ...]) -> Section:
    return Section("Warnings", () if told else ("None.",), warnings=told)


def _frontier_section(edge: Edge, asked: Asked) -> Section:
    if edge.usable is None:
        hint = f"Name another column with --x, or make one: --column {asked.x}=..."
        return Section("The frontier", (f"No frontier: {edge.reason}.", hint))
    said = []
    if edge.front is None:
        said.append(f"No law: {edge.reason}.")
    said += [f"{sample}, at random (seed {asked.seed})." for sample in edge.samples]
    if edge.num_groups_left:
        said.append(f"{counted(edge.num_groups_left, 'smaller group')} of {short(asked.by)} got no law of their own.")
    views = [TableView("Laws of the frontier", edge.table, f"Intervals: {asked.level:.0%}.")]
    if edge.ratio is not None:
        pair = f"{short(edge.ratio.rival.name, 40)} over that of {short(edge.ratio.reference.name, 40)}"
        views.append(TableView(f"Cost of {pair} at equal error", edge.ratio.table))
    elif asked.by is not None:
        said.append(f"No ratio of costs: {edge.ratio_reason}.")
    if edge.laws is not None:
        laws = edge.laws.assign(warnings=edge.laws["warnings"].map(", ".join))
        views.append(TableView("Laws on the Pareto points, by held-out error", laws))
    return Section("The frontier", tuple(said), pictures=(frontier_picture(edge, asked),), tables=tuple(views))


def _transfer_section(tasks: list[TaskFit], asked: Asked) -> Section:
    if not tasks:
        return Section("Transfer", ("No transfer: the records have no column of a downstream task.",))
    fitted = [task for task in tasks if task.trans is not None]
    drawn = [(task, task.trans) for task in fitted[:_MOST_PICTURES] if task.trans is not None]
    pictures = (transfer_picture(task.frame, trans, task.name, asked) for task, trans in drawn)
    said = []
    if len(fitted) > _MOST_PICTURES:
        said.append(f"The first {_MOST_PICTURES} of {len(fitted)} tasks with a law are drawn; all are in the table.")
    if any(task.num_models > len(task.frame) for task in fitted):
        said.append(f"Laws of transfer are fitted to at most {MOST_MODELS:,} models, at random (seed {asked.seed}).")
    view = TableView("Laws of transfer", task_table(tasks, asked.level), f"Intervals: {asked.level:.0%}.")
    return Section("Transfer", tuple(said), pictures=tuple(pictures), tables=(view,))
