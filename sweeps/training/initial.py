"""A run's model before its first step."""

import torch
from torch import nn

from ..specs.config import RunConfig
from .losses import init_head_bias

__all__ = ["initial_model"]


def initial_model(config: RunConfig) -> nn.Module:
    """On the CPU, the same for the same seed; torch's own generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = config.model.build(config.image_size, config.num_classes, config.recipe.drop_path)
    init_head_bias(model, config.recipe)
    return model
