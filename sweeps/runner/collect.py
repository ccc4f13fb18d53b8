"""One records, one evals and one measurements parquet from the run folders of a sweep.

A collected table tells which files it was made from; of these only what has changed since is read again, so that
collecting after each of many runs costs little. It holds nothing that the run folders do not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scaling.reading.checks import validate
from scaling.schema import TABLES, arrow_schema
from scaling.writing import write_arrow

from ..paths import SweepPaths
from ..words import first_line
from .run_tables import Stamp, file_stamps, read_collected, read_run_tables, stamps_metadata

__all__ = ["Collected", "collect"]


_FILES_TOGETHER = 256


@dataclass
class Collected:
    """What was found in the run folders.

    Attributes:
        num_rows: of each of the three tables.
        run_ids: those that have records.
        damaged: files that were left out, each with why.
        repeated: folders that were left out, each with the folder that holds the same rows.
    """

    num_rows: dict[str, int] = field(default_factory=dict)
    run_ids: frozenset[str] = frozenset()
    damaged: dict[str, str] = field(default_factory=dict)
    repeated: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Part:
    """Rows of some folders: `folders` has one for each row."""

    rows: pa.Table
    folders: np.ndarray


def collect(folder: Path) -> Collected:
    """Write the three tables into the sweep's folder, each whole or not at all.

    Columns are taken together by name: one that only some runs have is null in the others, and of a whole number in one
    run and a real one in another both are real. Each evaluated model stands once: of folders that hold the same, as
    copies do, the one that is named by its run id counts, else the first.

    Raises:
        ValueError: the folder holds no records that can be read.
    """
    paths, found = SweepPaths(folder), Collected()
    for table in TABLES:
        rows, stamps = _collected(paths, table, found)
        if table == "records":
            if not rows.num_rows:
                raise ValueError(_nothing(paths, found))
            found.run_ids = frozenset(rows["run_id"].to_pylist())
        found.num_rows[table] = rows.num_rows
        if rows.num_rows:
            write_arrow(rows.replace_schema_metadata(stamps_metadata(stamps)), paths.table(table))
        elif read_collected(paths, table, ["run_id"])[1]:  # of runs that are gone
            paths.table(table).unlink()
    return found


def _nothing(paths: SweepPaths, found: Collected) -> str:
    if found.damaged:
        return f"no records in {paths.folder} can be read: {len(found.damaged)} damaged files"
    return f"no records in {paths.folder}: it holds no runs/*/records.parquet"


def _collected(paths: SweepPaths, table: str, found: Collected) -> tuple[pa.Table, dict[str, Stamp]]:
    """The rows of all folders, in their order, and the stamps of those that can be taken from there the next time."""
    now = file_stamps(paths, table)
    old, stamps = read_collected(paths, table)
    kept = {run_id for run_id, stamp in stamps.items() if now.get(run_id) == stamp}
    parts = _unchanged(old, kept) if kept else []
    read = _read_changed(paths, table, [name for name in now if name not in kept], found)
    joined = _joined(parts + read, table)
    rows = _sorted_once(joined, table, {name: str(paths.runs / name) for name in now}, found)
    return rows.rows, {name: now[name] for name in _of_their_own(rows)}


def _unchanged(old: pa.Table, kept: set[str]) -> list[_Part]:
    run_ids = old["run_id"].combine_chunks()
    rows = old.filter(pc.is_in(run_ids, pa.array(sorted(kept), pa.string())))  # pyright: ignore
    return [_Part(rows, _texts(rows["run_id"]))]


def _texts(column: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(column.to_pylist(), dtype=object)


def _read_changed(paths: SweepPaths, table: str, names: list[str], found: Collected) -> list[_Part]:
    """The sound files, many together; a table that breaks its rules is as bad as one that cannot be read."""

    def refuse(name: str, why: str) -> None:
        found.damaged[str(paths.runs / name / f"{table}.parquet")] = why

    parts = []
    for first in range(0, len(names), _FILES_TOGETHER):
        few = []
        for name, rows in read_run_tables(paths, table, names[first : first + _FILES_TOGETHER]):
            try:
                if isinstance(rows, str):
                    raise ValueError(rows)
                few.append(_Part(_as_in_schema(rows, table), np.full(rows.num_rows, name, dtype=object)))
            except (pa.ArrowException, ValueError) as error:
                refuse(name, first_line(error))
        valid = _joined(_valid(few, table, refuse), table)
        parts.append(_Part(valid.rows.combine_chunks(), valid.folders))  # thousands of small parts take memory
    return parts


def _as_in_schema(rows: pa.Table, table: str) -> pa.Table:
    """The schema's columns in its types and order, those that an older version did not have as nulls, then others."""
    schema = arrow_schema(table)
    if rows.schema.equals(schema):
        return rows
    missing = {name for name in schema.names if name not in rows.column_names}
    arrays = [
        pa.nulls(rows.num_rows, kind.type) if kind.name in missing else rows[kind.name].cast(kind.type)
        for kind in schema
    ]
    # What has no value in a file says nothing there.
    others = [name for name in rows.column_names if name not in schema.names and rows[name].null_count < rows.num_rows]
    return pa.table(arrays + [rows[name] for name in others], names=[*schema.names, *others])


def _valid(parts: list[_Part], table: str, refuse: Callable[[str, str], None]) -> list[_Part]:
    """Checked together, and one by one only where that fails."""
    try:
        if parts:
            validate(_joined(_first_of_copies(parts), table).rows.to_pandas(), table)
        return parts
    except ValueError:
        return list(_valid_ones(parts, table, refuse))


def _valid_ones(parts: list[_Part], table: str, refuse: Callable[[str, str], None]) -> Iterator[_Part]:
    for part in parts:
        try:
            validate(part.rows.to_pandas(), table)
            yield part
        except ValueError as error:
            refuse(part.folders[0], " ".join(str(error).split()))


def _first_of_copies(parts: list[_Part]) -> list[_Part]:
    """Without the copies of a run, whose keys would repeat."""
    return list({part.rows["run_id"][0].as_py() if part.rows.num_rows else i: part for i, part in enumerate(parts)}
                .values())  # fmt: skip


def _joined(parts: list[_Part], table: str) -> _Part:
    if not parts:
        return _Part(arrow_schema(table).empty_table(), np.empty(0, dtype=object))
    tables = _of_one_kind([part.rows for part in parts], table)
    rows = pa.concat_tables(tables, promote_options="permissive")
    return _Part(rows, np.concatenate([part.folders for part in parts]))


def _of_one_kind(tables: list[pa.Table], table: str) -> list[pa.Table]:
    """A column that is a text in some files and none in others becomes a text in all: it lies outside the schema."""
    known = arrow_schema(table)
    kinds: dict[str, set[bool]] = {}
    for schema in (rows.schema for rows in tables if not rows.schema.equals(known)):
        for column in schema:
            if column.name not in known.names:
                kinds.setdefault(column.name, set()).add(pa.types.is_string(column.type))
    mixed = [name for name, found in kinds.items() if len(found) > 1]
    return [_with_texts(rows, [name for name in mixed if name in rows.column_names]) for rows in tables]


def _with_texts(table: pa.Table, names: list[str]) -> pa.Table:
    for name in names:
        table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.string()))
    return table


def _sorted_once(joined: _Part, table: str, named: dict[str, str], found: Collected) -> _Part:
    """Each run once, from one folder, in the order of the folders."""
    run_ids = _texts(joined.rows["run_id"]) if joined.rows.num_rows else joined.folders
    holder: dict[str, str] = {}
    pairs = sorted(set(zip(run_ids.tolist(), joined.folders.tolist(), strict=True)), key=lambda p: (p[0] != p[1], p[1]))
    for run_id, name in pairs:
        if holder.setdefault(run_id, name) != name:
            found.repeated[named[name]] = named[holder[run_id]]
    mine = np.array([holder[run_id] == name for run_id, name in zip(run_ids, joined.folders, strict=True)], dtype=bool)
    places = np.flatnonzero(mine)
    order = places[np.argsort(joined.folders[places].astype(str), kind="stable")]
    return _Part(joined.rows.take(pa.array(order)), joined.folders[order])


def _of_their_own(part: _Part) -> list[str]:
    """Folders that hold rows of the run that they are named by, and of no other: their rows are found by the run id."""
    run_ids = _texts(part.rows["run_id"])
    others = set(part.folders[run_ids != part.folders].tolist())
    return [name for name in dict.fromkeys(part.folders.tolist()) if name not in others]
