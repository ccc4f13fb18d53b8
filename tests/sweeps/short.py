"""A sweep cut short: one run of every kind in its plan, for a few steps on few images, the whole way to its records."""

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from sweeps.data.datasets import DATASETS, find_dataset, folder_versions
from sweeps.specs.config import RunConfig
from sweeps.specs.grid import Trunk

__all__ = ["kind_of", "one_of_each_kind", "shortened", "write_arrays"]

_NUM_TRAIN, _NUM_VAL = 200, 20  # images
_FEW, _FEW_TASKS, _FEW_SHOTS, _FEW_RATES, _EVALUATED_SIZE = 8, 2, 2, 2, 32


def one_of_each_kind(configs: list[RunConfig], folder: Path, steps: int = 3) -> list[Trunk]:
    """Of each kind of run the one with the narrowest model, cut short."""
    kinds: dict[str, RunConfig] = {}
    for config in sorted(configs, key=lambda config: getattr(config.model, "width", 0)):
        kinds.setdefault(kind_of(config), config)
    return [Trunk((shortened(config, folder, steps),)) for config in kinds.values()]


def kind_of(config: RunConfig) -> str:
    """The same for runs that differ in the shape of a family's model and in numbers: sizes, rates, lengths, seeds."""
    values = config.model_dump(mode="json") | {"model": config.model.family}
    values["downstream"]["layers"] = len(config.downstream.layers) > 1  # which they are is of the shape too
    return repr(_without_numbers(values))


def _without_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        found = [_without_numbers(item) for item in value]
        return "numbers" if set(map(str, found)) == {"number"} else found
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else value


def shortened(config: RunConfig, folder: Path, steps: int = 3) -> RunConfig:
    """The run with few steps, and few images of all that it trains on and is asked about.

    Sets of files are stood in for by arrays in `folder`, with as many classes and under the same name.
    """
    recipe, evaluate, downstream = config.recipe, config.evaluate, config.downstream
    steps = min(config.steps, steps)
    ends = {name: min(1, getattr(config.schedule, name)) for name in ("warmup_steps", "cooldown_steps")}
    every = evaluate.every_steps and min(evaluate.every_steps, max(1, steps - 1))
    return _with(
        config,
        upstream=_few_images(config, folder),
        train_examples=min(config.train_examples, _NUM_TRAIN - _NUM_VAL),
        steps=steps,
        recipe=_with(recipe, batch_size=min(recipe.batch_size, _FEW)),
        schedule=_with(config.schedule, **ends),
        evaluate=_with(evaluate, every_steps=every, max_upstream=_FEW, max_train=min(evaluate.max_train, _FEW)),
        downstream=_with(
            downstream, **_few_tasks(downstream, folder), shots=downstream.shots[:_FEW_SHOTS], draws=1, max_eval=_FEW
        ),
        measure=_with(config.measure, **_few_of_each(config.measure)),
        **_short_finetuning(config, folder),
    )


def _few_of_each(measure: BaseModel) -> dict[str, int]:
    """Few images, and of steps and grid points 3: an odd number."""
    counts = {name: value for name, value in measure if isinstance(value, int)}
    return {name: min(value, _FEW if name.endswith("examples") else 3) for name, value in counts.items()}


def _with(section: Any, **fields: Any) -> Any:
    return section.model_copy(update=fields)


def _few_images(config: RunConfig, folder: Path) -> BaseModel:
    upstream = config.upstream
    dataset = find_dataset(upstream.dataset, upstream.folder)
    size = upstream.image_size if config.model.trainable else _EVALUATED_SIZE
    upstream = _with(upstream, image_size=size, remove_duplicates=False, num_duplicates=0)
    if not dataset.generated and upstream.dataset in DATASETS:
        path = str(write_arrays(folder, upstream.dataset))
        upstream = _with(upstream, dataset="arrays", folder=path, version=find_dataset("arrays", path).version)
    elif not dataset.generated:
        return _with(upstream, num_val=min(_NUM_VAL, upstream.num_val))  # a folder that is small as it is
    return _with(upstream, num_train=_NUM_TRAIN, num_val=min(_NUM_VAL, upstream.num_val))


def _few_tasks(section: Any, folder: Path) -> dict[str, Any]:
    tasks = tuple(
        task if ":" in task or find_dataset(task).generated else f"arrays:{write_arrays(folder, task)}"
        for task in section.tasks[:_FEW_TASKS]
    )
    return {"tasks": tasks, "folder_versions": folder_versions(tasks)}


def _short_finetuning(config: RunConfig, folder: Path) -> dict[str, Any]:
    finetune = config.finetune
    if not finetune.tasks:
        return {}
    few = _few_tasks(finetune, folder)
    examples = finetune.examples if finetune.examples == "all" else 5 * _FEW
    rates = finetune.lr[:_FEW_RATES]
    return {
        "finetune": _with(finetune, **few, examples=examples, lr=rates, steps=2, batch_size=_FEW, draws=1),
    }


def write_arrays(folder: Path, name: str) -> Path:
    """Random images in place of a data set, 2 a class or `_NUM_TRAIN`, in a file of its name."""
    path, dataset = folder / f"{name}.npz", DATASETS[name]
    if not path.exists():
        rng = np.random.default_rng(0)
        count = max(_NUM_TRAIN, 2 * dataset.num_classes)
        images = rng.integers(0, 256, (count, dataset.image_size, dataset.image_size), dtype=np.uint8)
        labels = np.arange(count) % dataset.num_classes
        np.savez(path, x_train=images, y_train=labels, x_test=images[:50], y_test=labels[:50])
    return path
