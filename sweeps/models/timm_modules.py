"""A timm model with trained weights, for images of any size scaled to [-1, 1]."""

from functools import lru_cache

import timm
import torch
from timm.models import load_state_dict
from torch import nn

__all__ = ["TrainedModel", "check_takes", "load_trained"]


class TrainedModel(nn.Module):
    """A model for images in [-1, 1], whatever mean and deviation it was trained with."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.num_classes: int = model.num_classes  # type: ignore[assignment]
        # ((x + 1) / 2 - mean) / std in one multiplication and one addition
        mean, std = (torch.tensor(model.pretrained_cfg[key]).view(3, 1, 1) for key in ("mean", "std"))  # type: ignore[index]
        self.scale = nn.Buffer(0.5 / std, persistent=False)
        self.shift = nn.Buffer((0.5 - mean) / std, persistent=False)

    def get_classifier(self) -> nn.Module:
        classifier = self.model.get_classifier()  # type: ignore[operator]
        return nn.ModuleList(classifier) if isinstance(classifier, tuple) else classifier

    def forward_features(self, images: torch.Tensor) -> torch.Tensor:
        return self.model.forward_features(images * self.scale + self.shift)  # type: ignore[operator]

    def forward_head(self, features: torch.Tensor, pre_logits: bool = False) -> torch.Tensor:
        return self.model.forward_head(features, pre_logits=pre_logits)  # type: ignore[operator]

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.model(images * self.scale + self.shift)


def load_trained(name: str, checkpoint: str | None, image_size: int) -> TrainedModel:
    """The named model with the weights of a file, or with timm's own; without weights on the meta device.

    Raises:
        ValueError: the file has other weights than the model.
    """
    on_meta = torch.get_default_device().type == "meta"
    if checkpoint is None:
        model = timm.create_model(name, pretrained=not on_meta)
    else:
        model = _from_file(name, checkpoint, on_meta)
    return TrainedModel(_resized(model, image_size))


@lru_cache(maxsize=256)
def check_takes(name: str, image_size: int) -> None:
    """Nothing, where the model takes images of that size.

    Raises:
        ValueError: it does not.
    """
    try:
        with torch.device("meta"), torch.no_grad():
            model = _resized(timm.create_model(name), image_size).eval()
            model(torch.empty(1, 3, image_size, image_size))
    except (AssertionError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(
            f"model.timm.name: {name!r} cannot take images of {image_size} px: {_one_line(error)}"
        ) from error


def _resized(model: nn.Module, image_size: int) -> nn.Module:
    """With the patches' positions, where it has a fixed number of them, interpolated for that size."""
    patch = getattr(getattr(model, "patch_embed", None), "patch_size", (1,))
    if any(image_size % side for side in patch):
        raise ValueError(f"its patches of {patch[0]} px do not divide the image; set upstream.image_size")
    if hasattr(model, "set_input_size"):
        model.set_input_size(img_size=image_size)  # type: ignore[operator]
    return model


def _from_file(name: str, checkpoint: str, on_meta: bool) -> nn.Module:
    weights = load_state_dict(checkpoint, device="cpu", weights_only=True)
    classifier = timm.get_pretrained_cfg_value(name, "classifier")  # a name, several, or None
    kernel = f"{classifier if isinstance(classifier, str) else (classifier or ['none'])[0]}.weight"
    # Weights without a classifier, as self-supervised ones are, give a model without one.
    model = timm.create_model(name, num_classes=len(weights[kernel]) if kernel in weights else 0)
    try:
        if not on_meta:
            model.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(
            f"model.timm.checkpoint: must hold the weights of {name}, got {checkpoint!r}: {_one_line(error)}"
        ) from error
    return model


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
