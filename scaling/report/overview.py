"""What a report is of, and its answers in sentences."""

from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd

from ..datasets import named
from ..page import Section
from .asked import Asked, records_digest
from .edge import Edge
from .runs import count_statuses
from .tasks import TaskFit
from .words import between, counted, number, short, values_of

__all__ = ["facts_of", "summary_section"]

_MOST_TASKS = 12  # in sentences; the table has all
_UNSURE = ("poor_fit", "not_identified")
_BASELINE = "last_value"


def facts_of(frame: pd.DataFrame, source: str, asked: Asked) -> dict[str, object]:
    """What a reader must know first."""
    statuses = ", ".join(f"{num:,} {name}" for name, num in count_statuses(frame).items() if num)
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in ("vision-scaling-laws", "numpy", "scipy"))
    chosen = f", where {asked.where}" if asked.where else ""
    data_set = named(source)
    facts = {
        "source": short(source, 200) + chosen,
        **({} if data_set is None else {"cite": data_set.citation, "licence": data_set.licence}),
        "rows": f"{len(frame):,} ({frame['run_id'].nunique():,} runs): {statuses}",
        "model families": values_of(frame, "model_family"),
        "upstream data": values_of(frame, "upstream_dataset"),
        "made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC with {packages}",
        "sha256 of the rows": records_digest(frame, asked.x, asked.y),
    }
    return {name: value or "not recorded" for name, value in facts.items()}


def summary_section(edge: Edge, tasks: list[TaskFit], asked: Asked) -> Section:
    """The answers; what must not be relied on comes first."""
    doubts = _doubts(edge, asked)
    said = [*doubts, *_frontier_sentences(edge, asked, not doubts), *_ratio_sentences(edge)]
    return Section("Summary", (*said, *_task_sentences(tasks, asked)))


def _doubts(edge: Edge, asked: Asked) -> list[str]:
    """Why the law of the frontier is not to be relied on."""
    if edge.front is None:
        return []
    kinds = {warning.kind for warning in edge.front.warnings}
    unsure = [kind for kind in _UNSURE if kind in kinds]
    said = [f"Do not rely on the law of the frontier: {', '.join(unsure)}; see the warnings."] if unsure else []
    return said + _beaten(edge, asked)


def _beaten(edge: Edge, asked: Asked) -> list[str]:
    """That a prediction without any law does better on held-out runs."""
    if edge.laws is None:
        return []
    errors = edge.laws.set_index("law")["heldout_log_rmse"]
    own, without = errors.get(asked.law, np.nan), errors.get(_BASELINE, np.nan)
    if not own >= without:
        return []
    fitted = errors[~edge.laws["is_baseline"].to_numpy(dtype=bool)].dropna()
    which = "this" if fitted.min() < without else "any"
    best = f"; the best law is {fitted.idxmin()} ({number(fitted.min())})" if fitted.min() < own else ""
    return [
        f"Do not extrapolate {which} law: held-out runs of the frontier are predicted better without one, by the last"
        f" error before them (off by {number(without)} in log error), than by {asked.law} ({number(own)}){best}."
    ]


def _frontier_sentences(edge: Edge, asked: Asked, is_sure: bool) -> list[str]:
    if edge.usable is None:
        return [f"No frontier: {edge.reason}."]
    left = f" Left out: {edge.usable.left_out}." if edge.usable.left_out else ""
    best = f"The best of {counted(edge.x.size, 'usable run')} has {asked.y} {number(edge.y.min())}.{left}"
    if edge.front is None:
        return [best, f"No law of the frontier: {edge.reason}."]
    front = edge.front
    values = ", ".join(
        f"{name} {between(value, *front.interval(name, asked.level))}" for name, value in front.params.items()
    )
    offset = front.fit.law.offset
    limit = f" {offset} is the irreducible error of these runs." if offset else ""
    law = f"Along the frontier it follows {front.fit.law.formula} of {asked.x} (x), with {values}"
    said = [best, f"{law} ({asked.level:.0%} intervals).{limit}"]
    row = edge.table.iloc[0]
    if is_sure and pd.notna(row.get("error at 10x")):
        told = between(*(row[f"error at 10x{end}"] for end in ("", " low", " high")))
        said.append(f"At ten times the largest {asked.x} ({number(edge.far)}) the law says {told}.")
    return said + [f"{sample}, at random (seed {asked.seed})." for sample in edge.samples]


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
    """What cannot be told first, in one sentence a reason."""
    if not tasks:
        return ["No downstream task is recorded."]
    without = [task for task in tasks if task.trans is None]
    refuted = [task for task in tasks if task.is_refuted]
    others = [task for task in tasks if task.trans is not None and not task.is_refuted]
    said = []
    if len(without) == 1:
        said.append(f"{short(without[0].name)}: no law: {without[0].reason}.")
    elif without:
        first = f"of the first, {short(without[0].name)}, because: {without[0].reason}"
        said.append(f"No law of transfer for {len(without)} of {len(tasks)} tasks, {first}.")
    if refuted:
        said.append(f"No saturation can be read where the models contradict the law: {_names(refuted)}.")
    said += [_of_task(task, asked) for task in others[:_MOST_TASKS]]
    more = len(others) - _MOST_TASKS
    return said + ([f"{counted(more, 'more task')} with a law in the table of transfer."] if more > 0 else [])


def _names(tasks: list[TaskFit]) -> str:
    named = ", ".join(f"{short(task.name)} (best accuracy {number(task.best)})" for task in tasks[:_MOST_TASKS])
    return named + (f" and {len(tasks) - _MOST_TASKS} more" if len(tasks) > _MOST_TASKS else "")


def _of_task(task: TaskFit, asked: Asked) -> str:
    assert task.trans is not None
    ends = between(task.trans.saturation, *task.trans.saturation_interval(asked.level))
    above = " The best lies above it, as noise may." if task.best > task.trans.saturation else ""
    return f"{short(task.name)}: best accuracy {number(task.best)}, saturation {ends}.{above}"
