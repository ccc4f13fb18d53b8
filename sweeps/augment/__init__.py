"""What is done to a training batch between the stored pixels and the model, on the device: pure in (seed, step).

The choices (where to crop, which operation, what share) are drawn on the CPU from a generator of (seed, step, purpose),
so that they do not depend on the device; the pixels are moved there. Noise is drawn on the device.
"""

from typing import TYPE_CHECKING

import torch

from ..data.images import normalise
from .crops import crop_flip, inception_flip
from .erase import random_erase
from .mix import draw_mix, mix_batch

if TYPE_CHECKING:
    from ..specs.config import RecipeConfig

__all__ = ["augment_batch", "describe_augment"]

_CROPS = {"crop_flip": crop_flip, "inception_flip": inception_flip}


def augment_batch(
    pixels: torch.Tensor,
    labels: torch.Tensor,
    recipe: "RecipeConfig",
    *,
    seed: int,
    step: int,
    num_classes: int,
    cropped: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The batch as the model and the loss take it.

    In the order of DeiT's code: crop and mirror, RandAugment, normalise, erase, and last mix the images.

    Args:
        pixels: uint8, shape (b, height, width, 3), on any device.
        labels: int64, shape (b,).
        cropped: the images are cut and mirrored at random already.

    Returns:
        Inputs float32 (b, 3, height, width) in [-1, 1] (noise of `erase` may leave it), channels last in memory;
        targets int64 (b,), or where images are mixed the shares of the classes, float32 (b, num_classes). Label
        smoothing is the loss's.
    """
    if recipe.augment != "none" and not cropped:
        pixels = _CROPS[recipe.augment](pixels, seed, step)
    if recipe.rand_augment_ops:
        from .rand_augment import rand_augment  # torchvision's operations are slow to import, and few recipes need them

        strength = recipe.rand_augment_ops, recipe.rand_augment_magnitude, recipe.rand_augment_policy
        pixels = rand_augment(pixels, *strength, seed=seed, step=step)
    inputs = normalise(pixels)
    if recipe.erase:
        inputs = random_erase(inputs, recipe.erase, seed, step)
    if recipe.mixup or recipe.cutmix:
        mix = draw_mix(recipe.mixup, recipe.cutmix, *inputs.shape[2:], seed=seed, step=step)
        return mix_batch(inputs, labels, mix, num_classes)
    return inputs, labels


def describe_augment(recipe: "RecipeConfig") -> str:
    """What a recipe does to its images, as a record's `augment` has it.

    >>> from sweeps.specs.config import RecipeConfig
    >>> describe_augment(RecipeConfig.model_validate({"mixup": 0.2, "repeats": 2}))
    'crop_flip+mixup(0.2)+repeats(2)'
    """
    parts = [recipe.augment]
    if recipe.rand_augment_ops:
        policy = "" if recipe.rand_augment_policy == "timm" else f",{recipe.rand_augment_policy}"
        parts.append(f"rand_augment({recipe.rand_augment_ops},{recipe.rand_augment_magnitude:g}{policy})")
    parts += [f"{name}({getattr(recipe, name)})" for name in ("mixup", "cutmix", "erase") if getattr(recipe, name)]
    parts += [f"repeats({recipe.repeats})"] if recipe.repeats > 1 else []
    return "+".join(part for part in parts if part != "none") or "none"
