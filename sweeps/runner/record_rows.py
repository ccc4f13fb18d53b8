"""What the files of a sweep's run folders say of each run, kept up to date by reading those that have changed."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

import pyarrow as pa

from ..paths import SweepPaths
from .run_tables import Stamp, file_stamps, read_collected, read_collected_stamps, read_run_tables

__all__ = ["OtherTables", "RecordRows"]

_FEW_FOLDERS = 32  # of which the files are read in less time than the collected table

_COLUMNS = (
    "run_id", "step", "weights", "status", "failure", "diverged_step", "model_family", "model_variant", "lr",
    "compute_flops", "upstream_error",
)  # fmt: skip


class RecordRows:
    """The rows of each run folder's records, in few columns. It reads when it is made, and then at each `look`.

    Args:
        folders: names of run folders; None is all.

    Attributes:
        rows: by run folder; a column that a file lacks is None.
        damaged: by run folder, one line why its records cannot be read.
        stamps: of the files as they were read.
    """

    def __init__(self, paths: SweepPaths, folders: Collection[str] | None = None):
        self._paths, self._folders = paths, folders
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.damaged: dict[str, str] = {}
        self.stamps: dict[str, Stamp] = {}
        if folders is None or len(folders) > _FEW_FOLDERS:
            self._take_collected()
        self.look()

    def look(self) -> list[str]:
        """Read what has changed; returns the folders with other rows than before."""
        before, self.stamps = self.stamps, file_stamps(self._paths, "records", self._folders)
        gone, changed = _differences(before, self.stamps)
        for folder in gone + changed:
            self.rows.pop(folder, None)
            self.damaged.pop(folder, None)
        for folder, found in read_run_tables(self._paths, "records", changed, _COLUMNS):
            self._take(folder, found)
        return gone + changed

    def finish_time(self, folder: str) -> float:
        """When the records of a run were written, in seconds since the epoch."""
        return self.stamps[folder][1] / 1e9

    def _take(self, folder: str, found: pa.Table | str) -> None:
        if isinstance(found, str) or "status" not in found.column_names or not found.num_rows:
            self.damaged[folder] = found if isinstance(found, str) else "it has no status"
        else:
            self.rows[folder] = _rows(found)

    def _take_collected(self) -> None:
        table, stamps = read_collected(self._paths, "records", _COLUMNS)
        rows = defaultdict(list)
        for row in _rows(table):
            rows[row["run_id"]].append(row)
        self.stamps = {run_id: stamp for run_id, stamp in stamps.items() if run_id in rows}
        self.rows = {run_id: rows[run_id] for run_id in self.stamps}


class OtherTables:
    """Which evals and measurements cannot be read. It reads when it is made, and then at each `look`.

    Attributes:
        damaged: by table and run folder, one line why.
    """

    def __init__(self, paths: SweepPaths):
        self._paths = paths
        self._stamps = {table: read_collected_stamps(paths, table) for table in ("evals", "measurements")}
        self.damaged: dict[tuple[str, str], str] = {}
        self.look()

    def look(self) -> None:
        """Read what has changed."""
        for table, before in self._stamps.items():
            now = self._stamps[table] = file_stamps(self._paths, table)
            gone, changed = _differences(before, now)
            for folder in gone + changed:
                self.damaged.pop((table, folder), None)
            for folder, found in read_run_tables(self._paths, table, changed):
                if isinstance(found, str):
                    self.damaged[table, folder] = found


def _differences(before: dict[str, Stamp], now: dict[str, Stamp]) -> tuple[list[str], list[str]]:
    """Folders whose file is gone, and those whose file is new or another."""
    gone = [folder for folder in before if folder not in now]
    return gone, [folder for folder, stamp in now.items() if before.get(folder) != stamp]


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    absent: Iterable[str] = [name for name in _COLUMNS if name not in table.column_names]
    return [dict.fromkeys(absent) | row for row in table.to_pylist()]
