"""A trained model as it is measured: a copy of its own, so that nothing done to it reaches the training."""

import copy
import traceback
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from math import isfinite
from typing import Any

import numpy as np
import torch
from torch import nn

from ..augment.streams import rng_of
from ..data.datasets import task_name
from ..data.images import Images, normalise
from ..specs.config import RunConfig
from ..stopping import check_stop
from ..training.initial import initial_model

__all__ = ["Measured", "Subject", "measure_model"]


@dataclass(frozen=True)
class Subject:
    """A trained model and the images that it is measured on.

    Attributes:
        model: in evaluation mode and in float32, without compiled blocks and fused attention, which has no weights to
            look at and no second derivative.
        train: up to `measure.max_examples` of the images trained on, not augmented; `test`: of the test images.
        device: where the model and the images lie.
        all_test: the test images that the model's errors are of, wherever they lie.
    """

    config: RunConfig
    model: nn.Module
    train: Images
    test: Images
    device: torch.device
    all_test: Images | None = None

    @cached_property
    def untrained(self) -> nn.Module:
        """The model as it was before its first step."""
        return initial_model(self.config).to(self.device)

    def rng(self, purpose: str) -> np.random.Generator:
        """Random numbers that depend on the run's seed and the purpose only."""
        return rng_of(self.config.seed, zlib.crc32(purpose.encode()), "measure")

    def robustness_images(self) -> Images:
        """The test images that are corrupted and attacked."""
        return _spread(self.test, self.config.measure.robustness_examples)

    def batches(self, images: Images, batch_size: int = 128) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Normalised images float32 (b, 3, height, width) and labels int64 (b,)."""
        for batch in images.batches(batch_size):
            yield normalise(batch.pixels), batch.labels

    def some(self, images: Images, part: int) -> Images:
        """Of the training or the test images at most 1 / part of `measure.max_examples`, for what is dear."""
        return _spread(images, max(1, self.config.measure.max_examples // part))

    def row(self, name: str, value: float, **where: Any) -> dict[str, Any]:
        """A row of the measurements; `where` says layer, head, other, split, dataset, num_examples as far as they
        apply. A split is of the upstream set unless a dataset is given."""
        dataset = task_name(self.config.upstream.dataset, self.config.upstream.folder) if "split" in where else None
        return {"name": name, "value": float(value), "dataset": dataset, **where}


@dataclass(frozen=True)
class Measured:
    """Rows of one model, and a traceback for each measurement that raised or whose value is no number."""

    rows: list[dict[str, Any]]
    faults: dict[str, str]


def measure_model(config: RunConfig, model: nn.Module, train: Images, test: Images, device: torch.device) -> Measured:
    """Ask a trained model every measurement of its config. One that fails leaves the others and the run alone.

    Args:
        train: up to `measure.max_examples` of the images trained on.
        test: all test images that the model's errors are of.
    """
    all_test, train = test, train.to(device)
    test = _spread(test, config.measure.max_examples).to(device)
    plain = _plain_copy(config, model, device)
    rows: list[dict[str, Any]] = []
    faults: dict[str, str] = {}
    for name in config.measure.names:
        check_stop()
        subject = Subject(config, copy.deepcopy(plain), train, test, device, all_test)
        try:
            found = list(import_module(f"{__package__}.{name}").measure(subject))
            wrong = [row for row in found if not isfinite(row["value"])]
            rows += [row for row in found if isfinite(row["value"])]
            if wrong:
                faults[name] = f"{len(wrong)} of {len(found)} values are no finite number, the first {wrong[0]}"
        except Exception:  # whatever a measurement can raise, the model is trained and its errors are known
            faults[name] = traceback.format_exc()
    return Measured(rows, faults)


def _spread(images: Images, most: int) -> Images:
    """At most so many, of each class its share: images may lie class by class, or one class after the other."""
    num_images = len(images.labels)
    count = min(num_images, most)
    by_class = np.argsort(images.labels.cpu().numpy(), kind="stable")
    return images.take(np.sort(by_class[np.arange(count) * num_images // max(1, count)]))


def _plain_copy(config: RunConfig, model: nn.Module, device: torch.device) -> nn.Module:
    if config.steps:
        plain = initial_model(config).to(device)
        plain.load_state_dict(model.state_dict())
    else:
        plain = config.model.build(config.image_size, config.num_classes).to(device)
    for module in plain.modules():
        if hasattr(module, "fused_attn"):
            module.fused_attn = False  # type: ignore[assignment]
    return plain.eval()
