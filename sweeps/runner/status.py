"""How far a sweep is, told by its folder and nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..paths import SweepPaths
from .run_tables import read_run_tables

if TYPE_CHECKING:
    from ..specs.config import RunConfig
    from .record_rows import RecordRows

__all__ = ["FINISHED", "SweepStatus", "run_status", "run_statuses", "sweep_status"]

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
    from .record_rows import RecordRows

    run_ids = list(run_ids)
    status, rows_of = SweepStatus(), RecordRows(paths, run_ids).rows
    for run_id in run_ids:
        rows = rows_of.get(run_id, [])
        found = rows[-1]["status"] if rows else "waiting"
        status.statuses[found] = status.statuses.get(found, 0) + 1
        for failure in dict.fromkeys(row["failure"] for row in rows if row["failure"]):
            status.failures[failure] = status.failures.get(failure, 0) + 1
    return status


def run_status(config: "RunConfig", paths: SweepPaths) -> str | None:
    """None where there is no record, or where the run was to keep its model and did not: it is trained again."""
    ((_, found),) = read_run_tables(paths, "records", [config.run_id], ["status"])
    statuses = [] if isinstance(found, str) or not found.num_columns else found["status"].to_pylist()
    return _kept(statuses[-1] if statuses else None, config, paths)


def run_statuses(configs: Iterable["RunConfig"], paths: SweepPaths, records: "RecordRows") -> dict[str, str | None]:
    """`run_status` of many runs, by run id, from one look at their records."""
    found = ((config, records.rows.get(config.run_id)) for config in configs)
    return {config.run_id: _kept(rows[-1]["status"] if rows else None, config, paths) for config, rows in found}


def _kept(status: str | None, config: "RunConfig", paths: SweepPaths) -> str | None:
    lacks = status == "ok" and config.keep_model and not paths.run(config.run_id).model.exists()
    return None if lacks else status
