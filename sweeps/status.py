"""How far a sweep is, told by its folder and nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow.parquet as pq

from .config import RunConfig
from .paths import RunPaths, SweepPaths

__all__ = ["FINISHED", "SweepStatus", "run_status", "sweep_status"]

FINISHED = ("ok", "diverged")  # a diverged run is a result; a failed one is tried again


@dataclass
class SweepStatus:
    """Runs by status, and one line for each distinct failure with how many runs had it.

    A failure is why a run has no result, or what a finished run lacks, such as a measurement, for which it is not
    trained again.
    """

    statuses: dict[str, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)

    @property
    def all_finished(self) -> bool:
        return set(self.statuses) <= set(FINISHED)


def sweep_status(run_ids: Iterable[str], paths: SweepPaths) -> SweepStatus:
    """Each run's status: "ok", "diverged", "failed", "oom", or "waiting" for one without a record."""
    status = SweepStatus()
    for run_id in run_ids:
        rows = _rows(paths.run(run_id))
        found = rows[-1]["status"] if rows else "waiting"
        status.statuses[found] = status.statuses.get(found, 0) + 1
        for failure in dict.fromkeys(row["failure"] for row in rows if row["failure"]):
            status.failures[failure] = status.failures.get(failure, 0) + 1
    return status


def run_status(config: RunConfig, paths: SweepPaths) -> str | None:
    """None where there is no record, or where the run was to keep its model and did not: it is trained again."""
    run = paths.run(config.run_id)
    rows = _rows(run)
    if rows and rows[-1]["status"] == "ok" and config.keep_model and not run.model.exists():
        return None
    return rows[-1]["status"] if rows else None


def _rows(run: RunPaths) -> list[dict[str, str]]:
    """Status and failure of a run's records; none where they cannot be read."""
    try:
        return pq.ParquetFile(run.records).read(columns=["status", "failure"]).to_pylist()
    except (OSError, ValueError):
        return []
