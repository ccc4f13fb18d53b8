"""Read, write and check the records of a sweep or of a paper's table."""

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from .checks import validate
from .schema import KEY, SCHEMA_VERSION, TABLES, Column, arrow_schema

__all__ = ["read_evals", "read_measurements", "read_records", "validate_records", "write_records"]


def read_records(
    source: str | os.PathLike[str] | pd.DataFrame,
    *,
    probe: str = "whitened",
    layer: str = "pre_logits",
    weights: str | None = "last",
    wide: bool = True,
) -> pd.DataFrame:
    """Records with one column a downstream task, from a sweep folder, parquet (file or folder), csv or DataFrame.

    Args:
        source: a sweep's folder, a parquet file, a folder of parquet files, a csv file, or a DataFrame.
        probe, layer: which linear probe the columns `<task>_<k>shot_error` show: the mean over its draws.
        weights: which weights' rows to keep: "last", "ema", "best"; None keeps all.
        wide: False leaves the downstream columns out.

    Returns:
        A row an evaluated model: the columns of `scaling.schema.RECORDS` that the source has, then
        `<task>_<k>shot_error` and `<task>_finetune_error` where downstream evaluations lie in the folder, or beside
        a file named `records.parquet`.

    Raises:
        ValueError: no records, a missing column, or values out of range, with their rows.
        FileNotFoundError: there is no such file or folder.

    >>> read_records(pd.DataFrame({"run_id": ["a"], "step": [10], "weights": ["last"], "upstream_error": [0.3]}))
      run_id  step weights  upstream_error
    0      a    10    last             0.3
    """
    records = _read_table(source, "records")
    validate_records(records)
    if weights is not None:
        known = sorted(records["weights"].unique())
        if len(records) and weights not in known:
            raise ValueError(f"weights must be one of {known} or None, got {weights!r}")
        records = records[records["weights"] == weights].reset_index(drop=True)
    if not wide or isinstance(source, pd.DataFrame) or Path(source).suffix.lower() == ".csv":
        return records
    evals = read_evals(_evals_beside(Path(source)))
    return records if evals.empty else _add_task_columns(records, evals, probe, layer)


def read_evals(source: str | os.PathLike[str] | pd.DataFrame) -> pd.DataFrame:
    """The long table of downstream evaluations: a row a (model, task, method, shots, layer, draw).

    Raises:
        ValueError: a required column is missing or a value is out of range, with its rows.
    """
    evals = _read_table(source, "evals")
    if len(evals):
        validate(evals, "evals")
    return evals


def read_measurements(source: str | os.PathLike[str] | pd.DataFrame) -> pd.DataFrame:
    """The long table of measurements of trained models: a row a (model, name, data set, layer, head)."""
    return _read_table(source, "measurements")


def write_records(frame: pd.DataFrame, path: str | os.PathLike[str], table: str = "records") -> None:
    """Write a table as one parquet file; a reader sees the old file or the new one, never a half.

    Args:
        frame: rows with the columns of `table`; missing columns are written as nulls, extra ones are kept.
        path: the parquet file; its folder must exist.
        table: "records", "evals" or "measurements".

    Raises:
        ValueError: a required column is missing or a value is out of range, with its rows.
    """
    validate(frame, table)
    arrow = _to_arrow(frame, table)
    temporary = Path(f"{os.fspath(path)}.{os.getpid()}.tmp")
    try:
        pq.write_table(arrow, temporary)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def validate_records(frame: pd.DataFrame) -> None:
    """Check a table of records; one error names every bad column and row.

    Checked: the key `run_id, step, weights` and `upstream_error` are there (an error may be null only where
    `status` is not "ok"), keys do not repeat, fractions lie in [0, 1], counts are whole and not negative.

    Raises:
        ValueError: one line a fault: the column, the rows, the values and what is valid.

    >>> validate_records(pd.DataFrame({"run_id": ["a"], "step": [1], "weights": ["last"], "upstream_error": [23.0]}))
    Traceback (most recent call last):
    ...
    ValueError: bad records: upstream_error must lie in [0, 1] (is this percent? divide by 100); row 0: 23.0
    """
    validate(frame, "records")


# Reading ------------------------------------------------------------------------------------------------------


def _read_table(source: str | os.PathLike[str] | pd.DataFrame, table: str) -> pd.DataFrame:
    if isinstance(source, pd.DataFrame):
        return source.reset_index(drop=True)
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"no records at {path}: give a sweep folder, a parquet or csv file")
    if path.suffix.lower() == ".csv":
        try:
            return pd.read_csv(path, dtype={"run_id": str})
        except ValueError as error:  # pandas' parser errors and undecodable text are ValueErrors
            raise ValueError(f"{path} cannot be read as csv: {error}") from error
    files = _table_files(path, table)
    if not files and table == "records":
        raise ValueError(f"no {table} in {path}: it holds no runs/*/{table}.parquet and no parquet file")
    return _read_parquet_files(files, table)


def _evals_beside(path: Path) -> Path | pd.DataFrame:
    """Where the evals of a folder or of a records file lie: `evals.parquet` in the same folder, where there is one."""
    if path.is_dir():
        return path
    beside = path.with_name("evals.parquet")
    return beside if path.name == "records.parquet" and beside.is_file() else pd.DataFrame()


def _table_files(path: Path, table: str) -> list[Path]:
    """The run folders' files of a sweep, else `<table>.parquet`, else (records) every other parquet file."""
    if path.is_file():
        return [path]
    for pattern in (f"runs/*/{table}.parquet", f"*/{table}.parquet", f"{table}.parquet"):
        if files := sorted(path.glob(pattern)):
            return files
    if table != "records":
        return []
    return sorted(file for file in path.rglob("*.parquet") if file.stem not in TABLES)


def _read_parquet_files(files: list[Path], table: str) -> pd.DataFrame:
    tables = [arrow for file in files if (arrow := _read_parquet(file)) is not None]
    if not tables:
        if files and table == "records":
            raise ValueError(f"none of {len(files)} parquet files under {files[0].parent} can be read")
        return arrow_schema(table).empty_table().to_pandas()
    # By name and with promoted types: a column that only some runs have is kept, null elsewhere.
    try:
        return pa.concat_tables(tables, promote_options="permissive").to_pandas()
    except pa.ArrowException as error:
        raise ValueError(f"the {len(tables)} files of {table} have columns of different types: {error}") from error


def _read_parquet(file: Path) -> pa.Table | None:
    try:
        return pq.ParquetFile(file).read()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        warnings.warn(f"skipped damaged parquet file {file}: {reason}", stacklevel=2)
        return None


def _add_task_columns(records: pd.DataFrame, evals: pd.DataFrame, probe: str, layer: str) -> pd.DataFrame:
    fewshot = evals[(evals["method"] == "fewshot") & (evals["probe"] == probe) & (evals["layer"] == layer)]
    finetune = evals[evals["method"] == "finetune"]
    fewshot = fewshot.assign(
        column=[f"{t}_{k:.0f}shot_error" for t, k in zip(fewshot.task, fewshot.num_shots, strict=True)]
    )
    finetune = finetune.assign(column=finetune["task"] + "_finetune_error")
    chosen = pd.concat([fewshot, finetune])
    wide = chosen.pivot_table(index=list(KEY), columns="column", values="error", aggfunc="mean", sort=False)
    return records.merge(wide.reset_index().rename_axis(columns=None), on=list(KEY), how="left")


# Writing ------------------------------------------------------------------------------------------------------


def _to_arrow(frame: pd.DataFrame, table: str) -> pa.Table:
    arrays: dict[str, Any] = {}
    for column in TABLES[table].values():
        missing = column.name not in frame
        arrays[column.name] = pa.nulls(len(frame), column.arrow_type) if missing else _array(frame[column.name], column)
    if table == "records" and "schema_version" not in frame:
        arrays["schema_version"] = pa.array(np.full(len(frame), SCHEMA_VERSION), type=pa.int64())
    extra = [name for name in frame.columns if name not in arrays]
    arrays |= {name: pa.array(frame[name], from_pandas=True) for name in extra}
    return pa.table(arrays)


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
