"""Vision transformers (Dosovitskiy et al. 2020, arXiv 2010.11929), from timm's class."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import model_validator

from ..fields import Count
from .shape import ModelShape

if TYPE_CHECKING:
    from torch import nn

__all__ = ["VitConfig"]


class VitConfig(ModelShape):
    """A vision transformer: `patch` in pixels, `width` and `mlp_dim` in units, `depth` in blocks.

    Heads default to one for each 64 units of width, the MLP to 4 times the width, as in Dosovitskiy et al. 2020.
    """

    family: Literal["vit"] = "vit"
    width: Count
    depth: Count
    patch: Count
    heads: Count
    mlp_dim: Count
    pooling: Literal["avg", "token", "map"] = "avg"

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        width = values.get("width")
        known = width if isinstance(width, int) and width > 0 else 1  # a bad width is reported as such, alone
        return {"heads": max(1, known // 64), "mlp_dim": 4 * known, **values}

    @model_validator(mode="after")
    def _heads_divide_width(self) -> "VitConfig":
        if self.width % self.heads:
            raise ValueError(f"heads must divide width, got {self.heads} heads and width {self.width}")
        return self

    @property
    def variant(self) -> str:
        return f"w{self.width}d{self.depth}/{self.patch}"

    def fitted(self, image_size: int) -> Self:
        if image_size % self.patch:
            divisors = [d for d in range(1, image_size + 1) if image_size % d == 0]
            raise ValueError(
                f"model.vit.patch: must divide the image size {image_size}, one of {divisors}, got {self.patch}"
            )
        return self

    def shape_columns(self, image_size: int) -> dict[str, Any]:
        return {
            "width": self.width,
            "depth": self.depth,
            "num_heads": self.heads,
            "mlp_dim": self.mlp_dim,
            "patch_size": self.patch,
            "num_tokens": (image_size // self.patch) ** 2 + (self.pooling == "token"),
            "pooling": self.pooling,
        }

    def build(self, image_size: int, num_classes: int, drop_path: float = 0.0) -> "nn.Module":
        from timm.models.vision_transformer import VisionTransformer

        return VisionTransformer(
            img_size=image_size,
            patch_size=self.patch,
            num_classes=num_classes,
            embed_dim=self.width,
            depth=self.depth,
            num_heads=self.heads,
            mlp_ratio=(self.mlp_dim + 0.5) / self.width,  # timm multiplies by the width and cuts off
            global_pool=self.pooling,
            class_token=self.pooling == "token",
            drop_path_rate=drop_path,
            weight_init="jax",  # timm's default, a standard deviation of .02, is far too small for narrow models
        )
