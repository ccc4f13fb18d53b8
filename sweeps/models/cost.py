"""What a model costs: its parameters and the FLOPs of one image, counted without computing anything."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from timm.layers.config import set_fused_attn, use_fused_attn
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from .shape import ModelShape

if TYPE_CHECKING:
    from ..specs.config import RecipeConfig

__all__ = ["ModelCost", "count_cost", "training_flops"]

_FORWARD_AND_BACKWARD = (
    3  # a backward pass costs two forward passes: Kaplan et al. 2020 (arXiv 2001.08361), section 2.1
)
_ATTACK = 2  # half of a backward pass is for the weights' gradients, which an attack does not take
_RULE = "matmul+conv forward, 1 multiply-add = 2, training = {}x"


@dataclass(frozen=True)
class ModelCost:
    """Parameters of the body and of the classifier; forward FLOPs of one image, in all and of the classifier."""

    num_params: int
    head_params: int
    flops_per_image: int
    head_flops_per_image: int


def count_cost(config: ModelShape, image_size: int, num_classes: int) -> ModelCost:
    """Count on the meta device, where no arithmetic is done, with attention written out (fused, it goes uncounted).

    >>> from sweeps.models import VitConfig
    >>> b16 = VitConfig(width=768, depth=12, patch=16, heads=12, mlp_dim=3072, pooling="token")
    >>> cost = count_cost(b16, image_size=224, num_classes=1000)
    >>> round(cost.flops_per_image / 1e9, 1), round(cost.num_params / 1e6)
    (35.1, 86)
    """
    was_fused = bool(use_fused_attn())
    set_fused_attn(False)
    try:
        with torch.device("meta"):
            model = config.build(image_size, num_classes).eval()
            image = torch.empty(1, 3, image_size, image_size)
        head, params = _count_params(_classifier(model)), _count_params(model)
        model.requires_grad_(False)  # a quarter faster where nothing is to be differentiated
        with FlopCounterMode(display=False) as counter:
            model(image)
    finally:
        set_fused_attn(was_fused)
    # A classifier that is a convolution sees one pixel: the pooled features.
    kernels = [layer.weight for layer in _classifier(model).modules() if isinstance(layer, nn.Linear | nn.Conv2d)]
    head_flops = sum(2 * kernel.numel() for kernel in kernels)
    return ModelCost(params - head, head, counter.get_total_flops(), head_flops)


def training_flops(cost: ModelCost, recipe: "RecipeConfig", teacher: ModelCost | None) -> tuple[int, str]:
    """FLOPs to train on one image, and the rule by which they are counted.

    Three times the forward pass; twice that with sharpness-aware minimisation, which takes two gradients; two for each
    step of an attack, whose backward pass leaves out the weights; and a teacher's forward pass.
    """
    passes = _FORWARD_AND_BACKWARD * (2 if recipe.sam_rho else 1)
    passes += _ATTACK * recipe.attack_steps if recipe.attack_radius else 0
    rule = _RULE.format(passes) + (" + teacher's forward" if teacher else "")
    return passes * cost.flops_per_image + (teacher.flops_per_image if teacher else 0), rule


def _classifier(model: nn.Module) -> nn.Module:
    return model.get_classifier()  # type: ignore[operator]


def _count_params(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters() if p.requires_grad)
