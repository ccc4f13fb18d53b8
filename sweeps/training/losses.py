"""The loss of a training batch, and the bias that a sigmoid loss starts from."""

import math
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import nn

if TYPE_CHECKING:
    from ..specs.config import RecipeConfig

__all__ = ["distillation_loss", "init_head_bias", "training_loss", "untrained_loss"]


def training_loss(logits: torch.Tensor, targets: torch.Tensor, recipe: "RecipeConfig") -> torch.Tensor:
    """Mean over the batch, in nats and in float32: cross-entropy over the classes, or the sum of a sigmoid's for each.

    Label smoothing s makes of each target t the share (1 - s) t + s / classes, for either loss; of mixed targets too,
    which is the same as to smooth first and then mix (timm).

    Args:
        logits: (b, classes).
        targets: int64 (b,), or shares of the classes (b, classes).
    """
    return _LOSSES[recipe.label_loss](logits.float(), targets, recipe.label_smoothing)


def distillation_loss(
    logits: torch.Tensor,
    distillation_logits: torch.Tensor,
    targets: torch.Tensor,
    teacher_classes: torch.Tensor,
    recipe: "RecipeConfig",
) -> torch.Tensor:
    """Hard-label distillation: half the loss with the labels, half that with the teacher's predicted classes.

    The teacher sees the same augmented images; its classes are not smoothed.

    Args:
        logits: (b, classes), learned from the labels.
        distillation_logits: (b, classes), learned from the teacher: those of the distillation token, or `logits`
            again for a model without one.
        targets: as in `training_loss`.
        teacher_classes: int64 (b,).

    Source: Touvron et al. 2021 (arXiv 2012.12877), Eq. 3.
    """
    taught = _LOSSES[recipe.label_loss](distillation_logits.float(), teacher_classes, 0.0)
    return (training_loss(logits, targets, recipe) + taught) / 2


def untrained_loss(recipe: "RecipeConfig", num_classes: int) -> float:
    """The loss of a model whose logits are the classifier's initial bias; with the contrastive loss its upper bound.

    Khosla et al. 2020 (arXiv 2004.11362), Eq. 2: log(batch) and, of cosines in [-1, 1], twice 1 / temperature.
    """
    loss = float(
        training_loss(torch.full((1, num_classes), recipe.head_bias), torch.zeros(1, dtype=torch.int64), recipe)
    )
    if recipe.contrastive_temperature is None:
        return loss
    return loss + math.log(recipe.batch_size) + 2 / recipe.contrastive_temperature


@torch.no_grad()
def init_head_bias(model: nn.Module, recipe: "RecipeConfig") -> None:
    """Set the classifier's bias to the recipe's, so that a sigmoid loss does not begin with a half for each class.

    A recipe with 0 leaves the model's own.

    Raises:
        ValueError: the classifier has no bias.

    Source: Zhai et al. 2021 (arXiv 2106.04560), section 3.
    """
    if not recipe.head_bias:
        return
    classifier: nn.Module = model.get_classifier()  # type: ignore[operator]
    biases = [parameter for name, parameter in classifier.named_parameters() if name.split(".")[-1] == "bias"]
    if not biases:
        raise ValueError(f"recipe.head_bias: needs a classifier with a bias, got {type(classifier).__name__} without")
    for bias in biases:  # two with a distillation token
        bias.fill_(recipe.head_bias)


def _softmax(logits: torch.Tensor, targets: torch.Tensor, smoothing: float) -> torch.Tensor:
    return F.cross_entropy(logits, targets, label_smoothing=smoothing)


def _sigmoid(logits: torch.Tensor, targets: torch.Tensor, smoothing: float) -> torch.Tensor:
    """The sum over classes, as big_vision's `sigmoid_xent`; timm's BinaryCrossEntropy takes their mean."""
    num_classes = logits.shape[1]
    shares = targets.float() if targets.ndim == 2 else F.one_hot(targets, num_classes).float()
    shares = shares * (1 - smoothing) + smoothing / num_classes
    return F.binary_cross_entropy_with_logits(logits, shares, reduction="sum") / len(logits)


_LOSSES = {"softmax": _softmax, "sigmoid": _sigmoid}
