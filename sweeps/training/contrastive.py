"""Supervised contrastive learning: the loss, the projection that it is taken on, and a classifier beside it.

Khosla et al. train the features first and then, with the features fixed, a linear classifier. Here both learn in the
same steps, the classifier from features that its loss does not change, so that a run has an error at any time: section
4.5 of the paper has it as an equal.

Source: Khosla et al. 2020 (arXiv 2004.11362).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import nn

from ..specs.config import RecipeConfig, RunConfig

__all__ = ["build_projection", "detached_classifier", "supervised_contrastive_loss", "with_projection"]

_PROJECTION_WIDTH = 128  # Khosla et al. 2020, section 3.1


def supervised_contrastive_loss(projected: torch.Tensor, labels: torch.Tensor, recipe: RecipeConfig) -> torch.Tensor:
    """Mean over the images i of -1/|P(i)| sum_p log(exp(z_i z_p / t) / sum_a exp(z_i z_a / t)), in float32.

    z are the projections at unit length, P(i) the other images of i's class (its other views among them), a all images
    but i. An image that is alone in its class has no part; a batch of such images has loss 0.

    Args:
        projected: (b, width).
        labels: int64 (b,).
        recipe: has the temperature t.

    Source: Khosla et al. 2020, Eq. 2; the mean in place of the sum as in their code. Their training multiplies it by t
    (section 4.5), which an optimizer of Adam's kind does not notice but for the clipping.

    >>> recipe = RecipeConfig.model_validate({"contrastive_temperature": 0.1})
    >>> supervised_contrastive_loss(torch.eye(2), torch.tensor([3, 3]), recipe).item()  # none to be told apart from
    -0.0
    """
    z = F.normalize(projected.float(), dim=1)
    temperature = recipe.contrastive_temperature
    assert temperature is not None  # without it there is no projection
    itself = torch.eye(len(z), dtype=torch.bool, device=z.device)
    similarity = (z @ z.T / temperature).masked_fill(itself, float("-inf"))
    log_share = similarity - similarity.logsumexp(1, keepdim=True)
    positive = (labels[:, None] == labels) & ~itself
    counts = positive.sum(1)
    means = log_share.masked_fill(~positive, 0.0).sum(1) / counts.clamp_min(1)
    return -means.sum() / (counts > 0).sum().clamp_min(1)


def build_projection(model: nn.Module, config: RunConfig) -> nn.Module:
    """Two layers from the width of the classifier's input to 128, the same for the same seed.

    It is the training's alone: not counted, not evaluated and not saved with the model.
    """
    weight = next(model.get_classifier().parameters())  # type: ignore[operator]
    width = weight.shape[1]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, _PROJECTION_WIDTH))


class _WithProjection(nn.ModuleList):
    """A model and a projection as one module, for what goes over parameters."""

    def get_classifier(self) -> nn.Module:
        return self[0].get_classifier()  # type: ignore[operator]


def with_projection(model: nn.Module, projection: nn.Module | None) -> nn.Module:
    """The model itself where there is no projection."""
    return model if projection is None else _WithProjection([model, projection])


@contextmanager
def detached_classifier(model: nn.Module) -> Iterator[list[torch.Tensor]]:
    """Within it the classifier's gradient goes no further back; the list has what it took in, (b, width), attached."""
    features: list[torch.Tensor] = []

    def keep_and_detach(module: nn.Module, args: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        features.append(args[0].flatten(1))
        return (args[0].detach(),)

    hook = model.get_classifier().register_forward_pre_hook(keep_and_detach)  # type: ignore[operator]
    try:
        yield features
    finally:
        hook.remove()
