"""Checks of tables that users pass, and their columns as numbers; one line says which column, row and what is valid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import FitWarning, issue
from .inputs import check_fractions, check_positive

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "as_numbers", "check_columns", "check_frame", "check_names", "check_single", "column_of", "finished_rows",
    "loss_column", "nullable_column", "positive_column", "there_is",
]  # fmt: skip

_FLAGS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "1": 1.0, "0": 0.0, "": None}  # as tables of text have them
_MOST_NAMED = 12


def there_is(known: Iterable[Any], name: Any = None) -> str:
    """What there is in place of a name that is not: near names, else the first of all.

    >>> there_is(["lr", "seed"], "sed"), there_is(range(20))
    ('there is seed', 'there is 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...')
    """
    names = list(map(str, known))
    near = (get_close_matches(str(name), names, n=3) if name is not None else []) or names
    return f"there is {', '.join(near[:_MOST_NAMED]) or 'none'}" + (", ..." if len(near) > _MOST_NAMED else "")


def check_names(what: str, names: Sequence[Any], table: pd.DataFrame | None = None) -> list[Any]:
    """A list of names, each once, all of them columns of the table where one is given; a ValueError otherwise.

    The letters of a single text would be taken for names.
    """
    is_list = isinstance(names, Iterable) and not isinstance(names, str | bytes | Mapping | Set)
    listed = list(names) if is_list else []
    if not listed or not all(isinstance(name, Hashable) for name in listed):
        raise ValueError(f"{what} must be a list of one or more names, got {names!r}")
    twice = [name for name, count in Counter(listed).items() if count > 1]
    if twice:
        raise ValueError(f"{what} must name each once; {twice[0]!r} occurs twice")
    if table is not None:
        check_columns(table, *listed)
    return listed


def check_frame(frame: Any) -> None:
    """A ValueError where a table is no DataFrame."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise ValueError(f"a table must be a pandas DataFrame, got {type(frame).__name__}")


def check_columns(frame: pd.DataFrame, *names: Any) -> None:
    """A ValueError that names the columns that a table lacks, and near ones that it has, or one that it has twice."""
    check_frame(frame)
    for name in names:
        if not isinstance(name, Hashable) or name not in frame:
            columns = [column if isinstance(column, str) else f"{column!r} (no text)" for column in frame.columns]
            raise ValueError(f"column {name!r} is missing; {there_is(columns, name)}")
        if frame[name].ndim > 1:
            raise ValueError(f"each column must occur once; {name!r} occurs twice")


def check_single(frame: pd.DataFrame, *names: str) -> None:
    """A ValueError where a column of labels is missing or holds lists, which tell no groups apart."""
    check_columns(frame, *names)
    for name in names:
        if frame[name].dtype == object and not all(isinstance(value, Hashable) for value in frame[name]):
            raise ValueError(f"column {name!r} must hold single values, such as text or numbers, not lists")


def as_numbers(values: pd.Series) -> np.ndarray:
    """float64, NaN where there is no number; a time is none, though it is kept as one."""
    import pandas as pd

    if values.dtype.kind in "mM":
        return np.full(len(values), np.nan)
    if not isinstance(values.dtype, np.dtype) or values.dtype.kind not in "if":
        try:
            values = pd.to_numeric(values, errors="coerce")
        except OverflowError:  # a whole number that float64 does not hold
            values = values.map(lambda value: pd.to_numeric(str(value), errors="coerce"))
    if values.dtype.kind == "c":
        values = pd.Series(np.where(np.imag(values) == 0, np.real(values), np.nan))
    return values.to_numpy(dtype=float, na_value=np.nan)


def column_of(frame: pd.DataFrame, name: str) -> np.ndarray:
    """A column as finite float64, shape (n,), or a ValueError that names the column and the rows that are not."""
    check_columns(frame, name)
    values = as_numbers(frame[name])
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        value = frame[name].iloc[bad[0]]
        raise ValueError(f"column {name!r} must hold finite numbers; row {bad[0]} is {value} ({bad.size} such)")
    return values


def nullable_column(frame: pd.DataFrame, name: str) -> np.ndarray:
    """A column as float64, shape (n,), nan where it is null, or a ValueError that names the first other row."""
    check_columns(frame, name)
    values = as_numbers(frame[name])
    bad = np.flatnonzero(~np.isfinite(values) & frame[name].notna().to_numpy(dtype=bool))
    if bad.size:
        raise ValueError(
            f"column {name!r} must hold finite numbers or nothing; row {bad[0]} is {frame[name].iloc[bad[0]]!r}"
        )
    return values


def positive_column(frame: pd.DataFrame, name: str) -> np.ndarray:
    """A column as positive finite float64, shape (n,), or a ValueError that names the column and the row."""
    return check_positive(f"column {name!r}", column_of(frame, name))


def loss_column(frame: pd.DataFrame, name: str) -> np.ndarray:
    """A column of a loss, positive; one whose name ends in "error" holds fractions."""
    values = positive_column(frame, name)
    return check_fractions(f"column {name!r}", values) if name.endswith("error") else values


def finished_rows(runs: pd.DataFrame) -> np.ndarray:
    """Which rows to use, shape (n,): those of finished runs, with a warning where others are mixed with them.

    A row is from inside a run where `cooled_down` is false, or, without that flag, where `step` is less than
    `planned_steps`. Its learning rate has not reached its end, so its error is above that of a run made for its length.
    Rows that say neither, and columns that are missing, count as finished. Where no row is finished all are used.

    Warns:
        FitWarning: `unfinished_runs`.

    >>> import pandas as pd
    >>> finished_rows(pd.DataFrame({"cooled_down": [True, None], "step": 5, "planned_steps": [9, 5]}))
    array([ True,  True])
    >>> finished_rows(pd.DataFrame({"cooled_down": [False, None], "step": 5, "planned_steps": [9, 9]}))
    array([ True,  True])
    """
    is_unfinished = _is_unfinished(runs)
    if is_unfinished.all() or not is_unfinished.any():
        return np.ones(len(runs), dtype=bool)
    first = np.flatnonzero(is_unfinished)[0]
    message = (
        f"{is_unfinished.sum()} of {len(runs)} rows are from inside a run and left out, the first is row {first}:"
        " their error is above that of a run made for that length"
    )
    issue(FitWarning("unfinished_runs", message))
    return ~is_unfinished


def _is_unfinished(runs: pd.DataFrame) -> np.ndarray:
    check_frame(runs)
    missing = np.full(len(runs), np.nan)
    flag = _flags(runs, "cooled_down") if "cooled_down" in runs else missing
    step, planned = (nullable_column(runs, name) if name in runs else missing for name in ("step", "planned_steps"))
    return np.where(np.isnan(flag), step < planned, flag == 0)


def _flags(runs: pd.DataFrame, name: str) -> np.ndarray:
    """A column of true and false, also as text, as 1, 0 and nan, shape (n,)."""
    check_columns(runs, name)
    words = runs[name].astype(object)
    words = words.map(lambda value: _FLAGS.get(value.strip().lower(), value) if isinstance(value, str) else value)
    flags = as_numbers(words)
    bad = np.flatnonzero(np.isnan(flags) & ~words.isna().to_numpy(dtype=bool))
    if bad.size:
        value = runs[name].iloc[bad[0]]
        raise ValueError(f"column {name!r} must hold true, false or nothing; row {bad[0]} is {value!r}")
    return flags
