"""Checks of what users pass to an analysis: one line that says which column, which row, what is valid."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .errors import FitWarning, issue

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "as_numbers",
    "check_accuracies",
    "check_choice",
    "check_columns",
    "check_fractions",
    "check_frame",
    "check_inside",
    "check_names",
    "check_num_draws",
    "check_number",
    "check_positive",
    "check_same_index",
    "check_single",
    "check_whole",
    "column_of",
    "finished_rows",
    "loss_column",
    "model_names",
    "nullable_column",
    "numbers",
    "paired",
    "positive_column",
]

_MOST_DRAWS = 10_000_000
_FLAGS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "1": 1.0, "0": 0.0, "": None}  # as tables of text have them


def check_fractions(name: str, values: ArrayLike) -> np.ndarray:
    """Errors or accuracies as float64 in [0, 1], or a ValueError that names the row and asks about percent."""
    values = numbers(name, values)
    bad = np.flatnonzero(~((values.ravel() >= 0) & (values.ravel() <= 1)))
    if bad.size:
        value = values.ravel()[bad[0]]
        percent = " (is this percent? divide by 100)" if value > 1 else ""
        raise ValueError(f"{name} must lie in [0, 1]; row {bad[0]} is {value:g}{percent} ({bad.size} such)")
    return values


def numbers(name: str, values: ArrayLike) -> np.ndarray:
    """The values as float64, or a ValueError: numpy would take dates for nanoseconds and drop imaginary parts."""
    try:
        found = np.asarray(values)
        if found.dtype.kind in "cmM":
            raise TypeError(f"got values of type {found.dtype}")
        return found.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from None


def paired(x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Both as float64 of one shape (n,), or a ValueError: other shapes, or Series that name their rows differently."""
    check_same_index(x=x, y=y)
    x, y = numbers("x", x), numbers("y", y)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"x and y must be one-dimensional and equally long, got shapes {x.shape} and {y.shape}")
    return x, y


def check_whole(name: str, value: Any, least: int) -> None:
    """A ValueError where an option is not a whole number from `least` on."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_num_draws(num_draws: Any) -> None:
    """A ValueError where it is no whole number, or one whose draws no memory holds."""
    check_whole("num_draws", num_draws, 1)
    if num_draws > _MOST_DRAWS:
        raise ValueError(f"num_draws must be at most {_MOST_DRAWS:,}, got {num_draws:g}")


def check_number(name: str, value: Any, *, positive: bool = False, what: str = "") -> None:
    """A ValueError where an option is not one finite number that is positive, or at least 0."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not 0 <= value < np.inf or (positive and value == 0):
        rule = "positive and finite" if positive else "a finite number of at least 0"
        raise ValueError(f"{name} must be {rule}{what}, got {value!r}")


def check_choice(name: str, value: Any, valid: Iterable[str]) -> None:
    """A ValueError where an option is none of the valid words."""
    if not isinstance(value, str) or value not in (valid := tuple(valid)):
        raise ValueError(f"{name} must be one of {tuple(valid)}, got {value!r}")


_SMALLEST = np.finfo(float).tiny  # smaller numbers have fewer digits, and 1 / x overflows


def check_positive(name: str, values: np.ndarray) -> np.ndarray:
    """The values; a ValueError names the first row that is not positive and finite, or too small to divide by."""
    bad = np.flatnonzero(~(values.ravel() >= _SMALLEST) | ~np.isfinite(values.ravel()))
    if bad.size:
        row, value = bad[0] // values.shape[-1] if values.ndim == 2 else bad[0], values.ravel()[bad[0]]
        least = f", at least {_SMALLEST:g}" if 0 < value < _SMALLEST else ""
        raise ValueError(f"{name} must be positive and finite{least}; row {row} is {value} ({bad.size} such)")
    return values


def check_inside(name: str, values: np.ndarray) -> np.ndarray:
    bad = np.flatnonzero(~((values.ravel() > 0) & (values.ravel() < 1)))
    if bad.size:
        value = values.ravel()[bad[0]]
        raise ValueError(f"{name} must lie strictly between 0 and 1; row {bad[0]} is {value:g} ({bad.size} such)")
    return values


def check_same_index(**values: Any) -> None:
    """A ValueError where two Series name their rows differently: they would be matched by place."""
    pandas = sys.modules.get("pandas")  # where it was never imported there is no Series
    if pandas is None:
        return
    series = {name: value for name, value in values.items() if isinstance(value, pandas.Series)}
    for name, value in list(series.items())[1:]:
        first = next(iter(series))
        if not value.index.equals(series[first].index):
            raise ValueError(
                f"{first} and {name} must have the same index in the same order (rows are matched by place):"
                " take both from one table, or .to_numpy() of each"
            )


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
            columns = [str(column) if isinstance(column, str) else f"{column!r} (no text)" for column in frame.columns]
            near = get_close_matches(str(name), columns, n=3) or columns
            raise ValueError(f"column {name!r} is missing; there is {', '.join(near[:12])}")
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


def check_accuracies(
    upstream: ArrayLike, downstream: ArrayLike, *, below_one: bool = True, least: int = 1,
    names: tuple[str, str] = ("upstream_accuracy", "downstream_accuracy"),
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Two accuracies of each model as float64 in [0, 1], both of shape (n,).

    Args:
        below_one: whether the first must lie below 1, as for a law of its error.
        least: number of models.

    Raises:
        ValueError: which accuracy, which row, what is valid.
    """
    check_same_index(**dict(zip(names, (upstream, downstream), strict=True)))
    first, second = (check_fractions(*pair) for pair in zip(names, (upstream, downstream), strict=True))
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"accuracies must be one-dimensional and equally long, got {first.shape} and {second.shape}")
    if first.size < least:
        raise ValueError(f"accuracies must be of {least} models or more, got {first.size}")
    if below_one and np.any(first == 1):
        raise ValueError(f"{names[0]} must be below 1; row {np.argmax(first)} is 1")
    return first, second


def model_names(names: Sequence[Any] | None, num_models: int) -> list[str]:
    """A name a model, "row 3" where there are none."""
    if isinstance(names, str) or not isinstance(names, Iterable | None):
        raise ValueError(f"names must be a list of one label a model, got {names!r}")
    labels = [f"row {i}" for i in range(num_models)] if names is None else [str(name) for name in names]
    if len(labels) != num_models:
        raise ValueError(f"names must have one label a model, {num_models}, got {len(labels)}")
    return labels


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
