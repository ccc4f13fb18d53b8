"""What `frontier` and `transfer` share: rows of laws on selected points, and their notes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..attempt import attempt
from ..selection.selected import SelectedFit
from ..selection.usable import UsableRuns, trainings
from .base import groups_of

__all__ = [
    "ALL_RUNS",
    "as_table",
    "colours",
    "fit_options",
    "groups_and_all",
    "notes_of",
    "param_columns",
    "predictions",
    "tell",
]

ALL_RUNS = "all runs"


def groups_and_all(runs: pd.DataFrame, by: str | None) -> dict[str, pd.DataFrame]:
    """All runs, then those of each value of a column."""
    groups = groups_of(runs, by)
    return groups if by is None else {ALL_RUNS: runs, **{str(name): rows for name, rows in groups.items()}}


def fit_options(
    runs: pd.DataFrame, rng: np.random.Generator, *, selection: str, objective: str | None, intervals: str | None,
    draws: int,
) -> dict[str, Any]:  # fmt: skip
    """Of `fit_frontier` and `fit_transfer`; branches of one trunk are drawn together where the intervals take groups.

    Raises:
        ValueError: an objective for a stochastic frontier, which has its own.
    """
    options: dict[str, Any] = {"selection": selection, "intervals": intervals, "num_draws": draws, "rng": rng}
    if objective is not None:
        if selection == "stochastic":
            raise ValueError(
                "--objective goes with --select pareto, convex_hull or all: a stochastic frontier has its own"
            )
        options["objective"] = objective
    if selection != "stochastic" and intervals != "simulated_world":
        options["groups"] = trainings(runs)
    return options


def tell(found: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    """A fit or None, and the columns that say what it warns of and why there is none."""
    result, kinds, reason = attempt(found)
    return result, {"warnings": kinds, "reason": reason}


def param_columns(fit: SelectedFit, level: float) -> dict[str, float]:
    """Each parameter with the ends of its interval."""
    columns = {}
    for name, value in fit.params.items():
        low, high = fit.interval(name, level)
        columns |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return columns


def notes_of(usable: UsableRuns | None, fits: Mapping[str, SelectedFit]) -> list[str]:
    """What was left out, and the warnings of each fit in words."""
    notes = [f"left out: {usable.left_out}"] if usable is not None and usable.num_left_out else []
    return notes + [f"{name}: {warning.kind}: {warning}" for name, fit in fits.items() for warning in fit.warnings]


def colours(runs: pd.DataFrame, by: str | None) -> Any:
    """What the points of a figure are coloured by: the column asked for, else the family."""
    column = by or "model_family"
    return runs[column].fillna("unknown").astype(str) if column in runs else None


def predictions(group: str, quantity: str, at: Sequence[float], ends: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows of what a law says: its median and interval at each value asked for."""
    rows = zip(at, *(np.atleast_1d(each).astype(float).tolist() for each in ends), strict=True)
    return [
        {"group": group, "quantity": quantity, "at": x, "median": mid, "low": low, "high": high}
        for x, mid, low, high in rows
    ]


def as_table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows with the reason last: a row without a fit has fewer columns."""
    table = pd.DataFrame(rows)
    last = ["warnings", "reason"]
    return table[[name for name in table if name not in last] + last]
