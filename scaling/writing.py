"""Write the tables of a sweep as parquet, whole or not at all."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from .reading.checks import are_plainly_sound, validate
from .schema import SCHEMA_VERSION, TABLES, Column, arrow_schema
from .whole_files import written_whole

__all__ = ["write_arrow", "write_records"]

_FEW_ROWS = 100  # of a table that is written value by value: beyond some hundred columns at once are faster

# Of the few rows of a run these are most of what a reader of thousands does.
_PLAIN: dict[str, Any] = {"use_dictionary": False, "write_statistics": False, "compression": "none"}


def write_records(
    rows: pd.DataFrame | Sequence[Mapping[str, Any]], path: str | os.PathLike[str], table: str = "records"
) -> None:
    """Write a table as one parquet file; a reader sees the old file or the new one, never a half.

    Args:
        rows: with the columns of `table`; missing columns are written as nulls, extra ones are kept.
        path: the parquet file; its folder must exist.
        table: "records", "evals" or "measurements".

    Raises:
        ValueError: a required column is missing or a value is out of range, with its rows.
    """
    # In a tenth of the time that pandas takes.
    if not isinstance(rows, pd.DataFrame) and are_plainly_sound(rows, table):
        version = {"schema_version": SCHEMA_VERSION} if table == "records" else {}
        write_arrow(pa.Table.from_pylist([version | dict(row) for row in rows], arrow_schema(table)), path)
        return
    frame = pd.DataFrame(rows)
    validate(frame, table)
    write_arrow(_to_arrow(frame, table), path)


def write_arrow(table: pa.Table, path: str | os.PathLike[str]) -> None:
    """Write rows that have been checked, whole or not at all."""
    plain = _PLAIN if table.num_rows <= _FEW_ROWS else {}
    # Parquet tells the columns' types by itself; pyarrow keeps what else a schema says together with them only.
    kind: dict[str, Any] = plain | {"store_schema": not plain or table.schema.metadata is not None}
    with written_whole(path) as temporary:
        pq.write_table(table, temporary, **kind)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())


def _to_arrow(frame: pd.DataFrame, table: str) -> pa.Table:
    arrays: dict[str, Any] = {}
    few = dict(zip(frame, frame.to_numpy(dtype=object).T.tolist(), strict=True)) if len(frame) <= _FEW_ROWS else {}
    for name, column in TABLES[table].items():
        if name not in frame:
            arrays[name] = pa.nulls(len(frame), column.arrow_type)
        elif (found := _plain_array(few.get(name), column)) is not None:
            arrays[name] = found
        else:
            arrays[name] = _array(frame[name], column)
    if table == "records" and "schema_version" not in frame:
        arrays["schema_version"] = pa.array(np.full(len(frame), SCHEMA_VERSION), type=pa.int64())
    extra = [name for name in frame.columns if name not in arrays]
    arrays |= {name: pa.array(frame[name], from_pandas=True) for name in extra}
    return pa.table(arrays)


def _plain_array(values: list[Any] | None, column: Column) -> pa.Array | None:
    """Of few values, without pandas, which takes ten times as long; None where they are not of the column's type."""
    try:
        return None if values is None else pa.array(values, type=column.arrow_type, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None


def _array(values: pd.Series, column: Column) -> pa.Array:
    """As the column's type: at once where the values have it already, else value by value."""
    if _is_of_kind(values, column.kind):
        return pa.array(values.to_numpy(), type=column.arrow_type, from_pandas=True)
    if column.kind == "count" and values.dtype == np.float64 and not (values.abs() >= 2**53).any():
        whole = values.fillna(0).to_numpy().astype(np.int64)
        return pa.array(whole, type=column.arrow_type, mask=values.isna().to_numpy())
    convert = {"text": str, "count": int, "flag": bool}.get(column.kind, float)
    return pa.array([None if pd.isna(value) else convert(value) for value in values], type=column.arrow_type)


def _is_of_kind(values: pd.Series, kind: str) -> bool:
    if kind == "text":
        return pd.api.types.infer_dtype(values, skipna=True) == "string"
    return values.dtype == {"count": np.int64, "flag": np.bool_}.get(kind, np.float64)
