"""The optimizer of a recipe, with the classifier's learning rate and weight decay apart from the body's."""

import torch
from torch import nn

from ..config import RecipeConfig

__all__ = ["build_optimizer", "set_learning_rate"]


def build_optimizer(model: nn.Module, recipe: RecipeConfig) -> torch.optim.Optimizer:
    """AdamW, decoupled decay times the learning rate; kernels decay, vectors (biases, norms) do not."""
    head = {id(p) for p in model.get_classifier().parameters()}  # type: ignore[operator]
    groups: dict[tuple[bool, bool], list[nn.Parameter]] = {}
    for parameter in model.parameters():
        groups.setdefault((id(parameter) in head, parameter.ndim > 1), []).append(parameter)
    settings = [
        {
            "params": parameters,
            "lr": recipe.lr,
            "lr_multiplier": recipe.head_lr_multiplier if in_head else 1.0,
            "weight_decay": (recipe.head_weight_decay if in_head else recipe.weight_decay) if decays else 0.0,
        }
        for (in_head, decays), parameters in groups.items()
    ]
    return torch.optim.AdamW(settings, lr=recipe.lr, fused=True)


def set_learning_rate(optimizer: torch.optim.Optimizer, learning_rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = learning_rate * group["lr_multiplier"]
