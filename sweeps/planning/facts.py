"""What is known of a plan before it is trained, as plain numbers: what `sweeps plan` prints and gives as JSON."""

import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ..data.prepare import missing_data
from ..runner.cost import finetune_cost, run_cost
from ..specs.config import RunConfig
from ..specs.grid import Plan, Trunk
from .cuts import Cut, cut_plan, run_shares
from .disk import disk_use
from .estimate import BEGIN_SECONDS, Estimate
from .identified import compute_spreads, unidentified
from .memory import PROCESS_BYTES, training_memory

__all__ = ["device_memory", "plan_facts"]


def plan_facts(
    plan: Plan,
    num_slots: int,
    folder: Path,
    estimate: Estimate | None = None,
    max_hours: float | None = None,
    max_flops: float | None = None,
) -> dict[str, Any]:
    """Facts by name, in numbers that JSON can hold; the names are stable.

    Args:
        num_slots: runs side by side.
        folder: that the sweep's folder is to lie in.
        estimate: None leaves out what follows from the time of a step.

    Raises:
        ValueError: a model that cannot be built, or a cap on hours without an estimate.
    """
    memory = _memory(plan, num_slots)
    disk = disk_use(plan, num_slots, folder)
    warnings = [
        *unidentified(compute_spreads(plan)), *disk.lacking,
        *_too_large(memory["models"], memory["device_bytes_a_run"]),
    ]  # fmt: skip
    return {
        "name": plan.name, "order": plan.order, **_counts(plan), "flops": _flops(plan),
        "time": _time(estimate) if estimate else None, "memory": memory,
        "disk": vars(disk) | {"folder": disk.folder}, "caps": _caps(plan, estimate, num_slots, max_hours, max_flops),
        "missing": [*_missing(plan), *plan.missing], "warnings": warnings,
    }  # fmt: skip


def device_memory(num_slots: int) -> tuple[str, int]:
    """The device's type and the bytes that a run has of it: a GPU's memory or the machine's, over those that share it.

    Of several GPUs the smallest counts.
    """
    if num_gpus := torch.cuda.device_count():
        smallest = min(torch.cuda.get_device_properties(index).total_memory for index in range(num_gpus))
        return "cuda", smallest // max(1, -(-num_slots // num_gpus))
    return "cpu", os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // num_slots


def _counts(plan: Plan) -> dict[str, int]:
    num_runs = len(plan.configs)
    return {
        "num_cells": num_runs + plan.num_duplicates, "num_duplicates": plan.num_duplicates, "num_runs": num_runs,
        "num_trunks": len(plan.trunks), "num_branches": num_runs - len(plan.trunks),
        "num_steps": sum(trunk.num_steps for trunk in plan.trunks),
        "num_steps_alone": sum(config.steps for config in plan.configs),
    }  # fmt: skip


def _flops(plan: Plan) -> dict[str, float]:
    training = sum(float(run_cost(trunk.configs[0]).training_flops) * trunk.num_images for trunk in plan.trunks)
    finetuning = sum(float(finetune_cost(config).flops) for config in plan.configs)
    return {"training": training, "finetuning": finetuning, "total": training + finetuning}


def _time(estimate: Estimate) -> dict[str, Any]:
    shapes = []
    for shape, times, source in estimate.times:
        config = shape.config
        shapes.append({
            "family": config.model.family, "variant": config.model.variant, "image_size": config.image_size,
            "batch_size": config.recipe.batch_size, "num_trunks": len(shape.trunks),
            "num_runs": sum(len(trunk.configs) for trunk in shape.trunks),
            "num_steps": sum(trunk.num_steps for trunk in shape.trunks), "step_flops": shape.step_flops,
            "seconds": sum(estimate.trunk_seconds[trunk.trunk_id] for trunk in shape.trunks), "source": source,
            **{f"{name}_seconds": value for name, value in vars(times).items() if name != "scaled"},
        })  # fmt: skip
    return {
        "num_slots": estimate.num_slots, "wall_seconds": estimate.wall_seconds, "slot_seconds": estimate.slot_seconds,
        "beginning_seconds": BEGIN_SECONDS + estimate.startup_seconds, "ending_seconds": estimate.ending_seconds,
        "shapes": shapes,
    }  # fmt: skip


def _memory(plan: Plan, num_slots: int) -> dict[str, Any]:
    """Of each model at each image size the run that takes most."""
    device, num_bytes = device_memory(num_slots)
    groups: defaultdict[tuple[Any, ...], list[Trunk]] = defaultdict(list)
    for trunk in plan.trunks:
        config = trunk.configs[0]
        groups[config.model, config.image_size, config.num_classes].append(trunk)
    models = [_model(trunks, device == "cuda", num_bytes) for trunks in groups.values()]
    return {"device": device, "device_bytes_a_run": num_bytes, "process_bytes": PROCESS_BYTES, "models": models}


def _model(trunks: Sequence[Trunk], on_accelerator: bool, device_bytes: int) -> dict[str, Any]:
    distinct = {
        (c.recipe, c.precision, c.micro_batches, c.devices_per_run, c.checkpoint_activations): c
        for c in (trunk.configs[0] for trunk in trunks)
    }
    uses = {key: training_memory(config, on_accelerator) for key, config in distinct.items()}
    largest = max(uses, key=lambda key: uses[key].total)
    config, use = distinct[largest], uses[largest]
    cost = run_cost(config).model
    return {
        "family": config.model.family, "variant": config.model.variant, "image_size": config.image_size,
        "batch_size": config.recipe.batch_size, "optimizer": config.recipe.optimizer, **vars(cost),
        "num_runs": sum(len(trunk.configs) for trunk in trunks),
        "training_flops": sum(
            float(run_cost(trunk.configs[0]).training_flops) * trunk.num_images for trunk in trunks
        ),
        "num_too_large": sum(
            len(trunk.configs) for trunk in trunks if _too_much(trunk.configs[0], on_accelerator, device_bytes)
        ),
        "bytes": {name: getattr(use, name) for name in ("weights", "gradients", "optimizer", "activations", "total")},
    }  # fmt: skip


def _too_much(config: RunConfig, on_accelerator: bool, device_bytes: int) -> bool:
    return training_memory(config, on_accelerator).total + PROCESS_BYTES > device_bytes


def _too_large(models: Sequence[dict[str, Any]], device_bytes: int) -> list[str]:
    return [
        f"{m['family']} {m['variant']} at {m['image_size']} px in batches of {m['batch_size']} takes about"
        f" {m['bytes']['total'] / 2**30:.3g} GiB, and a run has {device_bytes / 2**30:.3g}:"
        f" {m['num_too_large']} run(s) will not fit"
        for m in models
        if m["num_too_large"]
    ]


def _missing(plan: Plan) -> list[str]:
    try:
        return missing_data(plan.configs)
    except ValueError as error:
        return [str(error)]


def _caps(
    plan: Plan, estimate: Estimate | None, num_slots: int, max_hours: float | None, max_flops: float | None
) -> dict[str, Any] | None:
    if max_hours is None and max_flops is None:
        return None
    if max_hours is not None and estimate is None:
        raise ValueError("max-hours: takes the time of a step, which --no-measure leaves out")
    shares = run_shares(plan, estimate.trunk_seconds if estimate else None)
    around = estimate.overhead_seconds if estimate else 0.0
    seconds = None if max_hours is None else max(0.0, max_hours * 3600 - around) * num_slots
    cut: Cut = cut_plan(shares, max_flops=max_flops, max_seconds=seconds)
    hours = None if cut.seconds is None else (around + cut.seconds / num_slots) / 3600
    return {"max_hours": max_hours, "max_flops": max_flops, **vars(cut), "hours": hours}
