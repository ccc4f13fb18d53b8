"""Checks of what users pass to an analysis: one line that says which column, which row, what is valid."""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .errors import FitWarning

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check_columns", "check_fractions", "column_of", "warn_unfinished"]


def check_fractions(name: str, values: ArrayLike) -> np.ndarray:
    """Errors or accuracies as float64 in [0, 1], or a ValueError that names the row and asks about percent."""
    values = np.asarray(values, dtype=float)
    bad = np.flatnonzero(~((values.ravel() >= 0) & (values.ravel() <= 1)))
    if bad.size:
        value = values.ravel()[bad[0]]
        percent = " (is this percent? divide by 100)" if value > 1 else ""
        raise ValueError(f"{name} must lie in [0, 1]; row {bad[0]} is {value:g}{percent} ({bad.size} such)")
    return values


def check_columns(frame: pd.DataFrame, *names: str) -> None:
    """A ValueError that names the columns that a table lacks, and near ones that it has."""
    for name in names:
        if name not in frame:
            columns = [str(column) for column in frame.columns]
            near = get_close_matches(name, columns, n=3) or columns
            raise ValueError(f"column {name!r} is missing; there is {', '.join(near[:12])}")


def column_of(frame: pd.DataFrame, name: str) -> np.ndarray:
    """A column as finite float64, shape (n,), or a ValueError that names the column and the rows that are not."""
    import pandas as pd  # here, because it is most of the time of the import

    check_columns(frame, name)
    values = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        value = frame[name].iloc[bad[0]]
        raise ValueError(f"column {name!r} must hold finite numbers; row {bad[0]} is {value} ({bad.size} such)")
    return values


def warn_unfinished(runs: pd.DataFrame) -> np.ndarray:
    """Which rows come from inside a run, shape (n,), with a warning where they are mixed with those of finished runs.

    A row is from inside a run where `cooled_down` is false, or, without that flag, where `step` is less than
    `planned_steps`. Its learning rate has not reached its end, so its error is above that of a run made for its length.
    Rows that say neither, and columns that are missing, count as finished.

    Warns:
        FitWarning: `unfinished_runs`.

    >>> import pandas as pd
    >>> warn_unfinished(pd.DataFrame({"cooled_down": [True, None], "step": 5, "planned_steps": [9, 5]}))
    array([False, False])
    >>> warn_unfinished(pd.DataFrame({"cooled_down": [False, None], "step": 5, "planned_steps": [9, 9]}))
    array([ True,  True])
    """
    is_unfinished = _is_unfinished(runs)
    if is_unfinished.any() and not is_unfinished.all():
        first = np.flatnonzero(is_unfinished)[0]
        message = (
            f"{is_unfinished.sum()} of {len(runs)} rows are from inside a run, the first is row {first}:"
            " their error is above that of a run made for that length"
        )
        warnings.warn(FitWarning("unfinished_runs", message), stacklevel=3)
    return is_unfinished


def _is_unfinished(runs: pd.DataFrame) -> np.ndarray:
    missing = np.full(len(runs), np.nan)
    flag, step, planned = (
        runs[name].to_numpy(dtype=float, na_value=np.nan) if name in runs else missing
        for name in ("cooled_down", "step", "planned_steps")
    )
    return np.where(np.isnan(flag), step < planned, flag == 0)
