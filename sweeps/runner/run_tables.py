"""The tables that lie in run folders, of which only those are opened that have changed since they were collected.

Opening a parquet file of a hundred columns takes a millisecond, so that thousands take seconds. The collected table
tells of each file that it was made from how large and how old it was: what still is so is taken from there.
"""

import json
import os
import stat
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ..paths import SweepPaths
from ..words import first_line

__all__ = ["Stamp", "file_stamps", "read_collected", "read_collected_stamps", "read_run_tables", "stamps_metadata"]

Stamp = tuple[int, int]
"""Bytes of a file, and when it was last changed, in nanoseconds."""

_THREADS = 4  # opening waits for the disk, and pyarrow lets other threads run meanwhile
_STAMPS = b"sweeps.stamps"


def file_stamps(paths: SweepPaths, table: str, folders: Iterable[str] | None = None) -> dict[str, Stamp]:
    """Of the file of this table in each run folder that has one, by the folder's name.

    Args:
        folders: names of run folders; None is all, in order.
    """
    found = {}
    for folder in _folders(paths.runs) if folders is None else folders:
        try:
            found_file = os.stat(f"{paths.runs}/{folder}/{table}.parquet")
        except OSError:
            continue
        found[folder] = (found_file.st_size, found_file.st_mtime_ns)
    return found


def _folders(path: Path) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except OSError:  # nothing has been run yet
        return []


def read_run_tables(
    paths: SweepPaths, table: str, folders: Iterable[str], columns: Iterable[str] | None = None
) -> Iterator[tuple[str, pa.Table | str]]:
    """The table in each of these run folders, or one line why it cannot be read.

    Args:
        columns: those to read, where the file has them; None is all.
    """
    files = {folder: paths.runs / folder / f"{table}.parquet" for folder in folders}
    read = partial(_read, columns=None if columns is None else list(columns))
    with ThreadPoolExecutor(_THREADS) as threads:
        yield from zip(files, threads.map(read, files.values()), strict=True)


def _read(file: Path, columns: list[str] | None) -> pa.Table | str:
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            return "it is a folder, a pipe or a device, and no file"  # a pipe is waited for without end
        # Given a path, pyarrow takes as long to find out what file system it lies in as to read a small file.
        with pa.OSFile(str(file)) as source, pq.ParquetFile(source, pre_buffer=False) as parquet:
            names = parquet.schema_arrow.names if columns else []
            wanted = None if columns is None else [name for name in columns if name in names]
            return parquet.read(columns=wanted, use_threads=False).replace_schema_metadata()
    # pyarrow says that a file is damaged in all these ways; UnicodeDecodeError is a ValueError.
    except (pa.ArrowException, OSError, ValueError, EOFError) as error:
        return first_line(error)


def read_collected(
    paths: SweepPaths, table: str, columns: Iterable[str] | None = None
) -> tuple[pa.Table, dict[str, Stamp]]:
    """The collected table, and the stamps of the run folders' files that it holds the rows of, each under its run id.

    Both are empty where there is none, where it is damaged, or where something else wrote it: nothing is lost then but
    time.
    """
    stamps = read_collected_stamps(paths, table)
    found = _read(paths.table(table), columns if columns is None else list(columns)) if stamps else ""
    return (pa.table({}), {}) if isinstance(found, str) or "run_id" not in found.column_names else (found, stamps)


def read_collected_stamps(paths: SweepPaths, table: str) -> dict[str, Stamp]:
    """Of the files that the collected table was made from, all of which could be read."""
    try:
        metadata = (pq.read_metadata(paths.table(table)).metadata or {}).get(_STAMPS)
        return {run_id: (size, changed) for run_id, (size, changed) in json.loads(metadata or b"{}").items()}
    except (pa.ArrowException, OSError, ValueError):
        return {}


def stamps_metadata(stamps: dict[str, Stamp]) -> dict[bytes, bytes]:
    """What `read_collected` finds the stamps in, for the schema of a collected table."""
    return {_STAMPS: json.dumps(stamps, separators=(",", ":")).encode()}
