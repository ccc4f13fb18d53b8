"""What a figure is made of: records, the tables beside them, and which columns mean what."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ..frames import check_columns
from ..plots.words import column_label, task_title
from ..selection.usable import trainings, usable_runs
from ..transfer.task_columns import choose_tasks

__all__ = ["Source"]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Records and choices that the kinds of figures share.

    Attributes:
        records: as `read_records` returns.
        evals, measurements: the long tables beside them; empty where there are none.
        x, y: columns of a cost and of an error.
        upstream: column of the upstream error.
        tasks: columns of downstream errors; None: all there are. A figure of one task is of the first.
        by: column whose values have colours, or are compared; None: the family.
        setting: column of what was varied, where a figure is of one; None: as the figure says.
        law, selection: as in `fit_frontier`.
        log: of `against`: a logarithmic axis.
        level: of intervals.
        num_draws, seed: of draws.
    """

    records: pd.DataFrame
    evals: pd.DataFrame = field(default_factory=pd.DataFrame)
    measurements: pd.DataFrame = field(default_factory=pd.DataFrame)
    x: str = "compute_flops"
    y: str = "upstream_error"
    upstream: str = "upstream_error"
    tasks: Sequence[str] | None = None
    by: str | None = None
    setting: str | None = None
    law: str = "saturating_power"
    selection: str = "stochastic"
    log: bool = False
    level: float = 0.95
    num_draws: int = 1000
    seed: int = 0

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    @property
    def drawn(self) -> dict[str, Any]:
        """Options of whatever draws."""
        return {"num_draws": self.num_draws, "rng": self.rng}

    @property
    def transfer_selection(self) -> str:
        """The published convention of transfer is the hull, where that of compute is the Pareto frontier."""
        return "convex_hull" if self.selection == "pareto" else self.selection

    @property
    def group(self) -> str:
        """The column of what is compared."""
        return self.by or "model_family"

    @cached_property
    def runs(self) -> pd.DataFrame:
        """The rows that a law of y against x can be fitted to."""
        return usable_runs(self.records, self.x, self.y).frame

    @property
    def axes(self) -> dict[str, Any]:
        return {"x_label": column_label(self.x), "y_label": column_label(self.y)}

    @cached_property
    def task_columns(self) -> list[str]:
        """Of these records' tasks, those that have values, of the most shots first."""
        found = choose_tasks(self.records, self.tasks)
        if self.tasks is None:
            found = sorted((task for task in found if task[2] != self.upstream), key=lambda task: -(task[1] or 0))
        kept = [column for _, _, column in found if self.records[column].notna().any()]
        if not kept:
            raise ValueError(f"no run has a value of {', '.join(column for _, _, column in found)}")
        return kept

    @property
    def task(self) -> str:
        return self.task_columns[0]

    @property
    def other_tasks(self) -> list[str]:
        """Whichever was chosen: the other tasks that these records have, of as many shots where there are such."""
        found = [task for task in choose_tasks(self.records, None) if self.records[task[2]].notna().any()]
        shots = {column: number for _, number, column in found}
        others = [column for column in shots if column not in (self.task, self.upstream)]
        if not others:
            raise ValueError(f"two downstream tasks are compared, there is {self.task}")
        return [column for column in others if shots[column] == shots.get(self.task)] or others

    @property
    def task_name(self) -> str:
        return task_title(self.task)

    def models(self, *columns: str) -> pd.DataFrame:
        """Finished rows with an upstream error and a value of each of these columns, or of the task."""
        wanted = list(columns or [self.task])
        return usable_runs(self.records, self.upstream, wanted[0]).frame.dropna(subset=wanted).reset_index(drop=True)

    def accuracies(self, *columns: str) -> tuple[pd.DataFrame, list[pd.Series]]:
        """The models, and their upstream and downstream accuracies."""
        models = self.models(*columns)
        return models, [1 - models[name] for name in (self.upstream, *(columns or [self.task]))]

    def colours(self, rows: pd.DataFrame) -> Any:
        if self.by is not None:
            check_columns(rows, self.by)
        return rows[self.group].fillna("unknown").astype(str) if self.group in rows else None

    def names(self, rows: pd.DataFrame) -> list[str]:
        return rows["run_id"].astype(str).tolist()

    def groups(self, rows: pd.DataFrame) -> Any:
        """What a bootstrap draws together."""
        return trainings(rows)

    @property
    def label(self) -> str | list[str]:
        """Columns that name lines."""
        if self.by is not None:
            return self.by
        return [name for name in ("model_family", "model_variant") if name in self.records] or "run_id"
