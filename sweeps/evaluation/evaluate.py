"""What a trained model is asked: its upstream errors, and few-shot errors on the downstream tasks."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from ..data.datasets import find_dataset, task_name
from ..data.images import Images, load_images, normalise
from ..data.subsets import sample_rows
from ..specs.config import DownstreamConfig, RunConfig
from ..stopping import check_stop
from ..training.precision import autocast, precision_of
from ..training.state import TrainingState
from ..training.verdicts import best_index, is_memorised
from .features import extract_features
from .fewshot import CHOICE_PER_CLASS, evaluate_fewshot
from .speed import TimedForward

__all__ = ["Evaluator", "evaluate_downstream", "evaluate_upstream", "mark_finished", "pool_per_class", "task_images"]

_BATCH = 250  # images; what a batch changes is only the speed
_POOL_PER_CLASS = 20  # training images a class that the draws come from: Dosovitskiy et al. 2020


@dataclass(frozen=True)
class Evaluator:
    """Asks a state's models, the last weights and their average, on the images of one run."""

    config: RunConfig
    seen: Images
    val: Images
    test: Images
    device: torch.device

    def evaluate(self, state: TrainingState) -> None:
        """Append an evaluation of each of the state's models; of a diverged one only that it diverged."""
        found = {"last": self._ask(state.model)} if state.diverged_step is None else {}
        train_loss = _train_loss(state)
        losses = [found["last"].get("upstream_loss"), train_loss] if found else []
        if not all(math.isfinite(loss) for loss in losses if loss is not None):
            state.diverged_step, found = state.step, {}
        if state.diverged_step is not None:
            self._append(state, "last", {"status": "diverged", "diverged_step": state.diverged_step}, [])
            return
        if state.average is not None:
            found["ema"] = self._ask(state.average.module)  # type: ignore[arg-type]
        models = {"last": state.model, "ema": getattr(state.average, "module", None)}
        evals = {weights: self._downstream(models[weights]) for weights in found}
        for weights, columns in found.items():  # all of them or, where it is cut by a signal, none
            columns |= {"status": "ok", "train_loss": train_loss}
            columns |= {"memorised": self._memorised(state, columns)} if weights == "last" else {}
            self._append(state, weights, columns, evals[weights])

    def _append(self, state: TrainingState, weights: str, columns: dict[str, Any], evals: list[dict[str, Any]]) -> None:
        common = {
            "cooled_down": False,
            "wall_seconds": state.seconds,
            "energy_joules": state.energy_joules if state.step else None,
            "training_images_per_second": state.step * self.config.recipe.batch_size / max(state.seconds, 1e-9) or None,
            "precision": precision_of(self.config, self.device),
        }
        state.evaluations.append({"step": state.step, "weights": weights, "columns": common | columns, "evals": evals})

    def _ask(self, model: nn.Module) -> dict[str, Any]:
        is_mapped = self.config.evaluate.class_map is not None
        if not is_mapped and getattr(model, "num_classes", self.config.num_classes) != self.config.num_classes:
            return {}  # a checkpoint that tells other classes apart: it has downstream errors only
        timed = TimedForward()
        with autocast(self.config, self.device):
            test = evaluate_upstream(model, self.test, timed)
            val = evaluate_upstream(model, self.val) if len(self.val.labels) else {}
            train = evaluate_upstream(model, self.seen) if len(self.seen.labels) else {}
        return {
            **{f"upstream_{name}": value for name, value in test.items()},
            "upstream_val_error": val.get("error"),
            "upstream_num_eval": len(self.test.labels),
            "train_error": train.get("error"),
            "inference_images_per_second": timed.images_per_second,
        }

    def _memorised(self, state: TrainingState, columns: dict[str, Any]) -> bool | None:
        train, val = columns.get("train_error"), columns.get("upstream_val_error")
        if train is None or val is None:
            return None
        return is_memorised(train, [*state.val_errors, val], len(self.val.labels))

    def _downstream(self, model: nn.Module) -> list[dict[str, Any]]:
        with autocast(self.config, self.device):
            return list(evaluate_downstream(model, self.config.downstream, self.config.image_size))


def mark_finished(state: TrainingState, config: RunConfig) -> list[dict[str, Any]]:
    """The evaluations of a run that is over: the last ones are of its end, and the best of the last weights is named.

    "best" has the least error on the held-out part, the first of equals: chosen without the test images.
    """
    cooled_down = state.step == config.steps and state.diverged_step is None
    evaluations = [
        {**e, "columns": {**e["columns"], "cooled_down": cooled_down and e["step"] == state.step}}
        for e in state.evaluations
    ]
    if config.evaluate.every_steps and state.val_errors:
        last = [e for e in evaluations if e["weights"] == "last" and e["columns"]["status"] == "ok"]
        chosen = last[best_index(state.val_errors)]
        evaluations.insert(0, {**chosen, "weights": "best"})
    return evaluations


def _train_loss(state: TrainingState) -> float | None:
    if state.losses:
        return float(torch.stack(state.losses).mean())
    return state.log[-1]["loss"] if state.log else None


@torch.inference_mode()
def evaluate_upstream(
    model: nn.Module, images: Images, forward: Callable[[nn.Module, torch.Tensor], torch.Tensor] = nn.Module.__call__
) -> dict[str, float]:
    """Top-1 error, top-5 error (fractions) and cross-entropy (nats) on labelled images."""
    logits = _run(model, images, forward).float()
    labels = images.labels.to(logits.device)
    top = logits.topk(min(5, logits.shape[1]), dim=1).indices == labels[:, None]
    return {
        "error": 1 - top[:, 0].double().mean().item(),
        "top5_error": 1 - top.any(1).double().mean().item(),
        "loss": F.cross_entropy(logits.double(), labels).item(),
    }


def evaluate_downstream(model: nn.Module, config: DownstreamConfig, image_size: int) -> Iterator[dict[str, Any]]:
    """Rows of `scaling`'s evals, without their key, for every task, layer, draw, number of shots and probe."""
    for task in config.tasks:
        check_stop()
        train, test = task_images(task, image_size, config)
        num_classes = find_dataset(task).num_classes
        of_train, of_test = (extract_features(model, images, config.layers) for images in (train, test))
        for layer in config.layers:
            check_stop()
            results = evaluate_fewshot(
                (of_train[layer], train.labels.numpy()), (of_test[layer], test.labels.numpy()),
                num_classes=num_classes, shots=config.shots, num_draws=config.draws, probes=config.probes,
                l2_rule=config.l2_rule,
            )  # fmt: skip
            for result in results:
                yield {
                    "task": task_name(task), "method": "fewshot", "layer": layer, "num_eval": len(test.labels),
                    "num_classes": num_classes, **vars(result),
                }  # fmt: skip


def pool_per_class(config: DownstreamConfig) -> int:
    """Training images a class that the draws come from."""
    return max(_POOL_PER_CLASS, max(config.shots) + CHOICE_PER_CLASS)


def task_images(task: str, image_size: int, config: DownstreamConfig) -> tuple[Images, Images]:
    """The pool of training images, the first of each class, and the test images."""
    train = load_images(task, "train", image_size)
    test = load_images(task, "test", image_size)
    per_class = pool_per_class(config)
    labels = train.labels.numpy()
    pool = np.sort(np.concatenate([np.flatnonzero(labels == label)[:per_class] for label in np.unique(labels)]))
    asked = sample_rows(len(test.labels), config.max_eval, find_dataset(task).shuffled)
    return train.take(pool), test.take(asked)


def _run(model: nn.Module, images: Images, forward: Any) -> torch.Tensor:
    model.eval()
    device = next(model.parameters()).device
    logits = []
    for batch in images.batches(_BATCH):
        check_stop()
        logits.append(forward(model, normalise(batch.pixels.to(device))))
    return torch.cat(logits)
