"""Optimizers by name, the three rules of weight decay, and what is done to gradients before a step."""

from .build import OPTIMIZERS, OptimizerKind, build_optimizer, set_learning_rate
from .gradients import clip_gradients, perturbed_weights
from .groups import ParameterGroup, decay_groups

__all__ = [
    "OPTIMIZERS", "OptimizerKind", "ParameterGroup", "build_optimizer", "clip_gradients", "decay_groups",
    "perturbed_weights", "set_learning_rate",
]  # fmt: skip
