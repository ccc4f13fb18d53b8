"""One job: train a trunk's unfinished runs and write each one's records the moment it is evaluated."""

import json
import shutil
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from scaling.writing import write_records

from ..data.duplicates import Duplicates, upstream_duplicates
from ..data.training import load_training_data
from ..full_disk import when_there_is_room
from ..paths import RunPaths, SweepPaths, write_json, write_text
from ..specs.config import RunConfig
from ..specs.grid import Trunk
from ..training.micro_batches import num_parts, why_whole
from ..training.out_of_memory import free_memory, is_out_of_memory
from ..training.parallel import train_on_devices
from ..training.saved_model import save_model
from ..training.train import FinishedRun
from .cost import run_cost
from .locks import locked
from .run_rows import config_columns, eval_rows, measurement_rows, record_rows
from .status import FINISHED, run_status

__all__ = ["run_trunk", "write_failure"]

_REPORT_SECONDS = 0.25
_MAX_FAILURE = 500  # characters of a failure's one line
_SMALLER = 4  # times the micro-batches where memory ran out


def run_trunk(
    trunk: Trunk, sweep: SweepPaths, name: str, devices: tuple[str, ...], report: Callable[[int, int], None]
) -> dict[str, int]:
    """Train what is unfinished of a trunk; returns how many runs ended with each status.

    It waits for another process that trains the trunk, and then trains what that left. `report` is told of the images
    trained on and the runs finished since it was last told.
    An error ends this trunk only: its runs get a record with status "failed" or "oom" and a traceback in their folder.

    Raises:
        Interrupted: the process was told to stop; all that was trained is saved.
    """
    paths = sweep.trunk(trunk.trunk_id)
    with locked(paths.lock):
        pending = {c.run_id: c for c in trunk.configs if run_status(c, sweep) not in FINISHED}
        if finished := len(trunk.configs) - len(pending):
            report(0, finished)
        job = _Job(trunk, sweep, name, devices, report, pending, Counter())
        if failure := job.train():
            for config in pending.values():
                write_failure(sweep.run(config.run_id), config, name, failure.status, failure.line, failure.trace)
            job.statuses[failure.status] += len(pending)
            return dict(job.statuses)
        shutil.rmtree(paths.folder, ignore_errors=True)
        paths.lock.unlink(missing_ok=True)  # while it is held: who waits for it sees that it is gone
        return dict(job.statuses)


@dataclass(frozen=True)
class _Failure:
    """Why runs have no result, in plain text: the error itself would keep alive all that its frames hold."""

    status: str
    line: str
    trace: str


@dataclass(frozen=True)
class _Job:
    """A trunk under its lock, with the runs that are left to train and the statuses of those that are trained."""

    trunk: Trunk
    sweep: SweepPaths
    name: str
    devices: tuple[str, ...]
    report: Callable[[int, int], None]
    pending: dict[str, RunConfig]
    statuses: Counter[str]

    def train(self) -> _Failure | None:
        """Train what is left; out of memory is tried once more, with the batch in more parts."""
        for run_id, config in self.pending.items():
            _remove_left_overs(self.sweep.run(run_id).folder)
            write_json(self.sweep.run(run_id).config, config.model_dump(mode="json"), durable=False)
        failure = self._attempt()
        if failure is None or failure.status != "oom":
            return failure
        free_memory()
        config = self.trunk.configs[0]
        if reason := _why_no_smaller_parts(config):
            return replace(failure, line=f"{failure.line} (no smaller parts: {reason})")
        parts = num_parts(config, _SMALLER * config.micro_batches)
        text = f"{self.trunk.trunk_id}: out of memory; once again with {parts} micro-batches"
        print(text, file=sys.stderr, flush=True)
        return self._attempt(parts)

    def _attempt(self, num_micro_batches: int | None = None) -> _Failure | None:
        try:
            self._train(num_micro_batches)
        # Whatever a model, its data or the device can raise must not end the other runs; it is kept, not swallowed.
        except Exception as error:
            status = "oom" if is_out_of_memory(error) else "failed"
            return _Failure(status, _one_line(error), traceback.format_exc())
        return None

    def _train(self, num_micro_batches: int | None) -> None:
        if not self.pending:
            return
        configs = list(self.pending.values())
        torch.set_num_threads(configs[0].threads)
        target = torch.device(self.devices[0])
        if target.type == "cuda":
            torch.cuda.reset_peak_memory_stats(target)
        cost = run_cost(configs[0])  # before training: a teacher that goes meanwhile costs nothing
        data = load_training_data(configs[0], target)
        paths, on_step = self.sweep.trunk(self.trunk.trunk_id), _throttled(self.report)
        runs = train_on_devices(
            configs, data, paths, self.devices, on_step, run_paths=self.sweep.run, num_micro_batches=num_micro_batches
        )
        for finished in runs:
            run_id = finished.config.run_id
            rows = record_rows(finished, self.trunk, self.name, self.devices[0], cost)
            _write_finished(finished, rows, self.sweep.run(run_id))
            self.statuses[rows[-1]["status"]] += 1
            del self.pending[run_id]
            self.report(0, 1)


def _why_no_smaller_parts(config: RunConfig) -> str | None:
    """None where a batch can be trained on in more parts."""
    if num_parts(config) == num_parts(config, config.recipe.batch_size):
        return "each has one image already"
    return why_whole(config)


def _throttled(report: Callable[[int, int], None]) -> Callable[[int], None]:
    """Adds up images and passes them on a few times a second: a step can take a millisecond."""
    total, last = 0, time.monotonic()

    def add(num_images: int) -> None:
        nonlocal total, last
        total += num_images
        if time.monotonic() - last > _REPORT_SECONDS:
            report(total, 0)
            total, last = 0, time.monotonic()

    return add


def _remove_left_overs(folder: Path) -> None:
    """Half-written files of a worker that was killed; the trunk's lock is ours."""
    for path in folder.glob("*.tmp"):
        path.unlink(missing_ok=True)


def write_failure(paths: RunPaths, config: RunConfig, name: str, status: str, failure: str, trace: str) -> None:
    """A record of a run that has no result, and its traceback."""
    write_text(paths.traceback, trace)
    row = {**config_columns(config, name), "step": 0, "weights": "last", "status": status, "failure": failure}
    _write_table([row | {"upstream_error": None}], paths.records, "records")


def _write_finished(finished: FinishedRun, rows: list[dict[str, Any]], paths: RunPaths) -> None:
    write_text(paths.metrics, "".join(json.dumps(line) + "\n" for line in finished.log), durable=False)
    paths.traceback.unlink(missing_ok=True)
    _write_faults(finished, paths)
    _write_table(eval_rows(finished), paths.evals, "evals")
    duplicates = _duplicates(finished.config)
    if duplicates is not None:
        write_json(paths.duplicates, duplicates.report)
    _write_table(measurement_rows(finished, duplicates), paths.measurements, "measurements")
    if finished.config.keep_model and rows[-1]["status"] == "ok":
        save_model(paths.model, finished.model, finished.config)
    _write_table(rows, paths.records, "records")  # last: a folder with records is a finished run


def _write_table(rows: list[dict[str, Any]], path: Path, table: str) -> None:
    """A parquet file, where there are rows; waits for room on a full disk."""
    if rows:
        when_there_is_room(path.parent, partial(write_records, rows, path, table))


def _duplicates(config: RunConfig) -> Duplicates | None:
    """The near-duplicates that were left out of a run's training images."""
    upstream = config.upstream
    if not upstream.remove_duplicates:
        return None
    return upstream_duplicates(upstream.dataset, upstream.folder, upstream.num_train, config.tasks)


def _write_faults(finished: FinishedRun, paths: RunPaths) -> None:
    """Tracebacks of measurements that raised; the run itself is whole."""
    faults = [f"{name}:\n{trace}" for e in finished.evaluations for name, trace in e.get("faults", {}).items()]
    if faults:
        write_text(paths.traceback, "\n".join(dict.fromkeys(faults)))


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:_MAX_FAILURE]
