"""Run a sweep: what is not finished in its folder is trained, the same command resumes it."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout
from rich.console import Console

from ..paths import SweepPaths, write_text
from ..specs.config import RunConfig
from ..specs.faults import SpecError
from ..specs.grid import Plan, Trunk
from ..stopping import held_signals
from .changes import ChangedSweepError, code_changes, spec_changes
from .frozen_code import code_files, code_hash, drop_old_code, freeze_code
from .frozen_plan import FrozenPlan, installed_versions, read_frozen_plan, write_frozen_plan
from .record_rows import RecordRows
from .status import FINISHED, SweepStatus, run_statuses, sweep_status
from .training_order import in_order

if TYPE_CHECKING:
    from ..engines import Engine, Resources

__all__ = ["SweepBusyError", "pending_trunks", "run_sweep"]


class SweepBusyError(RuntimeError):
    """Another process runs this sweep's folder."""


def run_sweep(
    plan: Plan,
    spec_text: str | None,
    folder: Path,
    *,
    engine: str = "local",
    accept_changes: bool = False,
    keep_going: bool = False,
    only: Collection[str] | None = None,
    afterwards: Callable[[SweepStatus], None] | None = None,
    **options: Any,
) -> SweepStatus:
    """Train every run of the plan that the folder does not hold, with progress on the terminal.

    Args:
        plan: from `make_plan`.
        spec_text: the spec as it was written, kept in the folder; None leaves the one that is there.
        folder: the sweep's folder, made where there is none.
        engine: of `sweeps.engines.ENGINES`.
        accept_changes: go on in a folder whose runs were trained for another spec, by other code or libraries.
        keep_going: do not stop where trainings fail with the same error again and again.
        only: the run ids to train, of those that are not finished; None is all.
        afterwards: called with the folder still locked.
        options: fields of `EngineOptions`: devices, slots, slots_per_device, address, job_options.

    Raises:
        SweepBusyError: another process runs this folder.
        SpecError: data that are missing or damaged, a model that cannot be built, an engine that cannot be had.
        ChangedSweepError: the spec, the code or a library changed.
    """
    paths = SweepPaths(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(paths):
        _remove_left_overs(paths)
        _run(plan, spec_text, paths, only, accept_changes, keep_going, engine, options)
        status = sweep_status([config.run_id for config in plan.configs], paths)
        if status.all_finished and (last := _last_plan(paths)):
            drop_old_code(folder, last.code)
        if afterwards:
            afterwards(status)
    return status


@contextmanager
def _locked(paths: SweepPaths) -> Iterator[None]:
    """One process a folder; the lock falls with the process, however it ends."""
    lock = FileLock(paths.lock, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise SweepBusyError(f"{paths.folder} is being run by another process; wait for it or stop it") from None
    try:
        yield
    finally:
        lock.release()


def _remove_left_overs(paths: SweepPaths) -> None:
    """Half-written files of a runner that was killed; the folder's lock is ours."""
    for path in paths.folder.glob("*.tmp"):
        path.unlink(missing_ok=True)


def pending_trunks(plan: Plan, paths: SweepPaths, only: Collection[str] | None = None) -> list[Trunk]:
    """What is left to train: trunks with their unfinished runs only.

    Args:
        only: no other run ids than these.
    """
    return _pending(plan, run_statuses(plan.configs, paths, RecordRows(paths)), only)


def _pending(plan: Plan, statuses: Mapping[str, str | None], only: Collection[str] | None) -> list[Trunk]:
    left = []
    for trunk in plan.trunks:
        asked = (config for config in trunk.configs if only is None or config.run_id in only)
        left.append(Trunk(tuple(config for config in asked if statuses[config.run_id] not in FINISHED)))
    return [trunk for trunk in left if trunk.configs]


def _run(
    plan: Plan,
    spec_text: str | None,
    paths: SweepPaths,
    only: Collection[str] | None,
    accept_changes: bool,
    keep_going: bool,
    engine: str,
    options: Mapping[str, Any],
) -> None:
    """Nothing is written before all has been checked that takes no long time."""
    old, records = _last_plan(paths), RecordRows(paths)
    statuses = run_statuses(plan.configs, paths, records)
    trunks = _pending(plan, statuses, only)
    files = code_files() if trunks else {}
    code = code_hash(files) if trunks else old and old.code
    versions = installed_versions() if trunks or old is None else old.versions
    if old and (changes := _changes(old, plan, trunks, files, paths, records)):
        if not accept_changes:
            raise ChangedSweepError(changes)
        Console().print("\n".join(changes), markup=False, highlight=False, soft_wrap=True)
    flops = old.flops_per_image if old else {}
    if trunks:
        same_code = old is not None and old.code == code  # what is trained already keeps the FLOPs that it took
        with held_signals():  # an error raised inside PyTorch's own calls would end the process with a dump
            flops |= _count_flops([trunk for trunk in trunks if not same_code or trunk.trunk_id not in flops])
        trunks = _in_order(trunks, flops, plan.order, paths)
        engines = _engines(trunks, engine, paths.folder, paths.folder / "code" / str(code), options)
        _check_data(trunks)
        freeze_code(paths.folder, files)
    if spec_text is not None:
        write_text(paths.spec, spec_text)
    if trunks or old is None or _asked_for(old) != (plan.name, plan.order, {config.run_id for config in plan.configs}):
        write_frozen_plan(plan, paths, code, flops, versions)
    if trunks:
        _decode_data(trunks)
        _train(plan, trunks, paths, [flops[trunk.trunk_id] for trunk in trunks], engines, keep_going, statuses)


def _last_plan(paths: SweepPaths) -> FrozenPlan | None:
    """None where there is none that can be read: of a new folder, or of one that an older version wrote."""
    try:
        return read_frozen_plan(paths)
    except OSError:
        return None


def _asked_for(old: FrozenPlan) -> tuple[str, str, set[str]]:
    return old.name, old.order, set(old.run_ids)


def _changes(
    old: FrozenPlan,
    plan: Plan,
    trunks: Sequence[Trunk],
    files: Mapping[str, bytes],
    paths: SweepPaths,
    records: RecordRows,
) -> list[str]:
    """What changed that matters to runs that are trained, or half trained."""
    found = code_changes(old, files, code_hash(files), installed_versions(), paths) if trunks else []
    if not found and set(old.run_ids) == {config.run_id for config in plan.configs}:
        return []
    rows = records.rows
    finished = {run_id for run_id in old.run_ids if run_id in rows and rows[run_id][-1]["status"] in FINISHED}
    half_done = _num_begun(old, paths)
    lines = spec_changes(old, plan, finished) if finished else []
    if found and (finished or half_done):
        num_left = sum(len(trunk.configs) for trunk in trunks)
        lines += [*found, f"  {len(finished)} runs are trained as it was; {num_left} would be as it is now,"
                  f" of which {half_done} trainings have begun"]  # fmt: skip
    return lines


def _num_begun(old: FrozenPlan, paths: SweepPaths) -> int:
    """Trainings that left a checkpoint, which goes when they end."""
    return sum(any(paths.trunk(name).folder.glob("*.pt")) for name in {run.trunk_id for run in old.runs})


def _count_flops(trunks: Sequence[Trunk]) -> dict[str, float]:
    """Training FLOPs of one image, by trunk id."""
    # Imported here: torch takes seconds, and a sweep that is finished or whose FLOPs are known needs none of it.
    from .cost import run_cost

    try:
        return {trunk.trunk_id: run_cost(trunk.configs[0]).training_flops for trunk in trunks}
    except ValueError as error:
        raise SpecError(str(error)) from error


def _in_order(trunks: Sequence[Trunk], flops: Mapping[str, float], order: str, paths: SweepPaths) -> list[Trunk]:
    """Those that failed before come last, so that they do not stop the sweep before the others."""
    failed = {t.trunk_id for t in trunks if any(paths.run(config.run_id).records.exists() for config in t.configs)}
    return in_order(trunks, flops, order, last=failed)


def _engines(
    trunks: Sequence[Trunk], name: str, folder: Path, code: Path, options: Mapping[str, Any]
) -> "dict[Resources, Engine]":
    """One for all trainings that take the same."""
    from ..engines import EngineOptions, make_engine
    from .driver import resources_of

    try:
        return {
            resources: make_engine(name, EngineOptions(folder, code, resources, **options))
            for resources in dict.fromkeys(resources_of(trunk) for trunk in trunks)
        }
    except (ValueError, ModuleNotFoundError) as error:
        raise SpecError(str(error)) from error


def _check_data(trunks: Sequence[Trunk]) -> None:
    """Tell what is missing before the first step, not in every run."""
    from ..data.prepare import missing_data  # decoding takes torch

    try:
        if missing := missing_data(_configs(trunks)):
            raise SpecError("\n".join(missing))
    except ValueError as error:
        raise SpecError(str(error)) from error


def _decode_data(trunks: Sequence[Trunk]) -> None:
    """Tell what is damaged before the first step; the first time it takes long."""
    from ..data.prepare import prepare_data

    try:
        prepare_data(_configs(trunks))
    except ValueError as error:
        raise SpecError(str(error)) from error


def _configs(trunks: Sequence[Trunk]) -> list[RunConfig]:
    return [config for trunk in trunks for config in trunk.configs]


def _train(
    plan: Plan,
    trunks: Sequence[Trunk],
    paths: SweepPaths,
    flops: Sequence[float],
    engines: "Mapping[Resources, Engine]",
    keep_going: bool,
    statuses: Mapping[str, str | None],
) -> None:
    from .cost import finetune_cost
    from .driver import Driver
    from .progress import SweepProgress

    num_finetuned = [sum(finetune_cost(config).num_images for config in trunk.configs) for trunk in trunks]
    num_finished = sum(status in FINISHED for status in statuses.values())
    with SweepProgress(trunks, flops, num_finetuned, num_finished, len(statuses)) as progress:
        Driver(paths, plan.name, progress, keep_going).train(trunks, engines)
