"""What the records of a sweep say of each run, kept up to date by reading the files that have changed."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from .paths import SweepPaths
from .run_tables import Stamp, file_stamps, read_collected, read_run_tables

__all__ = ["RecordRows"]

_COLUMNS = (
    "run_id", "step", "weights", "status", "failure", "diverged_step", "model_family", "model_variant", "lr",
    "compute_flops", "upstream_error",
)  # fmt: skip


class RecordRows:
    """The rows of each run folder's records, in few columns. It reads when it is made, and then at each `look`.

    Attributes:
        rows: by run folder; a column that a file lacks is None.
        damaged: by run folder, one line why its records cannot be read.
        stamps: of the files as they were read.
    """

    def __init__(self, paths: SweepPaths):
        self._paths = paths
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.damaged: dict[str, str] = {}
        self.stamps: dict[str, Stamp] = {}
        self._take_collected()
        self.look()

    def look(self) -> list[str]:
        """Read what has changed; returns the folders with other rows than before."""
        before, self.stamps = self.stamps, file_stamps(self._paths, "records")
        gone = [folder for folder in before if folder not in self.stamps]
        changed = [folder for folder, stamp in self.stamps.items() if before.get(folder) != stamp]
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


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    absent: Iterable[str] = [name for name in _COLUMNS if name not in table.column_names]
    return [dict.fromkeys(absent) | row for row in table.to_pylist()]
