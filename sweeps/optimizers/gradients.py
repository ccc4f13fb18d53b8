"""What is done to a gradient before the optimizer's step: clipping, and sharpness-aware minimisation."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from ..specs.config import RecipeConfig

__all__ = ["clip_gradients", "perturbed_weights"]

_SMALLEST_NORM = 1e-12  # below it the step is shorter; far above 1e-19, where squares leave float32's range


def clip_gradients(model: nn.Module, recipe: RecipeConfig) -> None:
    """Scale the whole gradient to a norm of at most `recipe.grad_clip`; with None do nothing. Nothing is read back."""
    if recipe.grad_clip is not None:
        nn.utils.clip_grad_norm_(list(model.parameters()), recipe.grad_clip)


@contextmanager
def perturbed_weights(model: nn.Module, rho: float) -> Iterator[None]:
    """Within it the weights are w + rho g / ||g||, g the gradient that they have; after it w again, to the last bit.

    The gradient taken within it is that of sharpness-aware minimisation, for any optimizer: there is no state beside
    the optimizer's. Buffers, such as the running statistics of BatchNorm, are put back too, so that they are those of
    the pass at w, as in the authors' code. That takes the same random choices (dropout) in both passes. A zero
    gradient moves nothing.

    Source: Foret et al. 2021 (arXiv 2010.01412), equation 2 and algorithm 1, p = 2; Chen, Hsieh and Gong 2022 (arXiv
    2106.01548).

    >>> model = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.constant_(model.weight, 3.0)
    >>> (model.weight**2).sum().backward()
    >>> with perturbed_weights(model, rho=0.5):
    ...     model.weight.item()
    3.5
    >>> model.weight.item()
    3.0
    """
    moved = [p for p in model.parameters() if p.grad is not None]
    before = [tensor.detach().clone() for tensor in (*moved, *model.buffers())]
    with torch.no_grad():
        gradients = [p.grad for p in moved if p.grad is not None]
        scale = rho / nn.utils.get_total_norm(gradients).clamp_min(_SMALLEST_NORM)
        for parameter, gradient in zip(moved, gradients, strict=True):
            parameter.addcmul_(gradient, scale)
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, value in zip((*moved, *model.buffers()), before, strict=True):
                tensor.copy_(value)
