"""How large the weights of each layer are, and how far they have come from where they started."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from ..models.layers import HEAD, parameter_layers
from .subject import Subject

__all__ = ["measure"]


@torch.no_grad()
def measure(subject: Subject) -> Iterator[dict[str, Any]]:
    """The 2-norm of all parameters of each layer, and of their difference to their initial values.

    Rows: `weight_norm`, `distance_to_init`, a layer each; `embedding` holds what lies before the first block,
    `pre_logits` what lies between the last one and the classifier, `head` the classifier. `weight_norm_body` is the
    sum of the norms of the layers below the head. A checkpoint that was trained elsewhere has no distances.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Figures 10, 11 and 40.
    """
    norms = _norms(subject.model, dict(subject.model.named_parameters()))
    for layer, norm in norms.items():
        yield subject.row("weight_norm", norm, layer=layer)
    yield subject.row("weight_norm_body", sum(norm for layer, norm in norms.items() if layer != HEAD))
    if subject.config.steps:
        start = dict(subject.untrained.named_parameters())
        moved = {name: value.double() - start[name].double() for name, value in subject.model.named_parameters()}
        for layer, distance in _norms(subject.model, moved).items():
            yield subject.row("distance_to_init", distance, layer=layer)


def _norms(model: nn.Module, values: dict[str, torch.Tensor]) -> dict[str, float]:
    """The 2-norm of each layer's values, by the names of the model's parameters."""
    layers = parameter_layers(model)
    squares = dict.fromkeys(layers.values(), 0.0)
    for name, value in values.items():
        squares[layers[name]] += value.double().square().sum().item()
    return {layer: total**0.5 for layer, total in squares.items()}
