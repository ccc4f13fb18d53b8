"""The table of model families: a builder each. To add one, add a config, a file and a row."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from ..config import ModelConfig
from . import resnet, vit

__all__ = ["FAMILIES", "Family", "build_model", "shape_columns"]


@dataclass(frozen=True)
class Family:
    """How a family is built, and what a record says of its shape."""

    build: Callable[[Any, int, int], nn.Module]  # config, image size, classes
    shape_columns: Callable[[Any, int], dict[str, Any]]  # config, image size
    channels_last: bool


FAMILIES = {
    "vit": Family(vit.build, vit.shape_columns, channels_last=False),
    "resnet": Family(resnet.build, resnet.shape_columns, channels_last=True),
}


def build_model(config: ModelConfig, image_size: int, num_classes: int) -> nn.Module:
    """A model with timm's interface: `forward`, `forward_features`, `forward_head(x, pre_logits=True)`,
    `get_classifier`."""
    return FAMILIES[config.family].build(config, image_size, num_classes)


def shape_columns(config: ModelConfig, image_size: int) -> dict[str, Any]:
    """The record's columns `width` to `pooling`."""
    return FAMILIES[config.family].shape_columns(config, image_size)
