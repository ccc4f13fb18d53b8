"""The transfer law of each downstream task of records."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..plots.words import task_words
from ..selection.usable import usable_runs
from ..transfer import TransferFit, fit_transfer
from ..transfer.task_columns import find_tasks
from .asked import Asked, numbers_of
from .edge import sampled
from .noted import Note, Notes, either, noted

__all__ = ["MOST_MODELS", "TaskFit", "fit_each_task", "task_columns", "task_table"]

MOST_MODELS = 5_000


@dataclass(frozen=True, eq=False)
class TaskFit:
    """A task's law, or why there is none.

    Attributes:
        name: of the task, with its shots.
        frame: the models that the law was fitted to, a row each.
        num_models: models with both accuracies.
        best: the best accuracy of these.
        trans: the law.
        notes: warnings.
        left_out: rows without one of the accuracies, and the like.
    """

    name: str
    frame: pd.DataFrame
    num_models: int
    best: float
    trans: TransferFit | None
    reason: str
    notes: tuple[Note, ...]
    left_out: str = ""

    @property
    def is_refuted(self) -> bool:
        """Whether no saturation is to be read."""
        kinds = () if self.trans is None else {warning.kind for warning in self.trans.warnings}
        return "poor_fit" in kinds or "hidden_curvature" in kinds


def fit_each_task(frame: pd.DataFrame, asked: Asked) -> Iterator[TaskFit]:
    """One after the other, none where the records have no task."""
    for column in task_columns(frame):
        yield _fit_task(frame, task_words(column), column, asked)


def task_columns(frame: pd.DataFrame) -> list[str]:
    """Those of downstream errors, none where the records have no task."""
    found, _, _ = noted("", lambda: find_tasks(frame))
    return [column for _, _, column in found or ()]


def _fit_task(frame: pd.DataFrame, name: str, column: str, asked: Asked) -> TaskFit:
    notes = Notes()
    usable, reason = notes.of(name, lambda: usable_runs(frame, "upstream_error", column))
    if usable is None:
        known = numbers_of(frame, column)
        best = 1 - float(np.min(known[np.isfinite(known)], initial=np.inf))
        return TaskFit(name, frame.iloc[:0], 0, best if np.isfinite(best) else np.nan, None, reason, tuple(notes))
    errors = numbers_of(usable.frame, column)
    kept = usable.frame.iloc[sampled(errors.size, MOST_MODELS, asked.rng)].reset_index(drop=True)
    trans, reason = notes.of(name, lambda: _law_of(kept, column, asked))
    best = 1 - float(errors.min())
    return TaskFit(name, kept, errors.size, best, trans, reason, tuple(notes), usable.left_out)


def _law_of(kept: pd.DataFrame, column: str, asked: Asked) -> TransferFit:
    upstream, downstream = (1 - numbers_of(kept, each) for each in ("upstream_error", column))

    def law_of(selection: str) -> TransferFit:
        return fit_transfer(upstream, downstream, selection=selection, rng=asked.rng)

    return either(lambda: law_of("stochastic"), lambda: law_of("convex_hull"), "hull")


def task_table(fits: list[TaskFit], level: float) -> pd.DataFrame:
    """A row a task."""
    return pd.DataFrame([_row(fit, level) for fit in fits])


def _row(fit: TaskFit, level: float) -> dict[str, object]:
    row: dict[str, object] = {"task": fit.name, "models": fit.num_models, "best accuracy": fit.best}
    if fit.trans is None:
        return {**row, "reason": fit.reason}
    if fit.is_refuted:
        row |= dict.fromkeys(("saturation", "saturation low", "saturation high"))
    else:
        low, high = fit.trans.saturation_interval(level)
        row |= {"saturation": fit.trans.saturation, "saturation low": low, "saturation high": high}
    kinds = ", ".join(sorted({warning.kind for warning in fit.trans.warnings}))
    params = dict(fit.trans.params)
    return {
        **row,
        **params,
        "selection": fit.trans.selection,
        "fitted to": len(fit.frame),
        "warnings": kinds,
        "reason": "",
    }
