"""A sweep explained: what is done, what runs, what failed and why, what diverged, how long it still takes."""

import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..paths import SweepPaths
from ..runner.frozen_plan import FrozenPlan, FrozenRun, read_frozen_plan
from ..runner.locks import is_held
from ..runner.record_rows import OtherTables, RecordRows
from ..runner.status import FINISHED
from .time_left import TimeLeft, time_left, work_of

__all__ = ["Diverged", "Failure", "Overview", "overview", "overview_of"]


@dataclass(frozen=True)
class Failure:
    """Runs that say the same of what went wrong; messages that differ in numbers only are the same.

    Attributes:
        status: "failed" or "oom", or "ok" or "diverged" where the runs are finished and lack something.
        models: how many of the runs are of each model.
        traceback: of the first of the runs; None where none was kept.
    """

    error: str
    status: str
    run_ids: tuple[str, ...]
    models: dict[str, int]
    traceback: str | None


@dataclass(frozen=True)
class Diverged:
    """A run whose loss was no number any more at a step."""

    run_id: str
    model: str
    lr: float | None
    step: int | None


@dataclass(frozen=True)
class Overview:
    """What a sweep's folder tells.

    Attributes:
        statuses: runs of the plan by status: "ok", "diverged", "running", "waiting", "failed", "oom".
        running_trunks: those that a worker trains.
        failures, lacking: of runs without a result, and of finished ones that lack something; the most frequent first.
        damaged: record files that cannot be read, each with why; their runs are waiting.
        damaged_others: evals and measurements that cannot be read, of runs that have records; each with why.
        share: of the plan's work that is finished, in `unit`; None where the plan has no run.
        flops_share: the same in FLOPs; None where they have not been counted.
        left: how much longer it takes; None where nothing runs.
        num_others: runs in the folder that the plan does not ask for.
    """

    name: str
    folder: str
    statuses: dict[str, int]
    running_trunks: tuple[str, ...]
    failures: tuple[Failure, ...]
    lacking: tuple[Failure, ...]
    diverged: tuple[Diverged, ...]
    damaged: dict[str, str]
    damaged_others: dict[str, str]
    share: float | None
    unit: str
    left: TimeLeft | None
    num_others: int

    @property
    def num_runs(self) -> int:
        return sum(self.statuses.values())

    @property
    def num_trunks_running(self) -> int:
        return len(self.running_trunks)

    @property
    def all_finished(self) -> bool:
        return set(self.statuses) <= set(FINISHED)

    @property
    def flops_share(self) -> float | None:
        return self.share if self.unit == "FLOPs" else None


def overview(paths: SweepPaths) -> Overview:
    """Of a sweep's folder.

    Raises:
        FileNotFoundError: not a sweep's folder.
    """
    return overview_of(paths, read_frozen_plan(paths), RecordRows(paths), OtherTables(paths), time.time())


def overview_of(paths: SweepPaths, plan: FrozenPlan, records: RecordRows, others: OtherTables, now: float) -> Overview:
    """Of a plan and of tables that are read already."""
    rows = {run.run_id: records.rows.get(run.run_id, []) for run in plan.runs}
    held = _held_trunks(paths, (run.trunk_id for run in plan.runs if not rows[run.run_id]))
    status = {run.run_id: _status(run, rows[run.run_id], held) for run in plan.runs}
    counts = Counter(status.values())
    flaws = _failures(paths, rows)
    share, unit, left = _progress(paths, plan.runs, status, records, now)
    return Overview(
        name=plan.name,
        folder=str(paths.folder),
        statuses={name: counts[name] for name in (*_ORDER, *(counts.keys() - {*_ORDER})) if counts[name]},
        running_trunks=tuple(sorted(held)),
        failures=tuple(flaw for flaw in flaws if flaw.status not in FINISHED),
        lacking=tuple(flaw for flaw in flaws if flaw.status in FINISHED),
        diverged=tuple(_diverged(found[-1]) for found in rows.values() if found and found[-1]["status"] == "diverged"),
        damaged={str(paths.runs / folder / "records.parquet"): why for folder, why in records.damaged.items()},
        damaged_others={
            str(paths.runs / folder / f"{table}.parquet"): why
            for (table, folder), why in others.damaged.items()
            if folder in records.rows
        },
        share=share,
        unit=unit,
        left=left if held else None,
        num_others=len((records.rows.keys() | records.damaged.keys()) - rows.keys()),
    )


_ORDER = ("ok", "diverged", "running", "waiting", "failed", "oom")


def _held_trunks(paths: SweepPaths, trunk_ids: Iterable[str]) -> set[str]:
    return {trunk_id for trunk_id in dict.fromkeys(trunk_ids) if is_held(paths.trunk(trunk_id).lock)}


def _status(run: FrozenRun, rows: list[dict[str, Any]], held: set[str]) -> str:
    if rows:
        return rows[-1]["status"]
    return "running" if run.trunk_id in held else "waiting"


def _model(row: dict[str, Any]) -> str:
    return " ".join(filter(None, (row["model_family"], row["model_variant"])))


def _diverged(row: dict[str, Any]) -> Diverged:
    return Diverged(row["run_id"], _model(row), row["lr"], row["diverged_step"])


def _failures(paths: SweepPaths, rows: dict[str, list[dict[str, Any]]]) -> list[Failure]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for found in rows.values():
        for failure in dict.fromkeys(row["failure"] for row in found if row["failure"]):
            last = found[-1] | {"failure": failure}
            groups.setdefault((last["status"], _without_numbers(failure)), []).append(last)
    return [_failure(paths, group) for group in sorted(groups.values(), key=lambda group: -len(group))]


def _without_numbers(text: str) -> str:
    """Addresses, sizes and counts differ between runs that fail for one reason."""
    return re.sub(r"0x[0-9a-fA-F]+|\d+(\.\d+)?", "#", text)


def _failure(paths: SweepPaths, group: list[dict[str, Any]]) -> Failure:
    first, models = group[0], Counter(map(_model, group))
    trace = next((file for row in group if (file := paths.run(row["run_id"]).traceback).exists()), None)
    return Failure(
        first["failure"], first["status"], tuple(row["run_id"] for row in group), dict(models.most_common()),
        None if trace is None else str(trace),
    )  # fmt: skip


def _progress(
    paths: SweepPaths, runs: Sequence[FrozenRun], status: dict[str, str], records: RecordRows, now: float
) -> tuple[float | None, str, TimeLeft]:
    work, unit = work_of(runs)
    finished = {run_id: records.finish_time(run_id) for run_id, found in status.items() if found in FINISHED}
    left = [run_id for run_id, found in status.items() if found in ("running", "waiting")]
    total = sum(work.values())
    share = sum(work[run_id] for run_id in finished) / total if total else None
    return share, unit, time_left(work, finished, left, paths.plan.stat().st_mtime, now)
