"""The rules of the three tables, and the words for the rows that break them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..frames import as_numbers
from ..schema import KEY, SCHEMA_VERSION, TABLES, Column

__all__ = ["REQUIRED", "are_plainly_sound", "column_faults", "percent_hint", "validate"]

REQUIRED = {
    "records": (*KEY, "upstream_error"),
    "evals": (*KEY, "task", "method", "error"),
    "measurements": (*KEY, "name", "value"),
}
_NAMED_ROWS = 10  # bad rows spelled out for a column before "and n more"


def validate(frame: pd.DataFrame, table: str) -> None:
    """One error that names every bad column and row of a table, or nothing."""
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(f"{table} must be a pandas DataFrame, got a {type(frame).__name__}")
    faults = [f"column {name} is missing" for name in REQUIRED[table] if name not in frame]
    for column in _doubtful(frame, table):
        faults += column_faults(frame, column, required=column.name in REQUIRED[table])
    if not faults and table == "records":
        faults += _of_newer_version(frame) + _repeated_keys(frame)
    if faults:
        raise ValueError(f"bad {table}: " + "\n".join(faults))


def are_plainly_sound(rows: Sequence[Mapping[str, Any]], table: str) -> bool:
    """Whether `validate` passes rows whose values have their columns' own Python types; False where it must be asked.

    >>> row = {"run_id": "a", "step": 1, "weights": "last", "name": "sharpness", "value": 2.5}
    >>> are_plainly_sound([row], "measurements"), are_plainly_sound([row | {"value": "2.5"}], "measurements")
    (True, False)
    """
    repeated = table == "records" and len({tuple(row.get(name) for name in KEY) for row in rows}) < len(rows)
    return bool(rows) and not repeated and all(_is_plainly_sound(row, table) for row in rows)


def _is_plainly_sound(row: Mapping[str, Any], table: str) -> bool:
    columns = TABLES[table]
    values = (
        name in columns and (value is None or _is_plain(value, columns[name].kind)) for name, value in row.items()
    )
    return _has_required(row, table) and all(values)


def _has_required(row: Mapping[str, Any], table: str) -> bool:
    """A run without a result may lack its error."""
    names = KEY if row.get("status") not in (None, "ok") else REQUIRED[table]
    return all(row.get(name) is not None for name in names) and all(name in row for name in REQUIRED[table])


def _is_plain(value: Any, kind: str) -> bool:
    if kind in ("text", "flag"):
        return type(value) is (str if kind == "text" else bool)
    if kind == "count":
        return type(value) is int and 0 <= value < 2**63
    exact = type(value) is float or (type(value) is int and abs(value) <= 2**53)
    return exact and _in_range(value, value, kind)


def _doubtful(frame: pd.DataFrame, table: str) -> list[Column]:
    """Columns that a look at all of them at once does not clear; each by itself takes ten times as long."""
    dtypes, is_empty = frame.dtypes.to_dict(), frame.isna().all().to_dict()
    least, greatest = (of(numeric_only=True).to_dict() for of in (frame.min, frame.max))

    def is_cleared(name: str, kind: str) -> bool:
        dtype = dtypes[name]
        if is_empty[name] or kind == "text" or dtype == np.bool_:
            return True
        kinds = {"flag": "", "count": "i"}.get(kind, "if")
        return isinstance(dtype, np.dtype) and dtype.kind in kinds and _in_range(least[name], greatest[name], kind)

    columns = (column for name, column in TABLES[table].items() if name in dtypes)
    return [column for column in columns if column.name in REQUIRED[table] or not is_cleared(*column)]


def _in_range(least: float, greatest: float, kind: str) -> bool:
    lowest, highest = {"fraction": (0, 1), "number": (-np.inf, np.inf)}.get(kind, (0, np.inf))
    return lowest <= least and greatest <= highest and math.isfinite(least) and math.isfinite(greatest)


def column_faults(frame: pd.DataFrame, column: Column, required: bool, first_row: int = 0) -> list[str]:
    """What is wrong in a column, a line a rule; the rows are counted from `first_row`."""

    def fault(rule: str, bad: np.ndarray) -> list[str]:
        return _fault(column.name, rule, values, bad, first_row)

    values = frame[column.name]
    missing = values.isna().to_numpy()
    faults = []
    if required:
        needed = missing & _must_have_value(frame, column) if missing.any() else missing
        faults += fault("must not be null", needed)
    if missing.all():
        return faults
    if column.kind == "flag":
        return faults + fault("must be true or false", ~missing & ~values.isin([True, False]).to_numpy())
    if column.kind == "text":
        return faults
    numbers = as_numbers(values)
    bad = np.isnan(numbers) & ~missing
    rule = "must be a number, not a time" if values.dtype.kind in "mM" else "must be a number"
    faults += [line + percent_hint(values[bad]) for line in fault(rule, bad)]
    return faults + [line for rule, bad in _range_rules(numbers, column.kind) for line in fault(rule, bad)]


def percent_hint(cells: pd.Series) -> str:
    """Of cells that are no numbers: 23% beside 0.23 stays text, since 23 beside 23% would be either."""
    return " (a column has % in all its cells or in none)" if any(str(cell).endswith("%") for cell in cells) else ""


def _must_have_value(frame: pd.DataFrame, column: Column) -> np.ndarray:
    """A run that failed or diverged has a row and may have no error; so may a model that was only evaluated, at step 0
    with status "ok", whose classes need not be the upstream set's, and one of a source that is no sweep: papers print
    errors of tasks without those of the upstream set."""
    if column.name in KEY:
        return np.ones(len(frame), dtype=bool)
    printed = _is_printed(frame)
    if "status" not in frame:
        return ~printed
    ok, unknown = frame["status"].isin(["ok"]).to_numpy(), frame["status"].isna().to_numpy()
    untrained = as_numbers(frame["step"]) == 0 if "step" in frame else np.zeros(len(frame), dtype=bool)
    return (ok & ~untrained | unknown) & ~printed


def _is_printed(frame: pd.DataFrame) -> np.ndarray:
    """Rows whose `source` is a citation, not a sweep."""
    if "source" not in frame:
        return np.zeros(len(frame), dtype=bool)
    source = frame["source"]
    return (source.notna() & ~source.astype(str).str.startswith("sweep:")).to_numpy(dtype=bool)


def _range_rules(numbers: np.ndarray, kind: str) -> list[tuple[str, np.ndarray]]:
    infinite = ("must be finite", np.isinf(numbers))
    if kind == "fraction":
        rule = "must lie in [0, 1] (is this percent? divide by 100)"
        return [infinite, (rule, np.isfinite(numbers) & ((numbers < 0) | (numbers > 1)))]
    if kind == "number":
        return [infinite]
    negative = ("must not be negative", np.isfinite(numbers) & (numbers < 0))
    if kind == "amount":
        return [infinite, negative]
    return [infinite, negative, ("must be whole", np.isfinite(numbers) & (np.floor(numbers) != numbers))]


def _of_newer_version(frame: pd.DataFrame) -> list[str]:
    """Records whose columns may mean something that this version does not know."""
    if "schema_version" not in frame:
        return []
    newer = np.nan_to_num(as_numbers(frame["schema_version"])) > SCHEMA_VERSION
    rule = f"must be at most {SCHEMA_VERSION}: a newer version of this package wrote them, install it"
    return _fault("schema_version", rule, frame["schema_version"], newer)


def _repeated_keys(frame: pd.DataFrame) -> list[str]:
    if len(frame) < 2:
        return []
    repeated = frame.duplicated(list(KEY), keep="first").to_numpy()
    named = np.flatnonzero(repeated)[:_NAMED_ROWS]
    keys = pd.Series("", index=range(len(frame)), dtype=object)
    for row in named:  # only these are spelled out
        keys[row] = " / ".join(frame.iloc[[row]][list(KEY)].astype(str).iloc[0])
    return _fault(", ".join(KEY), "must not repeat", keys, repeated)


def _fault(name: str, rule: str, values: pd.Series, bad: np.ndarray, first_row: int = 0) -> list[str]:
    rows = np.flatnonzero(bad)
    if rows.size == 0:
        return []
    named = ", ".join(f"{first_row + row}: {values.iloc[row]}" for row in rows[:_NAMED_ROWS])
    more = f" and {rows.size - _NAMED_ROWS} more" if rows.size > _NAMED_ROWS else ""
    return [f"{name} {rule}; row{'s' if rows.size > 1 else ''} {named}{more}"]
