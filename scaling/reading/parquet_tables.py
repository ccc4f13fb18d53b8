"""Where the parquet files of a table lie, and what all of them hold."""

import warnings
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..errors import first_line
from ..schema import TABLES, arrow_schema
from .checks import REQUIRED
from .partitions import partition_columns, partition_values

__all__ = [
    "check_regular",
    "existing_files",
    "is_partitioned",
    "join_tables",
    "read_parquet_table",
    "warn_of_damage",
    "without_index",
]


def existing_files(path: Path, table: str) -> list[Path]:
    if not path.exists():
        raise FileNotFoundError(f"no records at {path}: give a sweep folder, a parquet or csv file")
    if not path.is_file() and not path.is_dir():
        raise ValueError(f"{path} is neither a file nor a folder: save what it gives as a .csv or .parquet file")
    files = _table_files(path, table)
    if not files and table == "records":
        begun = " yet: a sweep of which no run has ended" if (path / "plan.jsonl").exists() else ""
        raise ValueError(f"no {table} in {path}{begun or f': it holds no runs/*/{table}.parquet and no parquet file'}")
    return files


def _table_files(path: Path, table: str) -> list[Path]:
    """The run folders' files of a sweep, else `<table>.parquet`, else (records) every other parquet file."""
    if path.is_file():
        return [path]
    for pattern in (f"runs/*/{table}.parquet", f"*/{table}.parquet", f"{table}.parquet"):
        if files := sorted(path.glob(pattern)):
            return files
    if table != "records":
        return []
    found = (file for file in path.rglob("*.parquet") if file.stem not in TABLES and not _is_hidden(file, path))
    return sorted(file for file in found if not file.is_dir())


def _is_hidden(file: Path, root: Path) -> bool:
    """Halves and copies that programs keep in a folder: `_temporary/0/part-0.parquet`, `.part-0.parquet`."""
    parts = file.relative_to(root).parts
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in parts)


def is_partitioned(path: Path) -> bool:
    return path.is_dir() and any(partition_values(file, path) for file in existing_files(path, "records"))


def read_parquet_table(
    path: Path, table: str, run_ids: pd.Series | None, only: Callable[[str], bool] | None
) -> pd.DataFrame:
    """The whole table, or only the rows of some runs, or some columns."""
    files = existing_files(path, table)
    found: dict[Path, pa.Table] = {}
    damaged: dict[Path, str] = {}
    for file in files:
        try:
            found[file] = _read_parquet(file, run_ids, only)
        except (pa.ArrowException, OSError) as error:
            damaged[file] = first_line(error)
    if damaged and not found and table == "records":
        raise ValueError(_nothing_read(path, damaged))
    for file, why in damaged.items():
        warn_of_damage(file, why)
    frame = join_tables(list(found.values()), table)
    values = [partition_values(file, path) for file in found]
    if table != "records" or not any(values):
        return frame
    more = partition_columns(values, [rows.num_rows for rows in found.values()])
    return frame.assign(**{str(name): more[name] for name in more if name not in frame})


def _nothing_read(path: Path, damaged: dict[Path, str]) -> str:
    file, why = next(iter(damaged.items()))
    if len(damaged) == 1:
        csv = "" if file.suffix == ".parquet" else "; a csv file is named .csv, .tsv or .txt"
        return f"{file} cannot be read as parquet: {why}{csv}"
    return f"none of {len(damaged)} parquet files under {path} can be read; the first, {file}: {why}"


def check_regular(file: Path) -> None:
    """An OSError for what is no file: a pipe is waited for without end."""
    if file.exists() and not file.is_file():
        raise OSError("it is a folder, a pipe or a device, and no file")


def _read_parquet(file: Path, run_ids: pd.Series | None, only: Callable[[str], bool] | None) -> pa.Table:
    check_regular(file)
    with pq.ParquetFile(file) as parquet:
        if only is not None:
            names = parquet.schema_arrow.names
            return parquet.read([name for name in names if name in REQUIRED["records"] or only(name)])
        if run_ids is None or "run_id" not in parquet.schema_arrow.names:
            return parquet.read()
        return pa.Table.from_batches(map(_rows_of_runs(run_ids), parquet.iter_batches()), parquet.schema_arrow)


def _rows_of_runs(run_ids: pd.Series) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    wanted = pa.array(run_ids.astype(str), type=pa.string())
    # pyarrow makes the functions of `compute` at run time.
    return lambda batch: batch.filter(pc.is_in(batch["run_id"].cast(pa.string()), wanted))  # pyright: ignore


def join_tables(tables: list[pa.Table], table: str) -> pd.DataFrame:
    """By name, types promoted, decimals as floats: a column that only some runs have is kept, null elsewhere."""
    try:
        joined = pa.concat_tables(tables or [arrow_schema(table).empty_table()], promote_options="permissive")
    except pa.ArrowException as error:
        raise ValueError(f"the {len(tables)} files of {table} have columns of different types: {error}") from error
    floats = [each.with_type(pa.float64()) if pa.types.is_decimal(each.type) else each for each in joined.schema]
    return without_index(joined.cast(pa.schema(floats, joined.schema.metadata)).to_pandas())


def without_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows that are numbered, and named levels of an index as columns: pandas writes an index into parquet files."""
    index = frame.index
    named = [(level, name) for level, name in enumerate(index.names) if name is not None and name not in frame]
    levels = {str(name): index.get_level_values(level) for level, name in named}
    return frame.assign(**levels).reset_index(drop=True)


def warn_of_damage(file: Path, why: str) -> None:
    warnings.warn(f"skipped damaged parquet file {file}: {why}", stacklevel=2)
