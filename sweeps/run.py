"""Run a sweep: what is not finished in its folder is trained, the same command resumes it."""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from .config import RunConfig
from .grid import Plan, Trunk
from .paths import RunPaths, SweepPaths, write_json, write_text
from .spec import SpecError

__all__ = ["SweepBusyError", "SweepStatus", "pending_trunks", "planned_runs", "run_sweep", "sweep_status"]

_FINISHED = ("ok", "diverged")  # a diverged run is a result; a failed one is tried again


class SweepBusyError(RuntimeError):
    """Another process runs this sweep's folder."""


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
        return set(self.statuses) <= set(_FINISHED)


def run_sweep(plan: Plan, spec_text: str, folder: Path, devices: list[str] | None = None) -> SweepStatus:
    """Train every run of the plan that the folder does not hold, with progress on the terminal.

    Args:
        plan: from `make_plan`.
        spec_text: the spec as it was written, kept in the folder.
        folder: the sweep's folder, made where there is none.
        devices: one a slot; None takes every GPU, else the CPU's cores over the threads a run takes.

    Raises:
        SweepBusyError: another process runs this folder.
        SpecError: data that are missing or damaged.
    """
    paths = SweepPaths(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(paths):
        write_text(paths.spec, spec_text)
        write_json(paths.plan, [config.run_id for config in plan.configs])
        if trunks := pending_trunks(plan, paths):
            _prepare([config for trunk in trunks for config in trunk.configs])
            _train(plan, trunks, paths, devices)
    return sweep_status(planned_runs(paths), paths)


def _prepare(configs: list[RunConfig]) -> None:
    """Tell what is missing or damaged before the first step, not in every run."""
    from .data.prepare import missing_data, prepare_data  # decoding takes torch

    try:
        if missing := missing_data(configs):
            raise SpecError("\n".join(missing))
        prepare_data(configs)
    except ValueError as error:
        raise SpecError(str(error)) from error


def pending_trunks(plan: Plan, paths: SweepPaths) -> list[Trunk]:
    """What is left to train: trunks with their unfinished runs only."""
    left = [Trunk(tuple(c for c in trunk.configs if _status(c, paths) not in _FINISHED)) for trunk in plan.trunks]
    return [trunk for trunk in left if trunk.configs]


def planned_runs(paths: SweepPaths) -> list[str]:
    """Ids of the runs asked for when the folder was last run; its spec's data and teachers may be gone since.

    Raises:
        FileNotFoundError: not a sweep's folder.
    """
    try:
        return json.loads(paths.plan.read_text())
    except OSError:
        raise FileNotFoundError(f"{paths.folder} is not a sweep's folder: it has no {paths.plan.name}") from None


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


def _train(plan: Plan, trunks: list[Trunk], paths: SweepPaths, devices: list[str] | None) -> None:
    # Imported here: torch takes seconds, and a sweep that is finished needs none of it.
    from .cost import finetune_cost, run_cost
    from .engines.local import LocalEngine
    from .jobs import run_trunk, write_failure
    from .progress import SweepProgress

    try:
        flops = {trunk.configs[0].model: run_cost(trunk.configs[0]).model.flops_per_image for trunk in trunks}
        trunks = sorted(
            trunks, key=lambda t: t.num_images * flops[t.configs[0].model], reverse=plan.order == "largest_first"
        )
        num_finetuned = [sum(finetune_cost(config).num_images for config in trunk.configs) for trunk in trunks]
    except ValueError as error:
        raise SpecError(str(error)) from error
    engine = LocalEngine(devices or _default_devices(plan))
    jobs = [(trunk, paths, plan.name) for trunk in trunks]
    num_runs, num_left = len(plan.configs), sum(len(trunk.configs) for trunk in trunks)
    with (
        SweepProgress(trunks, flops, num_finetuned, engine.num_slots, num_runs - num_left, num_runs) as progress,
        closing(engine.run(run_trunk, jobs)) as events,
    ):
        for event in events:
            progress.update(event)
            if event.kind == "died":
                for config in trunks[event.job].configs:
                    if _status(config, paths) not in _FINISHED:
                        with suppress(OSError):  # a full disk: the run stays waiting, and the others go on
                            write_failure(
                                paths.run(config.run_id), config, plan.name, "failed", event.value, event.value
                            )


def _default_devices(plan: Plan) -> list[str]:
    import torch

    if torch.cuda.is_available():
        return [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    threads = max(config.threads for config in plan.configs)
    # Where it can be told, the cores that this process may use, not those that the machine has.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ["cpu"] * max(1, cores // threads)


def _status(config: RunConfig, paths: SweepPaths) -> str | None:
    """None too where the run was to keep its model and did not: it is trained again."""
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


@contextmanager
def _locked(paths: SweepPaths) -> Iterator[None]:
    """One process a folder; the lock falls with the process, however it ends."""
    with open(paths.lock, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SweepBusyError(f"{paths.folder} is being run by another process; wait for it or stop it") from error
        yield
