"""Frozen features of images: one vector an image of each layer asked for, from one pass."""

from collections.abc import Iterable

import torch
from torch import nn

from ..data.images import Images, normalise
from ..models.layers import layer_outputs, pool
from ..stopping import check_stop

__all__ = ["extract_features"]

_BATCH = 250  # images; what a batch changes is only the speed


@torch.inference_mode()
def extract_features(model: nn.Module, images: Images, layers: Iterable[str]) -> dict[str, torch.Tensor]:
    """What each layer puts out, pooled, float32 (n, width) on the CPU. Puts the model into evaluation mode.

    Only the pooled vectors are held, so memory does not grow with the size of the layers' maps.

    Raises:
        ValueError: a layer puts out values that are not finite.
    """
    model.eval()
    device, names = next(model.parameters()).device, tuple(layers)

    def pooled(output: torch.Tensor) -> torch.Tensor:
        return pool(model, output.float()).contiguous()  # a view would hold the whole output

    parts = []
    for batch in images.batches(_BATCH):
        check_stop()
        found = layer_outputs(model, normalise(batch.pixels.to(device)), names, pooled)
        parts.append({name: output.cpu() for name, output in found.items()})
    features = {name: torch.cat([part[name] for part in parts]) for name in names}
    for name, values in features.items():
        if not values.isfinite().all():
            raise ValueError(f"features of layer {name!r} must be finite, got inf or nan")
    return features
