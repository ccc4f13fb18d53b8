"""A batch in parts, for devices with less memory than its gradient takes."""

import torch
from torch import nn

from .config import RunConfig

__all__ = ["why_whole"]


def why_whole(config: RunConfig) -> str | None:
    """Why a run's batch cannot be split without changing what is computed; None where it can."""
    recipe = config.recipe
    with torch.device("meta"):
        layers = config.model.build(config.image_size, config.num_classes).modules()
    if any(isinstance(layer, nn.modules.batchnorm._BatchNorm) for layer in layers):
        return f"model.{config.model.family} has BatchNorm, whose statistics are those of the whole batch"
    if recipe.contrastive_temperature is not None:
        return "recipe.contrastive_temperature compares each image with all others of the batch"
    if recipe.attack_radius is not None:
        return "recipe.attack_radius takes the signs of a gradient, which rounding can turn"
    return None
