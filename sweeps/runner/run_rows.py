"""The rows of a finished run: its records, its downstream evaluations and its measurements."""

import platform
import socket
from collections.abc import Iterator
from typing import Any

import torch

from ..augment import describe_augment
from ..data.datasets import task_name
from ..data.duplicates import Duplicates, duplicate_rows
from ..specs.class_map import num_outputs
from ..specs.config import RunConfig
from ..specs.grid import Trunk
from ..training.train import FinishedRun
from .cost import RunCost
from .frozen_code import git_commit

__all__ = ["config_columns", "eval_rows", "measurement_rows", "record_rows"]

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


def record_rows(finished: FinishedRun, trunk: Trunk, name: str, device: str, cost: RunCost) -> list[dict[str, Any]]:
    """One an evaluated model."""
    config = finished.config
    # By its schedule, not by which of its runs are left to train: a record does not depend on that.
    shared = trunk.may_branch
    common = {
        **config_columns(config, name),
        **config.model.shape_columns(config.image_size),
        **vars(cost.model),
        "flops_rule": cost.rule,
        **_provenance(device),
        "num_micro_batches": finished.num_micro_batches,
        "trunk_id": trunk.trunk_id if shared else None,
        "branch_step": config.branch_step if shared else None,
        "upstream_error": None,
    }
    return [common | _model_columns(found, config, cost) for found in finished.evaluations]


def eval_rows(finished: FinishedRun) -> list[dict[str, Any]]:
    """One a model, task, method and draw."""
    return [key | row for key, found in _by_key(finished) for row in found["evals"]]


def measurement_rows(finished: FinishedRun, duplicates: Duplicates | None) -> list[dict[str, Any]]:
    """What was measured of each model, and beside the last one the near-duplicates that were left out of its images."""
    rows, key = [], {}
    for key, found in _by_key(finished):
        rows += [key | row for row in found.get("measurements", [])]
    return rows + [key | row for row in (duplicate_rows(duplicates) if duplicates else [])]


def _by_key(finished: FinishedRun) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each evaluation with the key of its model."""
    for found in finished.evaluations:
        yield {"run_id": finished.config.run_id, "step": found["step"], "weights": found["weights"]}, found


def _model_columns(evaluation: dict[str, Any], config: RunConfig, cost: RunCost) -> dict[str, Any]:
    """What a record has of one evaluation, and which measurements it lacks."""
    images_seen = evaluation["step"] * config.recipe.batch_size
    lacking = sorted(evaluation.get("faults", {}))
    failure = {"failure": f"no {', '.join(lacking)}: see traceback.txt"} if lacking else {}
    model = {name: evaluation[name] for name in ("step", "weights")}
    compute = {"images_seen": images_seen, "compute_flops": float(cost.training_flops) * images_seen}
    return model | compute | evaluation["columns"] | failure


def config_columns(config: RunConfig, name: str) -> dict[str, Any]:
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
        "num_devices": config.devices_per_run,
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
        "torch_version": str(torch.__version__),  # torch's is a class of its own
        "git_commit": git_commit(),
    }
