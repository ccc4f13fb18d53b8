"""Vision transformers (Dosovitskiy et al. 2020, arXiv 2010.11929), from timm's class."""

from typing import Any

from timm.models.vision_transformer import VisionTransformer
from torch import nn

from ..config import VitConfig

__all__ = ["build", "shape_columns"]


def build(config: VitConfig, image_size: int, num_classes: int) -> nn.Module:
    return VisionTransformer(
        img_size=image_size,
        patch_size=config.patch,
        num_classes=num_classes,
        embed_dim=config.width,
        depth=config.depth,
        num_heads=config.heads,
        mlp_ratio=(config.mlp_dim + 0.5) / config.width,  # timm multiplies by the width and cuts off
        global_pool=config.pooling,
        class_token=config.pooling == "token",
        weight_init="jax",  # timm's default, a standard deviation of .02, is far too small for narrow models
    )


def shape_columns(config: VitConfig, image_size: int) -> dict[str, Any]:
    return {
        "width": config.width,
        "depth": config.depth,
        "num_heads": config.heads,
        "mlp_dim": config.mlp_dim,
        "patch_size": config.patch,
        "num_tokens": (image_size // config.patch) ** 2 + (config.pooling == "token"),
        "pooling": config.pooling,
    }
