"""A model small enough for arithmetic by hand, with every kind of parameter, and its optimizer."""

import numpy as np
import pytest
import torch
from torch import nn

from sweeps.optimizers import build_optimizer
from sweeps.specs.config import RecipeConfig

RECIPE = {"lr": 0.01, "weight_decay": 0.1, "head_weight_decay": 3.0, "head_lr_multiplier": 2.0, "beta1": 0.9}
VALID_PAIRS = [
    (optimizer, rule)
    for optimizer in ("adamw", "adamw_bf16", "adafactor", "sgd")
    for rule in ("lr_scaled", "decoupled", "l2")
    if (optimizer, rule) != ("adafactor", "l2")
]
EVERY_PAIR = pytest.mark.parametrize(("optimizer", "rule"), VALID_PAIRS)


class Tiny(nn.Module):
    """Kernels that Adafactor factors (wide, tall) and one that it does not, a bias, a position embedding, a head."""

    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(20, 40, 2)
        self.wide = nn.Linear(40, 33)
        self.tall = nn.Linear(33, 48)
        self.pos_embed = nn.Parameter(torch.zeros(1, 2, 48))
        self.head = nn.Linear(48, 35)
        rng = np.random.default_rng(0)
        for parameter in self.parameters():
            parameter.data = torch.from_numpy(rng.uniform(-1, 1, parameter.shape).astype(np.float32))

    def get_classifier(self):
        return self.head


def recipe_of(**changes):
    return RecipeConfig.model_validate({**RECIPE, **changes})


def tiny(**changes):
    model = Tiny()
    return model, build_optimizer(model, recipe_of(**changes))


def give_gradients(model, step):
    """Float32 normals with a scale of their own for each parameter, a function of the step."""
    rng = np.random.default_rng([7, step])
    for index, parameter in enumerate(model.parameters()):
        scale = 10.0 ** (index % 3 - 2)
        parameter.grad = torch.from_numpy((scale * rng.normal(size=parameter.shape)).astype(np.float32))
