"""Why a run cannot give a measurement, in words that follow "model ... ": told before training."""

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..models import TimmConfig
    from ..specs.config import RunConfig

__all__ = ["no_activations", "no_blocks", "no_upstream_classes"]


def no_upstream_classes(config: "RunConfig") -> str | None:
    """Whether the logits are those of the upstream set's classes, of which there are two or more."""
    if config.num_classes < 2:
        return f"it takes two classes, and {config.upstream.dataset!r} has {config.num_classes}"
    if config.model.family != "timm":
        return None
    found = _of_checkpoint(config.model, config.image_size)[0]  # pyright: ignore[reportArgumentType] frozen
    if found == config.num_classes:
        return None
    return f"it tells {found} classes apart, and {config.upstream.dataset!r} has {config.num_classes}"


def no_activations(config: "RunConfig") -> str | None:
    """Whether the blocks have activation functions that are modules of a known kind, as those of all families have."""
    if config.model.family != "timm":
        return None
    is_found = _of_checkpoint(config.model, config.image_size)[1]  # pyright: ignore[reportArgumentType] frozen
    return None if is_found else "no block of it has an activation function that is known"


def no_blocks(config: "RunConfig") -> str | None:
    """Whether there are two layers to compare, as all families have, or another model to compare one with."""
    if config.model.family != "timm" or config.measure.against is not None:
        return None
    from ..models.layers import layer_names

    found = layer_names(config.model, config.image_size)  # pyright: ignore[reportArgumentType] frozen
    if len(found) > 1:
        return None
    return f"its class has no blocks that are known, so that its one layer is {''.join(found)}"


@lru_cache(maxsize=64)
def _of_checkpoint(model: "TimmConfig", image_size: int) -> tuple[int, bool]:
    """Its number of classes, and whether its blocks have activation functions; builds it on the meta device."""
    import torch

    from .active_neurons import activations

    with torch.device("meta"):
        built = model.build(image_size, 2)
    return built.num_classes, bool(activations(built))  # type: ignore[return-value]
