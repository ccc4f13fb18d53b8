"""The optimizer of a recipe."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from timm.optim.sgdw import SGDW
from torch import nn

from ..specs.config import RecipeConfig
from .bfloat16 import AdafactorBfloat16, AdamBfloat16, AdamWBfloat16
from .groups import decay_groups

__all__ = ["OPTIMIZERS", "OptimizerKind", "build_optimizer", "set_learning_rate"]

Settings = Callable[[RecipeConfig], dict[str, Any]]


class OptimizerKind(NamedTuple):
    """A row of `OPTIMIZERS`.

    Attributes:
        shrinking: class that subtracts `lr * weight_decay` of a weight.
        l2: class that adds `weight_decay` of a weight to its gradient; None where there is none.
        settings: of both classes.
        source: of the algorithm.
    """

    shrinking: Callable[..., torch.optim.Optimizer]
    l2: Callable[..., torch.optim.Optimizer] | None
    settings: Settings
    source: str


def _adam(recipe: RecipeConfig) -> dict[str, Any]:
    return {"betas": (recipe.beta1, recipe.beta2), "fused": True}


def _adafactor(recipe: RecipeConfig) -> dict[str, Any]:
    return {
        "momentum": recipe.beta1,
        "momentum_dtype": torch.float32,  # of a step; between steps it is bfloat16
        "beta2_cap": recipe.beta2,
        "decay_rate": 0.8,
        "min_dim_size_to_factor": 32,  # big_vision's; timm's default is 16
        "eps": 1e-30,
        "clipping_threshold": None,  # the gradient's norm is clipped instead
    }


OPTIMIZERS = {
    "adamw": OptimizerKind(
        torch.optim.AdamW, torch.optim.Adam, _adam, "Loshchilov and Hutter 2019, arXiv 1711.05101, algorithm 2"
    ),
    "adamw_bf16": OptimizerKind(
        AdamWBfloat16, AdamBfloat16, _adam, "Zhai et al. 2021, arXiv 2106.04560, section 3.4: half-precision momentum"
    ),
    "adafactor": OptimizerKind(
        AdafactorBfloat16, None, _adafactor, "Zhai et al. 2021, arXiv 2106.04560, section 3.4: modified Adafactor"
    ),
    "sgd": OptimizerKind(
        partial(SGDW, foreach=True),
        partial(torch.optim.SGD, fused=True),
        lambda recipe: {"momentum": recipe.beta1},
        "Sutskever et al. 2013, equations 1 and 2, with the learning rate outside of the velocity, as torch has it",
    ),
}


def build_optimizer(model: nn.Module, recipe: RecipeConfig) -> torch.optim.Optimizer:
    """The recipe's optimizer over the groups of `decay_groups`, at the peak learning rate."""
    kind = OPTIMIZERS[recipe.optimizer]
    make = kind.l2 if recipe.weight_decay_rule == "l2" else kind.shrinking
    assert make is not None  # RecipeConfig refuses such a pair
    settings = [
        {
            "params": list(group.parameters),
            "lr": recipe.lr * group.lr_multiplier,
            "lr_multiplier": group.lr_multiplier,
            "weight_decay": group.weight_decay,
        }
        for group in decay_groups(model, recipe)
    ]
    return make(settings, lr=recipe.lr, **kind.settings(recipe))


def set_learning_rate(optimizer: torch.optim.Optimizer, learning_rate: float) -> None:
    """Give each group the learning rate times its multiplier."""
    for group in optimizer.param_groups:
        group["lr"] = learning_rate * group["lr_multiplier"]
