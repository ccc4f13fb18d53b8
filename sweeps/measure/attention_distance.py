"""How far each attention head looks, in pixels."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import nn

    from ..models.shape import ModelShape
    from ..specs.config import RunConfig
    from .subject import Subject

__all__ = ["mean_distances", "measure", "patch_distances", "why_not"]

_MOST_OF = 2  # of `measure.max_examples` the half: by default 128 images, as in the ViT paper
_BATCH = 32  # images; a layer's weights are images x heads x tokens x tokens


def measure(subject: "Subject") -> Iterator[dict[str, Any]]:
    """The distance in pixels from a patch to those it attends to, weighted by attention, a head each, on the test
    images.

    Rows: `attention_distance`, `layer` a block, `head` from "1". Mean over images and query patches. The class token is
    no query, and what a patch attends to it counts as distance 0: weights are not made to sum to 1 without it, as in
    the code behind the figures. Between the centres of patches; of a hybrid a patch is a pixel of its stem's map.

    Source: Dosovitskiy et al. 2020 (arXiv 2010.11929), Figures 7 and 11 (there of 128 images); Raghu et al. 2021 (arXiv
    2108.08810), Figure 3.
    """
    import torch

    height, width = _grid(subject.model) or (0, 0)  # there is one: see `why_not`
    images, sums = subject.some(subject.test, _MOST_OF), {}
    with torch.no_grad(), _kept_weights(subject.model) as weights:
        for batch, _ in subject.batches(images, _BATCH):
            subject.model.forward_features(batch)  # type: ignore[operator]
            for layer, of_layer in weights.items():
                sums[layer] = sums.get(layer, 0) + of_layer.sum(0)
    distances = patch_distances(height, width, subject.config.image_size / height)
    num_images = len(images.labels)
    for layer, total in sums.items():
        for head, value in enumerate(mean_distances(total.cpu() / num_images, distances).tolist(), 1):
            where = {"layer": layer, "head": str(head), "split": "test", "num_examples": num_images}
            yield subject.row("attention_distance", value, **where)


def mean_distances(weights: "torch.Tensor", distances: "torch.Tensor") -> "torch.Tensor":
    """Mean distance (heads,) of attention weights (heads, tokens, tokens), queries by keys, whose last tokens are the
    patches; `distances` (patches, patches)."""
    patches = len(distances)
    return (weights[..., -patches:, -patches:].double() * distances).sum(-1).mean(-1)


def patch_distances(height: int, width: int, patch: float) -> "torch.Tensor":
    """Pixels between the centres of the patches of a grid, row by row: float64 (patches, patches).

    >>> patch_distances(1, 3, patch=4)[0]
    tensor([0., 4., 8.], dtype=torch.float64)
    """
    import torch

    places = torch.cartesian_prod(torch.arange(height), torch.arange(width)).double() * patch
    return (places[:, None] - places[None]).square().sum(-1).sqrt()  # exact, unlike torch.cdist


def why_not(config: "RunConfig") -> str | None:
    """Of models without attention, or with attention within windows only."""
    return _why_not(config.model, config.image_size)  # type: ignore[arg-type]  # frozen, so it has a hash


@lru_cache(maxsize=256)
def _why_not(model: "ModelShape", image_size: int) -> str | None:
    import torch

    with torch.device("meta"):
        built = model.build(image_size, 2)
    return None if _attentions(built) and _grid(built) else "none of its blocks attends to all patches"


def _attentions(model: "nn.Module") -> "dict[str, nn.Module]":
    """The attention of each block by the block's name; of timm's classes, those over all tokens."""
    from timm.layers.attention import Attention, AttentionRope

    from ..models.layers import named_blocks

    kinds = (Attention, AttentionRope)
    found = {name: [m for m in block.modules() if isinstance(m, kinds)] for name, block in named_blocks(model).items()}
    return {name: modules[0] for name, modules in found.items() if modules}


def _grid(model: "nn.Module") -> tuple[int, int] | None:
    """Patches down and across."""
    body = getattr(model, "model", model)  # a checkpoint of timm is wrapped
    return getattr(getattr(body, "patch_embed", None), "grid_size", None)


@contextmanager
def _kept_weights(model: "nn.Module") -> "Iterator[dict[str, torch.Tensor]]":
    """Within it a forward pass leaves each block's attention weights (n, heads, tokens, tokens), after the softmax."""
    kept: dict[str, torch.Tensor] = {}

    def keep(name: str):
        return lambda dropout, args: kept.__setitem__(name, args[0])

    hooks = []
    for name, attention in _attentions(model).items():
        attention.fused_attn = False  # type: ignore[assignment]  # else there are no weights
        hooks.append(attention.attn_drop.register_forward_pre_hook(keep(name)))  # type: ignore[union-attr]
    try:
        yield kept
    finally:
        for hook in hooks:
            hook.remove()
