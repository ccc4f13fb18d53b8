"""The loss of a training batch."""

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F

if TYPE_CHECKING:
    from .config import RecipeConfig

__all__ = ["training_loss"]


def training_loss(
    logits: torch.Tensor,
    targets: torch.Tensor,
    recipe: "RecipeConfig",
    teacher_classes: torch.Tensor | None = None,
) -> torch.Tensor:
    """Mean over the batch, in nats: cross-entropy over the classes, or the sum of a sigmoid's for each.

    Args:
        logits: (b, classes).
        targets: int64 (b,), or shares of the classes (b, classes).
    """
    return F.cross_entropy(logits.float(), targets, label_smoothing=recipe.label_smoothing)
