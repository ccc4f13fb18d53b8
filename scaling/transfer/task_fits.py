"""Eq. 1 for every downstream task, number of shots and upstream data set."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import FitError, FitWarning
from ..frames import check_columns, check_frame, check_single, column_of, finished_rows
from ..inputs import check_fractions, generator
from ..prediction import check_level
from .fit import fit_transfer
from .task_columns import find_tasks

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PARAMS", "fit_tasks"]

PARAMS = ("k", "alpha", "e_ir")
_NO_ERROR = "few_points"  # the kind of a fit that leaves nothing to estimate an error from


def fit_tasks(
    records: pd.DataFrame,
    *,
    upstream: str = "upstream_error",
    group: str | None = "upstream_dataset",
    tasks: Sequence[str] | None = None,
    level: float = 0.95,
    groups: str | None = None,
    rng: np.random.Generator | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Eq. 1 for every downstream task, number of shots and upstream data set: a table of parameters.

    Args:
        records: a row a model, as `read_records` returns; a model that lacks a task is left out of that task.
        upstream: column of the upstream error.
        group: column that tells the upstream data sets apart; None, or no column `upstream_dataset`: there is one.
        tasks: downstream columns; None: every `<task>_<k>shot_error` and `<task>_finetune_error`.
        level: of the intervals, which contain what those of `fit_transfer` do.
        groups: column of labels of models that are not independent, such as "trunk_id"; as in `fit_transfer`.
        rng: of the draws, which start alike for every fit, so that a row does not depend on which others there are.
        options: as in `fit_transfer`.

    Returns:
        A row a fit: `task`, `upstream`, `num_shots` (null for fine-tuning), `num_models`, `num_selected`; k, alpha,
        e_ir, each with `_low` and `_high`; `warnings`, their kinds with commas between; `reason`, why there is no fit
        (its numbers are then null), or "". A fit with the warning `few_points`, such as one to three models of a hull,
        has no degree of freedom to estimate an error from: its `_low` and `_high` are null.

    Raises:
        ValueError: a missing column, or a value that is no fraction.

    Warns:
        FitWarning: `unfinished_runs` where rows from inside a run are among those of finished ones.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Figures 4, 16, 17.

    >>> import pandas as pd
    >>> e = np.linspace(0.4, 0.9, 11)
    >>> frame = pd.DataFrame({"upstream_error": e, "pets_5shot_error": 0.7 * e**2 + 0.1})
    >>> fit_tasks(frame, group=None, num_draws=20)[["task", "num_shots", "k", "e_ir"]].round(3).values.tolist()
    [['pets', 5, 0.7, 0.1]]
    """
    import pandas as pd

    check_level(level)
    for name, column in (("group", group), ("groups", groups)):
        if not isinstance(column, str | None):
            raise ValueError(f"{name} must be the name of a column, got {type(column).__name__}")
    check_frame(records)
    if group == "upstream_dataset" and group not in records:
        group = None
    check_columns(records, upstream, *(name for name in (group, groups) if name is not None))
    records = records[finished_rows(records)]
    if group is not None:
        check_single(records, group)
    if group is not None and records[group].isna().any():
        raise ValueError(
            f"column {group!r} must not be null; group=None takes all models for those of one upstream set"
        )
    rng = generator(rng).spawn(1)[0]
    found = find_tasks(records, tasks)
    parts = [("all", records)] if group is None else list(records.groupby(group, sort=True))
    rows = []
    for label, part in parts:
        for task, num_shots, column in found:
            models = part[part[column].notna() & part[upstream].notna()]
            row = {"task": task, "upstream": label, "num_shots": num_shots, "num_models": len(models)}
            us, ds = (1 - check_fractions(f"column {c!r}", column_of(models, c)) for c in (upstream, column))
            options["groups"] = None if groups is None else models[groups]
            rows.append(row | _fit_row(us, ds, level, rng=copy.deepcopy(rng), **options))
    ends = [f"{name}{end}" for name in PARAMS for end in ("", "_low", "_high")]
    columns = ["task", "upstream", "num_shots", "num_models", "num_selected", *ends, "warnings", "reason"]
    table = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(ends, "float64"))
    return table.astype({"num_shots": "Int64", "num_selected": "Int64", "warnings": object, "reason": object})


def _fit_row(us: np.ndarray, ds: np.ndarray, level: float, **options: Any) -> dict[str, Any]:
    """One fit as columns. Its warnings are kept, not said: hundreds of fits would say hundreds."""
    if np.any(us == 1):  # else one model would be the end of the whole table
        return {"warnings": "", "reason": f"{np.sum(us == 1)} of {us.size} models have no upstream error"}
    if options.get("selection") == "stochastic" and np.any(ds == 1):
        return {"warnings": "", "reason": f"{np.sum(ds == 1)} of {ds.size} models have no downstream error"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        try:
            fit = fit_transfer(us, ds, **options)
        except FitError as error:
            return {"warnings": "", "reason": str(error)}
    kinds = sorted({warning.kind for warning in fit.warnings})
    row = {"num_selected": fit.selected.size, "warnings": ", ".join(kinds), "reason": ""}
    for name, value in fit.params.items():
        low, high = (np.nan, np.nan) if _NO_ERROR in kinds else fit.interval(name, level)
        row |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return row
