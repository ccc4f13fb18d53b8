"""Vision transformers (Dosovitskiy et al. 2020, arXiv 2010.11929), from timm's class."""

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from pydantic import model_validator

from ..specs.fields import Count
from .names import check_divides, check_patch, look_up, split_patch
from .shape import Blocks, Flag, ModelShape, Width, read_width

if TYPE_CHECKING:
    from torch import nn

__all__ = ["SHAPES", "VitConfig", "VitShape"]


class VitShape(NamedTuple):
    width: int
    depth: int
    mlp_dim: int
    heads: int


# Zhai et al. 2021 (arXiv 2106.04560), Table 2, in which B and L are those of Dosovitskiy et al. 2020, Table 1;
# H from there; mu, M, So400m, g-opt, G-opt and e from the table of google-research/big_vision, models/vit.py.
SHAPES = {
    "mu": VitShape(32, 1, 128, 2),
    "s": VitShape(256, 6, 1024, 8),
    "Ti": VitShape(192, 12, 768, 3),
    "S": VitShape(384, 12, 1536, 6),
    "M": VitShape(512, 12, 2048, 8),
    "B": VitShape(768, 12, 3072, 12),
    "L": VitShape(1024, 24, 4096, 16),
    "So400m": VitShape(1152, 27, 4304, 16),
    "H": VitShape(1280, 32, 5120, 16),
    "g": VitShape(1408, 40, 6144, 16),
    "g-opt": VitShape(1536, 40, 6144, 16),
    "G": VitShape(1664, 48, 8192, 16),
    "G-opt": VitShape(1536, 48, 8192, 16),
    "e": VitShape(1792, 56, 15360, 16),
}


class VitConfig(ModelShape):
    """A vision transformer: `patch` in pixels, `width` and `mlp_dim` in units, `depth` in blocks.

    Heads default to one for each 64 units of width, the MLP to 4 times the width, as in Dosovitskiy et al. 2020.

    Attributes:
        pooling: "avg" of the tokens, "token" is the class token, "map" attends to them from one learned query (the
            MAP head of Zhai et al. 2021, section 3.2; part of the body in every count).
        positions: "sincos2d" is fixed (Chen et al. 2021, arXiv 2104.02057): not trained and not counted.
        num_tokens: how many patches an image has, in place of `patch`, which then follows from the image size; the
            class token is not one of them.
        distilled: a distillation token beside the class token (Touvron et al. 2020, arXiv 2012.12877, section 4). In
            training the model returns a pair, logits of the class token and of the distillation token; in evaluation
            their mean. Its classifier holds both kernels.

    >>> VitConfig(variant="S/16", patch=4).variant
    'S/4'
    """

    family: Literal["vit"] = "vit"
    width: Width
    depth: Blocks
    patch: Count | None
    heads: Count
    mlp_dim: Count
    pooling: Literal["avg", "token", "map"] = "avg"
    positions: Literal["learned", "sincos2d"] = "learned"
    num_tokens: Count | None = None
    distilled: Flag = False

    @classmethod
    def shape_of(cls, variant: str) -> dict[str, Any]:
        name, patch = split_patch(variant)
        return {**look_up(SHAPES, name)._asdict(), **patch}

    @classmethod
    def fill_in(cls, values: dict[str, Any]) -> dict[str, Any]:
        filled = fill_in_width(values)
        if filled.get("num_tokens") is not None:
            filled = {"patch": None, **filled}
        return {"pooling": "token", **filled} if filled.get("distilled") is True else filled

    @model_validator(mode="after")
    def _fits_together(self) -> "VitConfig":
        check_divides(self, "heads", "width")
        if (self.patch is None) == (self.num_tokens is None):
            raise ValueError(f"give one of patch and num_tokens, got {self.patch} and {self.num_tokens}")
        if self.num_tokens and math.isqrt(self.num_tokens) ** 2 != self.num_tokens:
            raise ValueError(f"num_tokens must be a square such as 16, 49 or 64, got {self.num_tokens}")
        if self.positions == "sincos2d" and self.width % 4:
            raise ValueError(f"width must be a multiple of 4 for positions 'sincos2d', got {self.width}")
        if self.distilled and self.pooling != "token":
            raise ValueError(f"distilled needs pooling 'token', got {self.pooling!r}")
        return self

    @property
    def variant(self) -> str:
        patch = self.patch or f"{self.num_tokens} tokens"
        return f"{vit_name(self.width, self.depth, self.mlp_dim, self.heads)}/{patch}"

    def fitted(self, image_size: int) -> Self:
        if self.patch is not None:
            check_patch("model.vit.patch", self.patch, image_size)
            return self
        side = math.isqrt(self.num_tokens or 0)
        if image_size % side:
            raise ValueError(
                f"model.vit.num_tokens: its root must divide the image size {image_size}, got {self.num_tokens}"
            )
        return self.model_copy(update={"patch": image_size // side, "num_tokens": None})

    def shape_columns(self, image_size: int) -> dict[str, Any]:
        patch = self.fitted(image_size).patch
        assert patch is not None  # fitted gives one
        return {
            "width": self.width,
            "depth": self.depth,
            "num_heads": self.heads,
            "mlp_dim": self.mlp_dim,
            "patch_size": patch,
            "num_tokens": (image_size // patch) ** 2 + (self.pooling == "token") + self.distilled,
            "pooling": self.pooling,
        }

    def build(self, image_size: int, num_classes: int, drop_path: float = 0.0) -> "nn.Module":
        from timm.models.vision_transformer import VisionTransformer

        from .vit_modules import DistilledVit, fix_positions

        model = (DistilledVit if self.distilled else VisionTransformer)(
            img_size=image_size,
            patch_size=self.patch or self.fitted(image_size).patch or 0,
            num_classes=num_classes,
            global_pool=self.pooling,
            class_token=self.pooling == "token",
            no_embed_class=self.positions == "sincos2d",  # an extra token has no place in the grid
            **transformer_arguments(self, drop_path),
        )
        return fix_positions(model) if self.positions == "sincos2d" else model


def fill_in_width(values: dict[str, Any]) -> dict[str, Any]:
    """Heads and MLP from the width where they are not given."""
    width = read_width(values)
    return {"heads": max(1, width // 64), "mlp_dim": 4 * width, **values}


def vit_name(width: int, depth: int, mlp_dim: int, heads: int) -> str:
    """The paper's name of a transformer, else its width and depth."""
    names = {shape: name for name, shape in SHAPES.items()}
    return names.get(VitShape(width, depth, mlp_dim, heads), f"w{width}d{depth}")


def transformer_arguments(config: Any, drop_path: float) -> dict[str, Any]:
    """What timm calls the blocks' sizes."""
    return {
        "embed_dim": config.width,
        "depth": config.depth,
        "num_heads": config.heads,
        "mlp_ratio": (config.mlp_dim + 0.5) / config.width,  # timm multiplies by the width and cuts off
        "drop_path_rate": drop_path,
        "weight_init": "jax",  # timm's default, a standard deviation of .02, is far too small for narrow models
    }
