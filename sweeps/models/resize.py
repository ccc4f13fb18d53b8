"""A trained model for images of another size and for other classes: what fine-tuning starts from."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import torch
from torch import nn

from .shape import ModelShape

__all__ = ["check_resizable", "resize_positions", "transfer_model"]

_POSITIONS = "pos_embed"


def transfer_model(
    shape: ModelShape, trained: nn.Module, image_size: int, num_classes: int, head_bias: float = 0.0
) -> nn.Module:
    """A copy of a trained model for images of `image_size`, with a new classifier whose kernel is zero; on the CPU.

    Learned position embeddings are interpolated (`resize_positions`); sin-cos positions are those of the larger grid,
    as in big_vision, whose positions count patches and go on where training ended. Convolutions take any size. The
    two classifiers of a distilled model learn as one, by the mean of their logits, which is what it predicts by.

    Raises:
        ValueError: weights that only fit images of the old size.

    Source: Dosovitskiy et al. 2020 (arXiv 2010.11929), section 3.2: zero-initialised classifier, interpolated
    positions; Touvron et al. 2019 (arXiv 1906.06423) for convolutional networks.
    """
    with torch.random.fork_rng(devices=[]):
        model = shape.build(image_size, num_classes)
    if shape.trainable:
        model.load_state_dict({**model.state_dict(), **_body_weights(model, trained)})
    else:  # a checkpoint of timm comes with its weights, resized, and with its own classes
        model.model.reset_classifier(num_classes)  # type: ignore[union-attr, operator]
        model.num_classes = num_classes  # type: ignore[assignment]
    if hasattr(model, "set_distilled_training"):
        model.set_distilled_training(False)  # type: ignore[operator]
    for name, parameter in model.get_classifier().named_parameters():  # type: ignore[operator]
        nn.init.constant_(parameter, head_bias if name.rpartition(".")[2] == "bias" else 0.0)
    return model


def resize_positions(positions: torch.Tensor, grid: tuple[int, int], num_prefix_tokens: int) -> torch.Tensor:
    """Position embeddings (1, tokens, width) of a square grid for another one, by bicubic interpolation.

    Those of the class and distillation tokens, which come first, are kept. The same tensor where the grid is the same.
    timm's `resample_abs_pos_embed`: antialiased, so that the cubic is that of Pillow and JAX (a = -0.5).

    Source: Dosovitskiy et al. 2020 (arXiv 2010.11929), section 3.2 (2D interpolation).

    >>> resize_positions(torch.zeros(1, 1 + 16, 8), grid=(6, 6), num_prefix_tokens=1).shape
    torch.Size([1, 37, 8])
    """
    from timm.layers.pos_embed import resample_abs_pos_embed

    return resample_abs_pos_embed(positions, list(grid), num_prefix_tokens=num_prefix_tokens)


@lru_cache(maxsize=256)
def check_resizable(shape: ModelShape, old: int, new: int, field: str) -> None:
    """Nothing, where a model of that shape for images of one size can take images of another. Builds it on the meta
    device.

    Raises:
        ValueError: it cannot: the field and the fact.
    """
    name = f"{shape.family} {shape.variant}"
    try:
        shape.fitted(new)
    except ValueError as error:
        raise ValueError(f"{field}: {name} cannot take images of {new} px: {error}") from error
    if not shape.trainable:
        return
    with torch.device("meta"):
        trained, model = shape.build(old, 2), shape.build(new, 2)
    if misfits := list(_misfits(model, dict(_body_weights(model, trained)))):
        raise ValueError(
            f"{field}: {name} is tied to images of {old} px by its {misfits[0]}, whose shape depends on the number of"
            f" tokens, got {new}"
        )


def _body_weights(model: nn.Module, trained: nn.Module) -> Mapping[str, torch.Tensor]:
    """All weights and buffers of a trained model but the classifier's, with positions for `model`."""
    head = {id(parameter) for parameter in trained.get_classifier().parameters()}  # type: ignore[operator]
    in_head = {name for name, parameter in trained.named_parameters() if id(parameter) in head}
    weights = {name: value for name, value in trained.state_dict().items() if name not in in_head}
    if _POSITIONS in weights:
        num_prefix_tokens: Any = 0 if model.no_embed_class else model.num_prefix_tokens
        grid: Any = model.patch_embed.grid_size  # type: ignore[union-attr]
        weights[_POSITIONS] = resize_positions(weights[_POSITIONS], grid, num_prefix_tokens)
    return weights


def _misfits(model: nn.Module, weights: Mapping[str, torch.Tensor]) -> Iterator[str]:
    own = model.state_dict()
    return (name for name, value in weights.items() if own[name].shape != value.shape)
