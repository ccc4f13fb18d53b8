"""What a report is of, and its answers in sentences."""

from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import pandas as pd

from ..page import Section
from .asked import Asked, records_digest
from .edge import Edge
from .runs import count_statuses
from .tasks import TaskFit
from .words import between, counted, number, short, values_of

__all__ = ["facts_of", "summary_section"]

_MOST_TASKS = 12  # in sentences; the table has all
_UNSURE = ("poor_fit", "not_identified")


def facts_of(frame: pd.DataFrame, source: str, asked: Asked) -> dict[str, object]:
    """What a reader must know first."""
    statuses = ", ".join(f"{num:,} {name}" for name, num in count_statuses(frame).items() if num)
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in ("vision-scaling-laws", "numpy", "scipy"))
    chosen = f", where {asked.where}" if asked.where else ""
    facts = {
        "source": short(source, 200) + chosen,
        "rows": f"{len(frame):,} ({frame['run_id'].nunique():,} runs): {statuses}",
        "model families": values_of(frame, "model_family"),
        "upstream data": values_of(frame, "upstream_dataset"),
        "made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC with {packages}",
        "sha256 of the rows": records_digest(frame, asked.x, asked.y),
    }
    return {name: value or "not recorded" for name, value in facts.items()}


def summary_section(edge: Edge, tasks: list[TaskFit], asked: Asked) -> Section:
    """The answers, and what the analysis says no to."""
    said = [*_frontier_sentences(edge, asked), *_ratio_sentences(edge), *_task_sentences(tasks, asked)]
    return Section("Summary", tuple(said))


def _frontier_sentences(edge: Edge, asked: Asked) -> list[str]:
    if edge.usable is None:
        return [f"No frontier: {edge.reason}."]
    best = f"The best of {counted(edge.x.size, 'usable run')} has {asked.y} {number(edge.y.min())}."
    if edge.front is None:
        return [best, f"No law of the frontier: {edge.reason}."]
    front, level = edge.front, f"{asked.level:.0%} interval"
    values = ", ".join(
        f"{name} {between(value, *front.interval(name, asked.level))}" for name, value in front.params.items()
    )
    said = [best, f"Along the frontier it follows {front.fit.law.formula} of {asked.x} (x), with {values} ({level}s)."]
    kinds = {warning.kind for warning in front.warnings}
    if unsure := [kind for kind in _UNSURE if kind in kinds]:
        said.insert(1, f"Do not rely on this law: {', '.join(unsure)}; see the warnings.")
    if "c" in front.params:
        said.append(
            f"Irreducible error of these runs: {between(front.params['c'], *front.interval('c', asked.level))}."
        )
    row = edge.table.iloc[0]
    if pd.notna(row.get("error at 10x")):
        told = between(*(row[f"error at 10x{end}"] for end in ("", " low", " high")))
        said.append(f"At ten times the largest {asked.x} ({number(edge.far)}) the law says {told}.")
    return said


def _ratio_sentences(edge: Edge) -> list[str]:
    if edge.ratio is None or edge.ratio.table.empty:
        return []
    ratio = edge.ratio
    told = ratio.table[ratio.table["method"] == "interpolation"]
    told = told if len(told) else ratio.table
    row: Any = told.iloc[len(told) // 2]
    pair = f"{short(ratio.rival.name, 40)} needs {between(row['ratio'], row['low'], row['high'])} times the cost of"
    return [f"At error {number(row['target_error'])} {pair} {short(ratio.reference.name, 40)}."]


def _task_sentences(tasks: list[TaskFit], asked: Asked) -> list[str]:
    if not tasks:
        return ["No downstream task is recorded."]
    said = [_of_task(task, asked) for task in tasks[:_MOST_TASKS]]
    more = len(tasks) - _MOST_TASKS
    return said + ([f"{more} more tasks are in the table of transfer."] if more > 0 else [])


def _of_task(task: TaskFit, asked: Asked) -> str:
    name = short(task.name)
    if task.trans is None:
        return f"{name}: no law: {task.reason}."
    if task.is_refuted:
        return f"{name}: best accuracy {number(task.best)}; no saturation can be read: the models contradict the law."
    ends = between(task.trans.saturation, *task.trans.saturation_interval(asked.level))
    above = " The best lies above it, as noise may." if task.best > task.trans.saturation else ""
    return f"{name}: best accuracy {number(task.best)}, saturation {ends}.{above}"
