"""Residual networks (He et al. 2016, arXiv 1512.03385), from timm's class, with a stem for images of 28 to 64 px."""

from typing import Any

from timm.models.resnet import BasicBlock, ResNet
from torch import nn

from ..config import ResNetConfig

__all__ = ["build", "shape_columns"]

_TIMM_STAGES = 4  # timm's forward pass calls four; those a config leaves out pass their input on


def build(config: ResNetConfig, image_size: int, num_classes: int) -> nn.Module:
    channels = tuple(config.width * 2**stage for stage in range(len(config.depth)))
    # timm's plain stem has 64 channels whatever the width; its deep stem takes a width, of which two halves make one.
    model = ResNet(
        BasicBlock,  # pyright: ignore[reportArgumentType]
        config.depth,
        num_classes=num_classes,
        channels=channels,
        stem_type="deep",
        stem_width=config.width // 2,
    )
    # Both stems quarter the image, too much for a small one: one 3x3 convolution at full resolution instead.
    model.conv1 = nn.Conv2d(3, config.width, 3, padding=1, bias=False)
    model.maxpool = nn.Identity()
    for stage in range(len(config.depth), _TIMM_STAGES):
        setattr(model, f"layer{stage + 1}", nn.Identity())
    model.init_weights()
    return model


def shape_columns(config: ResNetConfig, image_size: int) -> dict[str, Any]:
    return {"width": config.width, "depth": sum(config.depth), "pooling": "avg"}
