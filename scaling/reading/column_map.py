"""A user's own columns under the names of records: `{"upstream_error": "1 - top1 / 100", "run_id": "model"}`."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..frames import as_numbers, check_columns
from ..schema import KEY, RECORDS
from .cell_numbers import typed_frame
from .expressions import evaluate
from .hand_kept import warn_of_near_names

__all__ = ["as_kinds", "map_columns", "text_columns"]

_WHOLE = 1e-9  # 1e6 * 86.57 is 86570000.00000001: a count that is whole but for rounding
_WORDS = {"true": True, "yes": True, "1": True, "1.0": True, "false": False, "no": False, "0": False, "0.0": False}


def map_columns(
    frame: pd.DataFrame,
    columns: Mapping[str, str],
    written: pd.DataFrame | None = None,
    *,
    decimal: str | None = None,
) -> pd.DataFrame:
    """The table with new columns, and the key of records where it has none.

    A value of `columns` is the exact name of a column; an expression over columns (+ - * / ** and parentheses,
    numbers, exp, log, log10, sqrt; a name that is no plain word stands in `backticks`); or, for a column of texts,
    several names joined by commas, whose values are joined by "@". All columns keep their own names too. A missing
    `run_id` is "row 0", "row 1", ..., a missing `step` 0, `weights` "last", `status` "ok", or "failed" where a trained
    model has no error.

    Args:
        frame: the user's table.
        columns: the value of each new column.
        written: the texts of columns of a csv that look like numbers. Without it texts of numbers in `frame`
            ("1,013.01", "23.4%") are numbers in an expression.
        decimal: "." or ",", for such texts that can be read two ways.

    Raises:
        ValueError: a name that is no column (near ones are told), an expression that is none, or one that is not finite
            in a row, or keys that repeat (a column that would tell them apart is told).

    >>> frame = pd.DataFrame({"model": ["a", "b"], "top1": [81.0, 83.0], "GMACs": [4.0, 8.0]})
    >>> map_columns(frame, {"run_id": "model", "upstream_error": "1 - top1 / 100"})[["run_id", "upstream_error"]]
      run_id  upstream_error
    0      a            0.19
    1      b            0.17
    """
    _check_texts(columns)
    if frame.columns.nlevels > 1:
        raise ValueError(f"columns must have one name each, got {tuple(frame.columns[0])!r}: join its levels")
    if repeated := list(frame.columns[frame.columns.duplicated()]):
        raise ValueError(f"{list(frame.columns).count(repeated[0])} columns are named {repeated[0]!r}")
    if written is None:
        texts, frame = frame, typed_frame(frame, decimal)
    else:
        texts = frame.assign(**{str(name): written[name] for name in written})
    warn_of_near_names(columns, {*map(str, frame), *columns})
    made = {name: _column(frame, texts, name, value) for name, value in columns.items()}
    own = {str(name): texts[name] for name in frame if _kind(name) == "text" and name not in made}
    mapped = frame.assign(**own, **made)
    mapped.attrs.pop("percent", None)
    missing = {name: value for name, value in _missing_key(mapped).items() if name not in mapped}
    mapped = mapped.assign(**missing)
    if "status" not in mapped and "upstream_error" in mapped:
        mapped["status"] = _status(mapped)
    mapped = as_kinds(mapped)
    _check_keys(mapped, frame, columns)
    first = dict.fromkeys([*columns, *KEY])
    return mapped[[*first, *(name for name in mapped if name not in first)]]


def text_columns(columns: Mapping[str, str]) -> set[str]:
    """Names of a table's columns whose texts are asked for, among others: run_id "007" is no number."""
    _check_texts(columns)
    return {part for value in columns.values() for part in (value, *_parts(value))}


def as_kinds(frame: pd.DataFrame) -> pd.DataFrame:
    """With flags of records true or false where they are written as yes, no, 1 or the like, and counts and quantities
    numbers where they are written as "05" beside "5"."""
    made = {}
    for name in frame.columns:
        if _kind(name) == "flag" and frame[name].dtype != bool:
            words = frame[name].map(lambda value: _WORDS.get(str(value).strip().lower(), value), na_action="ignore")
            made[name] = words.astype(bool) if set(words) <= {True, False} else words.astype(object)
        elif name in RECORDS and _kind(name) not in ("text", "flag") and pd.api.types.is_string_dtype(frame[name]):
            numbers = pd.to_numeric(frame[name], errors="coerce")
            if (numbers.notna() | frame[name].isna()).all():
                made[name] = numbers
    return frame.assign(**made) if made else frame


# One column ---------------------------------------------------------------------------------------------------


def _check_texts(columns: Mapping[str, str]) -> None:
    texts = [*columns, *columns.values()] if isinstance(columns, Mapping) else [None]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise ValueError(f"columns must be texts, such as {{'upstream_error': '1 - top1 / 100'}}, got {columns!r}")


def _kind(name: Any) -> str:
    return RECORDS[name].kind if name in RECORDS else "number"


def _parts(value: str) -> list[str]:
    """Names between commas, of which some stand in backticks."""
    return [part.strip().strip("`") for part in re.findall("(?:`[^`]*`|[^,`])+", value)]


def _column(frame: pd.DataFrame, texts: pd.DataFrame, name: str, value: str) -> pd.Series:
    parts = [value] if value in frame else _parts(value)
    if len(parts) == 1 and parts[0] in frame and _kind(name) != "text":
        return frame[parts[0]]
    if _kind(name) == "text" or (len(parts) > 1 and all(part in frame for part in parts)):
        check_columns(frame, *parts)
        return _joined([texts[part] for part in parts])
    try:
        numbers = evaluate(frame, value)
    except ValueError as error:
        raise ValueError(f"{name} = {value!r}: {error}{_odd_names(frame, value)}") from None
    if _kind(name) == "count":
        numbers = _whole(numbers)
    return pd.Series(numbers, index=frame.index)


def _odd_names(frame: pd.DataFrame, value: str) -> str:
    """The columns whose names stand in an expression and need backticks there."""
    bare = re.sub("`[^`]*`", "", value)
    odd = [name for name in frame if isinstance(name, str) and not name.isidentifier() and name in bare]
    return f"; is `{max(odd, key=len)}` meant, in backticks?" if odd else ""


def _joined(columns: list[pd.Series]) -> pd.Series:
    """Null where one of them is."""
    words = columns[0].astype("string")
    for column in columns[1:]:
        words = words + "@" + column.astype("string")
    return words.astype(object).where(words.notna(), None)


def _whole(numbers: np.ndarray) -> np.ndarray:
    whole = np.rint(numbers)
    numbers = np.where(np.abs(numbers - whole) <= _WHOLE * np.abs(whole), whole, numbers)
    exact = np.isfinite(numbers).all() and (np.abs(numbers) < 2**53).all() and (numbers == np.rint(numbers)).all()
    return numbers.astype(np.int64) if exact else numbers


# The key ------------------------------------------------------------------------------------------------------


def _missing_key(frame: pd.DataFrame) -> dict[str, Any]:
    return {"run_id": [f"row {i}" for i in range(len(frame))], "step": 0, "weights": "last"}


def _status(frame: pd.DataFrame) -> np.ndarray:
    has_error = frame["upstream_error"].notna().to_numpy() | (as_numbers(frame["step"]) == 0)
    return np.where(has_error, "ok", "failed").astype(object)


def _check_keys(mapped: pd.DataFrame, frame: pd.DataFrame, columns: Mapping[str, str]) -> None:
    repeated = mapped.duplicated(list(KEY)).to_numpy()
    if not repeated.any():
        return
    row, value = int(np.argmax(repeated)), columns.get("run_id", "run_id")
    suggested = next((name for name in frame if isinstance(name, str) and _tells_apart(mapped, frame, name)), None)
    hint = f"run_id={f'{value},{suggested}'!r}" if suggested else "run_id='model,img_size'"
    raise ValueError(
        f"run_id, step, weights must not repeat; row {row} is the second with {mapped['run_id'].iloc[row]!r}"
        f" ({repeated.sum()} such): name several columns that tell the rows apart, columns={{...}} with {hint}"
    )


def _tells_apart(mapped: pd.DataFrame, frame: pd.DataFrame, name: str) -> bool:
    """Of measured numbers no name is made."""
    if name in KEY or pd.api.types.is_float_dtype(frame[name]):
        return False
    key = mapped[list(KEY)].assign(more=frame[name].astype(str))
    return not key.duplicated().any()
