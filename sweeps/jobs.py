"""One job: train a trunk's unfinished runs and write each one's records the moment it is evaluated."""

import json
import platform
import socket
import subprocess
import time
import traceback
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from scaling.records import write_records

from .augment import describe_augment
from .class_map import num_outputs
from .config import RunConfig
from .cost import RunCost, run_cost
from .data.datasets import task_name
from .data.duplicates import duplicate_rows, upstream_duplicates
from .data.training import load_training_data
from .grid import Trunk
from .micro_batches import num_parts
from .parallel import train_on_devices
from .paths import RunPaths, SweepPaths, write_json, write_text
from .saved_model import save_model
from .train import FinishedRun

__all__ = ["run_trunk", "write_failure"]

_RECIPE_COLUMNS = [
    "beta1",
    "beta2",
    "weight_decay_rule",
    "grad_clip",
    "rand_augment_ops",
    "rand_augment_magnitude",
    "mixup",
    "cutmix",
    "erase",
    "repeats",
    "head_bias",
    "ema_decay",
    "attack_radius",
    "contrastive_temperature",
]
_REPORT_SECONDS = 0.25
_MAX_FAILURE = 500  # characters of a failure's one line


def run_trunk(
    trunk: Trunk, sweep: SweepPaths, name: str, devices: tuple[str, ...], report: Callable[[int, int], None]
) -> dict[str, int]:
    """Train what is unfinished of a trunk; returns how many runs ended with each status.

    `report` is told of the images trained on and the runs finished since it was last told.
    An error ends this trunk only: its runs get a record with status "failed" or "oom" and a traceback in their folder.
    """
    device = devices[0]
    statuses: dict[str, int] = {}
    pending = {config.run_id: config for config in trunk.configs}
    for run_id, config in pending.items():
        write_json(sweep.run(run_id).config, config.model_dump(mode="json"))
    try:
        config = trunk.configs[0]
        torch.set_num_threads(config.threads)
        target = torch.device(device)
        if target.type == "cuda":
            torch.cuda.reset_peak_memory_stats(target)
        cost = run_cost(config)  # before training: a teacher that goes meanwhile costs nothing
        data = load_training_data(config, target)
        paths = sweep.trunk(trunk.trunk_id)
        for finished in train_on_devices(trunk.configs, data, paths, devices, _throttled(report)):
            run_paths = sweep.run(finished.config.run_id)
            status = _write_finished(finished, trunk, run_paths, name, device, cost)
            statuses[status] = statuses.get(status, 0) + 1
            del pending[finished.config.run_id]
            report(0, 1)
        paths.checkpoint.unlink(missing_ok=True)
    # Whatever a model, its data or the device can raise must not end the other runs; it is kept, not swallowed.
    except Exception as error:
        status = "oom" if isinstance(error, torch.OutOfMemoryError | MemoryError) else "failed"
        for config in pending.values():
            write_failure(sweep.run(config.run_id), config, name, status, _one_line(error), traceback.format_exc())
        statuses[status] = len(pending)
    return statuses


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


def write_failure(paths: RunPaths, config: RunConfig, name: str, status: str, failure: str, trace: str) -> None:
    """A record of a run that has no result, and its traceback."""
    write_text(paths.traceback, trace)
    row = {**_config_columns(config, name), "step": 0, "weights": "last", "status": status, "failure": failure}
    write_records(pd.DataFrame([row | {"upstream_error": None}]), paths.records)


def _write_finished(finished: FinishedRun, trunk: Trunk, paths: RunPaths, name: str, device: str, cost: RunCost) -> str:
    config = finished.config
    # By its schedule, not by which of its runs are left to train: a record does not depend on that.
    shared = trunk.may_branch
    common = {
        **_config_columns(config, name),
        **config.model.shape_columns(config.image_size),
        **vars(cost.model),
        "flops_rule": cost.rule,
        **_provenance(device),
        "num_micro_batches": num_parts(config),
        "trunk_id": trunk.trunk_id if shared else None,
        "branch_step": config.branch_step if shared else None,
        "upstream_error": None,
    }
    rows = [common | _model_columns(found, config, cost, paths) for found in finished.evaluations]
    write_text(paths.metrics, "".join(json.dumps(line) + "\n" for line in finished.log))
    paths.traceback.unlink(missing_ok=True)
    _write_faults(finished, paths)
    if evals := [key | row for key, found in _by_key(finished) for row in found["evals"]]:
        write_records(pd.DataFrame(evals), paths.evals, "evals")
    if measurements := _measurements(finished, paths):
        write_records(pd.DataFrame(measurements), paths.measurements, "measurements")
    if config.keep_model and rows[-1]["status"] == "ok":
        save_model(paths.model, finished.model, config)
    write_records(pd.DataFrame(rows), paths.records)  # last: a folder with records is a finished run
    return rows[-1]["status"]


def _model_columns(evaluation: dict[str, Any], config: RunConfig, cost: RunCost, paths: RunPaths) -> dict[str, Any]:
    """What a record has of one evaluation, and which measurements it lacks."""
    images_seen = evaluation["step"] * config.recipe.batch_size
    lacking = sorted(evaluation.get("faults", {}))
    failure = {"failure": f"no {', '.join(lacking)}: see {paths.traceback.name}"} if lacking else {}
    model = {name: evaluation[name] for name in ("step", "weights")}
    compute = {"images_seen": images_seen, "compute_flops": float(cost.training_flops) * images_seen}
    return model | compute | evaluation["columns"] | failure


def _by_key(finished: FinishedRun) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each evaluation with the key of its model."""
    for found in finished.evaluations:
        yield {"run_id": finished.config.run_id, "step": found["step"], "weights": found["weights"]}, found


def _measurements(finished: FinishedRun, paths: RunPaths) -> list[dict[str, Any]]:
    """What was measured of each model, and the near-duplicates that were left out of its images."""
    config, rows, key = finished.config, [], {}
    for key, found in _by_key(finished):
        rows += [key | row for row in found.get("measurements", [])]
    if config.upstream.remove_duplicates:
        upstream = config.upstream
        found = upstream_duplicates(upstream.dataset, upstream.folder, upstream.num_train, config.tasks)
        write_json(paths.duplicates, found.report)
        rows += [key | row for row in duplicate_rows(found)]  # of the last model
    return rows


def _write_faults(finished: FinishedRun, paths: RunPaths) -> None:
    """Tracebacks of measurements that raised; the run itself is whole."""
    faults = [f"{name}:\n{trace}" for e in finished.evaluations for name, trace in e.get("faults", {}).items()]
    if faults:
        write_text(paths.traceback, "\n".join(dict.fromkeys(faults)))


def _config_columns(config: RunConfig, name: str) -> dict[str, Any]:
    return {
        "run_id": config.run_id,
        "source": f"sweep:{name}",
        "upstream_dataset": task_name(config.upstream.dataset, config.upstream.folder),
        "eval_split": "test",
        "num_classes": _num_classes(config),
        "image_size": config.image_size,
        "train_examples": config.train_examples if config.steps else None,
        "model_family": config.model.family,
        "model_variant": config.model.variant,
        "planned_steps": config.steps,
        **(_recipe_columns(config) if config.steps else {}),
        "num_threads": config.threads,
        "numerics_version": config.numerics_version,
    }


def _num_classes(config: RunConfig) -> int:
    """Classes that an answer is chosen from: with a class map they are all outputs of the model."""
    if config.evaluate.class_map is None:
        return config.num_classes
    return num_outputs(config.model, config.image_size, config.num_classes)  # type: ignore[arg-type]  # frozen


def _recipe_columns(config: RunConfig) -> dict[str, Any]:
    """How a model is trained; of one that is only evaluated nobody knows."""
    recipe, schedule = config.recipe, config.schedule
    return {
        "batch_size": recipe.batch_size,
        "recipe": recipe.name,
        "optimizer": recipe.optimizer,
        "lr": recipe.lr,
        "weight_decay": recipe.weight_decay,
        "head_lr_multiplier": recipe.head_lr_multiplier,
        "head_weight_decay": recipe.head_weight_decay,
        "schedule": schedule.kind,
        "warmup_steps": schedule.warmup_steps,
        "cooldown_steps": schedule.cooldown_steps,
        "augment": describe_augment(recipe),
        "label_loss": recipe.label_loss,
        "label_smoothing": recipe.label_smoothing,
        "drop_path": recipe.drop_path,
        "teacher": recipe.teacher,
        "sam_rho": recipe.sam_rho,
        **{name: getattr(recipe, name) for name in _RECIPE_COLUMNS},
        "attack_steps": recipe.attack_steps if recipe.attack_radius else None,
        "seed": config.seed,
    }


def _provenance(device: str) -> dict[str, Any]:
    on_gpu = device.startswith("cuda")
    return {
        "device": torch.cuda.get_device_name(device) if on_gpu else platform.processor() or platform.machine(),
        "host": socket.gethostname(),
        "peak_memory_bytes": torch.cuda.max_memory_allocated(device) if on_gpu else None,
        "torch_version": torch.__version__,
        "git_commit": _git_commit(),
    }


@cache
def _git_commit() -> str | None:
    """The commit of this code, or None where it does not lie in a checkout of its own."""
    root = Path(__file__).parents[1]
    command = ["git", "-C", str(root), "rev-parse", "--show-toplevel", "HEAD"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer[1] if Path(answer[0]).resolve() == root.resolve() else None


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:_MAX_FAILURE]
