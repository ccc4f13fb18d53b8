"""Transfer by fine-tuning: all weights of a trained model learn a task from some of its images, at their size or at a
higher one.

The learning rate is chosen on a fifth of these images, with which the model is then fine-tuned anew. Images are not
augmented: what may be cropped or mirrored without a change of its label depends on the task. BatchNorm's statistics
are those of a batch in training and its running ones in evaluation, as in any training.
"""

import copy
import math
import traceback
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from timm.utils.model_ema import ModelEmaV3
from torch import nn

from ..augment.streams import rng_of
from ..data.datasets import find_dataset, task_name
from ..data.images import Images, load_images, subset
from ..data.sources import make_source
from ..models.resize import transfer_model
from ..optimizers import build_optimizer
from ..specs.config import FinetuneConfig, RecipeConfig, RunConfig, ScheduleConfig
from ..training.precision import autocast
from ..training.state import TrainingState
from ..training.step import TrainingStep
from .evaluate import evaluate_upstream

__all__ = ["Finetuned", "finetune_config", "finetune_model", "finetune_once"]

_GRAD_CLIP = 1.0
_WARMUP = 200 / 2500  # of the steps. Both of Zhai et al. 2021 on VTAB, as in google-research/scenic's config of ViT-G
_AVERAGE_WARMUP = 10  # updates: after n of them the decay is n / (n + 10), up to its value, as TensorFlow's averages
_IMAGES_SEED = 0  # images of a draw are the same for every run, so that errors on them compare


@dataclass(frozen=True)
class Finetuned:
    """Rows of `scaling`'s evals without their key, and a traceback for each task that gave none."""

    rows: list[dict[str, Any]]
    faults: dict[str, str]


def finetune_model(
    config: RunConfig, model: nn.Module, device: torch.device, on_step: Callable[[int], None] = lambda num_images: None
) -> Finetuned:
    """Fine-tune a copy of a trained model on every task and draw of a run's config; the model is left alone.

    A task that fails, for want of memory or because every learning rate diverges, leaves the others alone.

    Source: Abnar et al. 2021 (arXiv 2110.02095), appendix D.1; Zhai et al. 2019 (arXiv 1910.04867), section 3, for
    800 and 200 of 1,000 images to choose by; Dosovitskiy et al. 2020 (arXiv 2010.11929), section 4.1 and appendix B.
    """
    rows: list[dict[str, Any]] = []
    faults: dict[str, str] = {}
    for task in config.finetune.tasks:
        try:
            of_task = finetune_config(config, find_dataset(task).num_classes)
            start = transfer_model(
                config.model, model, of_task.image_size, of_task.num_classes, of_task.recipe.head_bias
            )
            rows += [_row(of_task, start, task, draw, device, on_step) for draw in range(config.finetune.draws)]
        except Exception:  # whatever a task can raise, the model is trained and its errors are known
            faults[f"finetune on {task_name(task)}"] = traceback.format_exc()
    return Finetuned(rows, faults)


def finetune_config(config: RunConfig, num_classes: int) -> RunConfig:
    """A run's fine-tuning as a run of its own; its learning rate is the least of those to choose from.

    A sigmoid loss starts from a probability of 1 / classes for each class, by the new classifier's bias.
    """
    asked = config.finetune
    recipe = {
        "optimizer": "sgd", "lr": asked.lr[0], "beta1": asked.momentum, "weight_decay": 0.0, "weight_decay_rule": "l2",
        "head_lr_multiplier": 1.0, "head_weight_decay": asked.head_weight_decay, "grad_clip": _GRAD_CLIP,
        "batch_size": asked.batch_size, "augment": "none", "label_loss": asked.loss, "label_smoothing": 0.0,
        "head_bias": -math.log(max(1, num_classes - 1)) if asked.loss == "sigmoid" else 0.0,
    }  # fmt: skip
    image_size = asked.image_size or config.image_size
    return config.model_copy(update={
        "upstream": config.upstream.model_copy(update={"image_size": image_size, "num_classes": num_classes}),
        "recipe": RecipeConfig.model_validate(recipe),
        "schedule": ScheduleConfig(kind="cosine", warmup_steps=round(_WARMUP * asked.steps), cooldown_steps=0),
        "steps": asked.steps,
    })  # fmt: skip


def _row(
    config: RunConfig, start: nn.Module, task: str, draw: int, device: torch.device, on_step: Callable[[int], None]
) -> dict[str, Any]:
    train, test = (load_images(task, split, config.image_size) for split in ("train", "test"))
    chosen, num_val = _draw(len(train.labels), config.finetune, draw)
    seeded = config.model_copy(update={"seed": int(rng_of(config.seed, draw, "finetune").integers(2**31))})
    lr = config.finetune.lr[0]
    if num_val:
        fit, val = subset(train, chosen[num_val:]), subset(train, chosen[:num_val]).read()
        lr = _best_rate(seeded, start, fit, val, device, on_step)
    error = finetune_once(seeded, start, subset(train, chosen), test, lr, device, on_step)
    if not math.isfinite(error):
        raise ValueError(f"finetune.lr: fine-tuning on {task_name(task)!r} diverges at {lr:g}")
    return {
        "task": task_name(task), "method": "finetune", "probe": None, "num_shots": None, "layer": None, "l2": None,
        "l2_rule": None, "draw": draw, "lr": lr, "error": error, "num_train": len(chosen),
        "num_eval": len(test.labels), "num_classes": config.num_classes,
    }  # fmt: skip


def _draw(num_train: int, asked: FinetuneConfig, draw: int) -> tuple[np.ndarray, int]:
    """Rows of the training images of a draw, and how many of the first of them the learning rate is chosen on."""
    order = np.random.default_rng([_IMAGES_SEED, draw]).permutation(num_train)
    return order[: asked.num_images(num_train)], asked.num_val(num_train)


def _best_rate(
    config: RunConfig, start: nn.Module, fit: Any, val: Images, device: torch.device, on_step: Callable[[int], None]
) -> float:
    """The learning rate that errs least on the held-out images, the smallest of equals."""
    errors = [finetune_once(config, start, fit, val, lr, device, on_step) for lr in config.finetune.lr]
    return config.finetune.lr[int(np.argmin(errors))]


def finetune_once(
    config: RunConfig,
    start: nn.Module,
    train: Any,
    test: Images,
    lr: float,
    device: torch.device,
    on_step: Callable[[int], None] = lambda num_images: None,
) -> float:
    """The error on `test` of a copy of `start` fine-tuned on `train`, or of its averaged weights; inf if it diverged.

    Args:
        config: from `finetune_config`; the order of the images is a function of its seed and the step.
        train: uint8 images at the config's size, `Images` or `MappedImages`.
        on_step: told how many images each step learned from, to show progress.
    """
    batch_size = min(config.recipe.batch_size, len(train.labels))
    recipe = config.recipe.model_copy(update={"lr": lr, "batch_size": batch_size})
    config = config.model_copy(update={"recipe": recipe})
    model = copy.deepcopy(start).to(device)
    if config.model.channels_last:
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    decay = config.finetune.average
    state = TrainingState(model, build_optimizer(model, recipe), None if decay is None else _Average(model, decay))
    step = TrainingStep(config, device)
    with closing(make_source(train, device=device, seed=config.seed, batch_size=batch_size)) as source:
        while state.step < config.steps:
            step(state, source.batch(state.step))
            on_step(batch_size)
    finished = state.model if state.average is None else state.average.module
    with autocast(config, device):
        found = evaluate_upstream(finished, test)  # type: ignore[arg-type]
    return found["error"] if math.isfinite(found["loss"]) else math.inf


class _Average(ModelEmaV3):
    """A moving average that forgets the weights it starts from: a decay of .999 would keep a half of them for 700
    steps."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        super().__init__(model, decay=decay, use_warmup=True, warmup_gamma=_AVERAGE_WARMUP, warmup_power=1.0)
        self.num_updates = 0

    def update(self, model: nn.Module, step: int | None = None) -> None:
        self.num_updates += 1
        super().update(model, step=self.num_updates)
