"""How large the weights of each layer are, and how far they have come from where they started."""

from collections.abc import Iterator
from typing import Any

import torch

from ..models.layers import parameter_layers
from .subject import Subject

__all__ = ["measure"]


@torch.no_grad()
def measure(subject: Subject) -> Iterator[dict[str, Any]]:
    """The 2-norm of all parameters of each layer, and of their difference to their initial values.

    Rows: `weight_norm`, `distance_to_init`, a layer each; `embedding` holds what lies before the first block,
    `pre_logits` what lies between the last one and the classifier, `head` the classifier.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Figures 10, 11 and 40.
    """
    layers = parameter_layers(subject.model)
    start = dict(subject.untrained.named_parameters())
    norms, distances = dict.fromkeys(layers.values(), 0.0), dict.fromkeys(layers.values(), 0.0)
    for name, parameter in subject.model.named_parameters():
        norms[layers[name]] += parameter.double().square().sum().item()
        distances[layers[name]] += (parameter.double() - start[name].double()).square().sum().item()
    for layer in norms:
        yield subject.row("weight_norm", norms[layer] ** 0.5, layer=layer)
        yield subject.row("distance_to_init", distances[layer] ** 0.5, layer=layer)
