"""What a trained model is asked: its upstream errors, and few-shot errors on the downstream tasks."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from .config import DownstreamConfig
from .data.datasets import find_dataset, task_name
from .data.images import Images, load_images, normalise
from .fewshot import CHOICE_PER_CLASS, evaluate_fewshot

__all__ = ["evaluate_downstream", "evaluate_upstream"]

_BATCH = 500  # images; what a batch changes is only the speed
_POOL_PER_CLASS = 20  # training images a class that the draws come from: Dosovitskiy et al. 2020


@torch.inference_mode()
def evaluate_upstream(model: nn.Module, images: Images) -> dict[str, float]:
    """Top-1 error, top-5 error (fractions) and cross-entropy (nats) on labelled images."""
    logits = _run(model, images.pixels, lambda model, x: model(x)).float()
    labels = images.labels.to(logits.device)
    top = logits.topk(min(5, logits.shape[1]), dim=1).indices == labels[:, None]
    return {
        "error": 1 - top[:, 0].double().mean().item(),
        "top5_error": 1 - top.any(1).double().mean().item(),
        "loss": F.cross_entropy(logits.double(), labels).item(),
    }


@torch.inference_mode()
def evaluate_downstream(model: nn.Module, config: DownstreamConfig, image_size: int) -> Iterator[dict[str, Any]]:
    """Rows of `scaling`'s evals, without their key, for every task, probe, number of shots and draw."""
    for task in config.tasks:
        train, test = _task_images(task, image_size, config)
        num_classes = find_dataset(task).num_classes
        results = evaluate_fewshot(
            (_features(model, train), train.labels.numpy()),
            (_features(model, test), test.labels.numpy()),
            num_classes=num_classes, shots=config.shots, num_draws=config.draws,
        )  # fmt: skip
        for result in results:
            yield {
                "task": task_name(task), "method": "fewshot", "layer": "pre_logits", "num_eval": len(test.labels),
                "num_classes": num_classes, **vars(result),
            }  # fmt: skip


def _task_images(task: str, image_size: int, config: DownstreamConfig) -> tuple[Images, Images]:
    """The pool of training images, the first of each class, and the test images."""
    train = load_images(task, "train", image_size)
    test = load_images(task, "test", image_size)
    per_class = max(_POOL_PER_CLASS, max(config.shots) + CHOICE_PER_CLASS)
    labels = train.labels.numpy()
    pool = np.sort(np.concatenate([np.flatnonzero(labels == label)[:per_class] for label in np.unique(labels)]))
    return train.take(pool), Images(test.pixels[: config.max_eval], test.labels[: config.max_eval])


def _features(model: nn.Module, images: Images) -> torch.Tensor:
    return _run(
        model, images.pixels, lambda model, x: model.forward_head(model.forward_features(x), pre_logits=True)
    ).cpu()


def _run(model: nn.Module, pixels: torch.Tensor, forward: Any) -> torch.Tensor:
    model.eval()
    device = next(model.parameters()).device
    return torch.cat([forward(model, normalise(batch.to(device))) for batch in pixels.split(_BATCH)])
