"""A run as trackers show it: its config, its curve and its final numbers."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

from scaling.schema import RECORDS

from ..paths import RunPaths, SweepPaths
from ..runner.collect import collect
from ..runner.frozen_plan import config_fields

__all__ = ["TrackedRun", "tracked_runs"]


@dataclass(frozen=True)
class TrackedRun:
    """One run.

    Attributes:
        config: the resolved config; sections are joined to their fields by a dot.
        curve: by step, the training metrics.
        evaluations: by step, the numbers of the last weights' records.
        final: the last of these; what is no number, such as `status`, too.
        started, ended: seconds since the epoch; the start is the end less what training took.
        stamp: another one whenever the run's records are.
    """

    run_id: str
    config: dict[str, Any]
    curve: list[dict[str, float]]
    evaluations: list[tuple[int, dict[str, float]]]
    final: dict[str, Any]
    ended: float
    stamp: str

    @property
    def started(self) -> float:
        return self.ended - (self.final.get("wall_seconds") or 0.0)


def tracked_runs(paths: SweepPaths) -> Iterator[TrackedRun]:
    """The runs of a folder that have records; its tables are collected."""
    collect(paths.folder)
    rows: dict[str, list[dict[str, Any]]] = {}
    for batch in pq.ParquetFile(paths.table("records")).iter_batches():
        for row in batch.to_pylist():
            rows.setdefault(row["run_id"], []).append(row)
    for run_id, found in rows.items():
        yield _tracked(run_id, paths.run(run_id), found)


def _tracked(run_id: str, run: RunPaths, rows: list[dict[str, Any]]) -> TrackedRun:
    last = sorted((row for row in rows if row["weights"] == "last"), key=lambda row: row["step"]) or rows
    final = {name: value for name, value in last[-1].items() if value is not None and name in RECORDS}
    try:
        stat = run.records.stat()
        ended, stamp = stat.st_mtime, f"{stat.st_size} {stat.st_mtime_ns}"
    except OSError:  # the folder has another name than the run
        ended, stamp = 0.0, json.dumps(final, sort_keys=True)
    evaluations = [(row["step"], _numbers(row)) for row in last]
    return TrackedRun(run_id, _config(run), _curve(run), evaluations, final, ended, stamp)


def _numbers(row: dict[str, Any]) -> dict[str, float]:
    kinds = ("fraction", "amount", "number")
    return {
        name: float(value) for name, value in row.items()
        if name in RECORDS and RECORDS[name].kind in kinds and value is not None and math.isfinite(value)
    }  # fmt: skip


def _config(run: RunPaths) -> dict[str, Any]:
    try:
        return dict(config_fields(json.loads(run.config.read_text(encoding="utf-8"))))
    except (OSError, ValueError):
        return {}


def _curve(run: RunPaths) -> list[dict[str, float]]:
    """The lines of `metrics.jsonl` that are whole."""
    try:
        lines = run.metrics.read_text(encoding="utf-8").splitlines()
    except OSError:  # a run that failed has none
        return []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found
