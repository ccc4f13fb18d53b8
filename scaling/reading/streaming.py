"""The frontier or the hull of records, a batch of rows at a time: parquet files may be larger than memory.

The frontier of all rows is the frontier of the parts' frontiers, and so are the vertices of the hull. So one pass over
the columns that decide keeps the best rows so far, and a second reads the other columns of the rows that stayed.
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import first_line
from ..frames import as_numbers
from ..schema import RECORDS, Column
from ..selection.hulls import not_beaten_by
from ..selection.rules import select
from .checks import REQUIRED, column_faults
from .parquet_tables import check_regular, join_tables, warn_of_damage, without_index
from .where import rows_where

__all__ = ["Choice", "check_weights", "choose_rows", "stream_rows"]

_BATCH_ROWS = 1 << 17  # rows of the few columns that decide held at once: some 10 MB
_WIDE_BATCH_ROWS = 1 << 14  # the same with all columns
_BUFFER_BYTES = 1 << 20  # of a column read at once, however large a row group is


class Choice(NamedTuple):
    """Which rows to keep: those `where` is true with these `weights`, and of them the selection of y against x."""

    selection: str
    x: str
    y: str
    weights: str | None = None
    where: str | None = None

    def columns(self, names: list[str]) -> list[str]:
        """Those of the `names` that decide."""
        words = set(re.findall(r"\w+", self.where or "")) | {self.x, self.y, "status"}
        if "upstream_error" in words:  # these say of which rows it may be null
            words |= {"step", "source"}
        return [name for name in names if name in words or (name == "weights" and self.weights is not None)]


class _Best(NamedTuple):
    """The selection of the rows seen so far, in the order of its x, and what was seen."""

    x: np.ndarray = np.empty(0)
    y: np.ndarray = np.empty(0)
    file: np.ndarray = np.empty(0, dtype=np.int64)
    row: np.ndarray = np.empty(0, dtype=np.int64)
    num_rows: int = 0
    num_skipped: int = 0
    known_weights: frozenset = frozenset()
    known_columns: frozenset = frozenset()

    def counts(self) -> dict[str, int]:
        return {"num_rows": self.num_rows, "num_skipped": self.num_skipped}


def stream_rows(files: list[Path], choice: Choice) -> pd.DataFrame:
    """The chosen rows of parquet files, x ascending. Memory: a batch of rows, and the selection itself.

    Raises:
        ValueError: a required column is missing, a value is out of range (with its file and row), or no file is sound.
    """
    _check_kinds(choice)
    best, sound = _Best(), []
    for number, file in enumerate(files):
        try:
            best = _add_file(best, file, number, choice)
            sound.append(file)
        except (pa.ArrowException, OSError) as error:  # what the file had already added is dropped with it
            warn_of_damage(file, first_line(error))
    if not sound:
        raise ValueError(f"none of {len(files)} parquet files under {files[0].parent} can be read")
    _check_seen(best, choice)
    tables = []
    for number in np.unique(best.file):
        try:
            tables.append(_rows_of_file(files[number], np.sort(best.row[best.file == number])))
        except (pa.ArrowException, OSError) as error:  # sound in the columns that decide, damaged in another
            warn_of_damage(files[number], first_line(error))
            return stream_rows([file for file in sound if file != files[number]], choice)
    frame = join_tables(tables, "records")
    return _in_order(frame, np.lexsort((best.row, best.file)), best)


def choose_rows(frame: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """The chosen rows of a frame that lies in memory, x ascending."""
    _check_kinds(choice)
    best = _add_batch(_Best(known_columns=frozenset(frame.columns)), frame, 0, 0, choice)
    _check_seen(best, choice)
    return _in_order(frame.iloc[np.sort(best.row)], np.argsort(best.row), best)


def check_weights(weights: str | None, known: set[str]) -> None:
    if weights is not None and known and weights not in known:
        raise ValueError(f"weights must be one of {sorted(known)} or None, got {weights!r}")


# One file, one batch ------------------------------------------------------------------------------------------


def _open(file: Path, texts: tuple[str, ...] = ()) -> pq.ParquetFile:
    """Without reading ahead, which would hold a whole row group; `texts` are read as codes where they are there."""
    check_regular(file)
    metadata = pq.read_metadata(file)
    codes = [name for name in texts if name in metadata.schema.names]
    return pq.ParquetFile(file, metadata=metadata, buffer_size=_BUFFER_BYTES, pre_buffer=False, read_dictionary=codes)


def _add_file(best: _Best, file: Path, number: int, choice: Choice) -> _Best:
    with _open(file, texts=("weights", "status", "source")) as parquet:  # a few texts repeated in all rows
        names = parquet.schema_arrow.names
        best = best._replace(known_columns=best.known_columns | set(names))
        absent = [f"column {name} is missing" for name in REQUIRED["records"] if name not in names]
        if absent:
            raise ValueError(f"bad records in {file}: " + "\n".join(absent))
        row = 0
        for batch in parquet.iter_batches(_BATCH_ROWS, columns=choice.columns(names)):
            frame = _with_known_columns(without_index(batch.to_pandas()), choice)
            best = _add_batch(best, frame, number, row, choice, where_it_is=f" in {file}")
            row += batch.num_rows
    return best


def _with_known_columns(frame: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """A column that this file lacks and others may have is null."""
    absent = [name for name in choice.columns([choice.x, choice.y, *RECORDS]) if name not in frame]
    return frame.assign(**{name: pa.nulls(len(frame), _column(name).arrow_type).to_pandas() for name in absent})


def _add_batch(
    best: _Best, frame: pd.DataFrame, number: int, first_row: int, choice: Choice, where_it_is: str = ""
) -> _Best:
    """The selection with a batch of rows: the file's number, its first row's, and where to look for a bad one."""
    checked = [choice.x, choice.y] + (["weights"] if choice.weights is not None else [])
    faults = [f for name in dict.fromkeys(checked) if name in frame for f in _faults(frame, name, first_row)]
    if faults:
        raise ValueError(f"bad records{where_it_is}: " + "\n".join(faults))
    wanted = rows_where(frame, choice.where)
    if choice.weights is not None:
        wanted &= (frame["weights"] == choice.weights).to_numpy()
        best = best._replace(known_weights=best.known_weights | set(frame["weights"].unique()))
    x, y = (as_numbers(frame[name]) if name in frame else np.full(len(frame), np.nan) for name in (choice.x, choice.y))
    usable = np.flatnonzero(wanted & ~np.isnan(x) & ~np.isnan(y))
    hopeful = usable[not_beaten_by(best.x, best.y, x[usable], y[usable])]
    # The rows of before come first: of equal points the first is kept.
    rows = (
        np.concatenate([best.x, x[hopeful]]),
        np.concatenate([best.y, y[hopeful]]),
        np.concatenate([best.file, np.full(hopeful.size, number)]),
        np.concatenate([best.row, first_row + hopeful]),
    )
    kept = select(rows[0], rows[1], choice.selection)
    num_wanted = int(wanted.sum())
    num_rows, num_skipped = best.num_rows + num_wanted, best.num_skipped + num_wanted - usable.size
    arrays = dict(zip(_Best._fields, (values[kept] for values in rows), strict=False))
    return best._replace(**arrays, num_rows=num_rows, num_skipped=num_skipped)


def _column(name: str) -> Column:
    return RECORDS.get(name, Column(name, "number"))


def _faults(frame: pd.DataFrame, name: str, first_row: int) -> list[str]:
    return column_faults(frame, _column(name), name in REQUIRED["records"], first_row)


def _check_kinds(choice: Choice) -> None:
    for name in (choice.x, choice.y):
        if _column(name).kind in ("text", "flag"):
            raise ValueError(f"x and y must be columns of numbers, got {name!r}, which is a {_column(name).kind}")


def _check_seen(best: _Best, choice: Choice) -> None:
    for name in (choice.x, choice.y):
        if name not in best.known_columns:
            raise ValueError(f"x and y must be columns of the records, got {name!r}")
    check_weights(choice.weights, set(best.known_weights))


# The rows that stayed -----------------------------------------------------------------------------------------


def _rows_of_file(file: Path, rows: np.ndarray) -> pa.Table:
    """All columns of some rows, ascending, of a file: only the row groups that hold them are read."""
    found, end = [], 0
    with _open(file) as parquet:
        for group in range(parquet.num_row_groups):
            start, end = end, end + parquet.metadata.row_group(group).num_rows
            if np.any((rows >= start) & (rows < end)):
                for batch in parquet.iter_batches(_WIDE_BATCH_ROWS, row_groups=[group]):
                    here = rows[(rows >= start) & (rows < start + batch.num_rows)]
                    found.append(batch.take(pa.array(here - start)))
                    start += batch.num_rows
    return pa.Table.from_batches(found)


def _in_order(frame: pd.DataFrame, order: np.ndarray, best: _Best) -> pd.DataFrame:
    """The rows, which lie by file and row, in the order of the selection, with what was seen as attributes."""
    frame = frame.iloc[np.argsort(order)].reset_index(drop=True)
    frame.attrs.update(best.counts())
    return frame
