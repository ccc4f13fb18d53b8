"""Run a sweep: what is not finished in its folder is trained, the same command resumes it."""

import fcntl
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from .config import RunConfig
from .frozen_plan import write_frozen_plan
from .grid import Plan, Trunk
from .paths import SweepPaths, write_text
from .spec import SpecError
from .status import FINISHED, SweepStatus, run_status, sweep_status

__all__ = ["SweepBusyError", "pending_trunks", "run_sweep"]


class SweepBusyError(RuntimeError):
    """Another process runs this sweep's folder."""


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
        write_frozen_plan(plan, paths)
        if trunks := pending_trunks(plan, paths):
            _prepare([config for trunk in trunks for config in trunk.configs])
            _train(plan, trunks, paths, devices)
    return sweep_status([config.run_id for config in plan.configs], paths)


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
    left = [Trunk(tuple(c for c in trunk.configs if run_status(c, paths) not in FINISHED)) for trunk in plan.trunks]
    return [trunk for trunk in left if trunk.configs]


def _train(plan: Plan, trunks: list[Trunk], paths: SweepPaths, devices: list[str] | None) -> None:
    # Imported here: torch takes seconds, and a sweep that is finished needs none of it.
    from .cost import finetune_cost, run_cost
    from .engines import EngineOptions, Resources, make_engine
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
    resources = Resources(threads=max(config.threads for config in plan.configs))
    engine = make_engine("local", EngineOptions(paths.folder, resources=resources, devices=devices))
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
                    if run_status(config, paths) not in FINISHED:
                        with suppress(OSError):  # a full disk: the run stays waiting, and the others go on
                            write_failure(
                                paths.run(config.run_id), config, plan.name, "failed", event.value, event.value
                            )


@contextmanager
def _locked(paths: SweepPaths) -> Iterator[None]:
    """One process a folder; the lock falls with the process, however it ends."""
    with open(paths.lock, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SweepBusyError(f"{paths.folder} is being run by another process; wait for it or stop it") from error
        yield
