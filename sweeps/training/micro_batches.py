"""A batch in parts, for devices with less memory than its gradient takes: one after the other, or side by side.

The gradient is that of the whole batch, up to rounding. So all that is drawn for a batch is drawn for the whole of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise

import torch
from timm.layers.drop import DropPath, drop_path
from torch import nn

from ..models import ModelConfig
from ..specs.config import RunConfig

__all__ = ["drop_path_of_part", "has_batch_norm", "num_parts", "split_rows", "why_anew_differs", "why_whole"]


def split_rows(rows: slice, num_parts: int) -> list[slice]:
    """Parts of a range of rows, which differ by one row at most; no more parts than rows.

    >>> split_rows(slice(0, 5), 2), split_rows(slice(3, 5), 4)
    ([slice(0, 3, None), slice(3, 5, None)], [slice(3, 4, None), slice(4, 5, None)])
    """
    num_rows = rows.stop - rows.start
    num_parts = max(1, min(num_parts, num_rows))
    bounds = [rows.start + -(-num_rows * part // num_parts) for part in range(num_parts + 1)]
    return [slice(start, stop) for start, stop in pairwise(bounds)]


def num_parts(config: RunConfig, num_micro_batches: int | None = None) -> int:
    """Parts that the largest share of a run's batch is split in, as asked for; None is as the config asks."""
    most = -(-config.recipe.batch_size // config.devices_per_run)
    return min(num_micro_batches or config.micro_batches, most)


@contextmanager
def drop_path_of_part(model: nn.Module, rows: slice, num_images: int, device: torch.device) -> Iterator[None]:
    """Within it stochastic depth drops of a part what it drops of these rows when the batch is whole.

    Each layer draws for the whole batch and takes the part's rows, so that parts that start from the same state of
    torch's generator see the same draw, and so does a block that is computed a second time.
    """
    layers = [layer for layer in model.modules() if type(layer) is DropPath]
    index = torch.arange(rows.start, rows.stop, device=device)  # a tensor: numbers would be compiled in, part for part
    for layer in layers:
        layer.__class__ = _DropPathOfPart
        layer.index, layer.num_images = index, num_images  # type: ignore[assignment]
    try:
        yield
    finally:
        for layer in layers:
            layer.__class__ = DropPath
            del layer.index, layer.num_images


class _DropPathOfPart(DropPath):
    """Between steps it is a plain DropPath, as which it is copied and counted."""

    index: torch.Tensor
    num_images: int

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training or not self.drop_prob:
            return x
        ones = x.new_ones((self.num_images,) + (1,) * (x.ndim - 1))
        return x * drop_path(ones, self.drop_prob, True, self.scale_by_keep)[self.index]


def why_whole(config: RunConfig) -> str | None:
    """Why a run's batch cannot be split without changing what is computed; None where it can."""
    recipe = config.recipe
    if has_batch_norm(config.model, config.image_size, config.num_classes):  # type: ignore[arg-type]  # frozen
        why = "whose statistics are those of the whole batch on one device (SyncBatchNorm is for GPUs alone)"
        return f"model.{config.model.family} has BatchNorm, {why}"
    if recipe.contrastive_temperature is not None:
        return "recipe.contrastive_temperature compares each image with all others of the batch"
    if recipe.attack_radius is not None:
        return "recipe.attack_radius takes the signs of a gradient, which rounding can turn"
    if config.cuda_graph:
        return "cuda_graph is recorded for the whole batch"
    return None


def why_anew_differs(config: RunConfig) -> str | None:
    """Why blocks cannot be computed a second time without changing what is computed; None where they can."""
    if has_batch_norm(config.model, config.image_size, config.num_classes):  # type: ignore[arg-type]  # frozen
        return f"model.{config.model.family} has BatchNorm, whose running statistics would move twice a step"
    if config.cuda_graph:
        return "cuda_graph replays the passes as they were recorded"
    return None


@lru_cache(maxsize=256)
def has_batch_norm(model: ModelConfig, image_size: int, num_classes: int) -> bool:
    """Whether a model normalises by statistics of the batch; it is built on the meta device, without memory.

    >>> from sweeps.models import ResNetConfig, VitConfig
    >>> vit, resnet = VitConfig(width=16, depth=1, patch=4), ResNetConfig(width=4, depth=(1, 1))
    >>> has_batch_norm(vit, 8, 10), has_batch_norm(resnet, 8, 10)
    (False, True)
    """
    with torch.device("meta"):
        layers = model.build(image_size, num_classes).modules()
    return any(isinstance(layer, nn.modules.batchnorm._BatchNorm) for layer in layers)
