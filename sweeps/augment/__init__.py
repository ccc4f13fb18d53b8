"""What is done to a training batch between the stored pixels and the model, on the device: pure in (seed, step).

The choices (where to crop, which operation, what share) are drawn on the CPU from a generator of (seed, step, purpose),
so that they do not depend on the device; the pixels are moved there.
"""

from typing import TYPE_CHECKING

import torch

from ..data.images import normalise
from .crops import crop_flip

if TYPE_CHECKING:
    from ..config import RecipeConfig

__all__ = ["augment_batch"]


def augment_batch(
    pixels: torch.Tensor, labels: torch.Tensor, recipe: "RecipeConfig", *, seed: int, step: int, num_classes: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The batch as the model and the loss take it.

    Args:
        pixels: uint8, shape (b, height, width, 3), on any device.
        labels: int64, shape (b,).

    Returns:
        Inputs float32 (b, 3, height, width) in [-1, 1], channels last in memory; targets int64 (b,), or where images
        are mixed the shares of the classes, float32 (b, num_classes). Label smoothing is the loss's.
    """
    if recipe.augment == "crop_flip":
        pixels = crop_flip(pixels, seed, step)
    return normalise(pixels), labels
