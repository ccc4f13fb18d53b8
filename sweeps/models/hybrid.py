"""Hybrids (Dosovitskiy et al. 2020, arXiv 2010.11929, section 3.1): a vision transformer on a ResNet's feature map."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ..specs.fields import Count
from .bit import VARIANCE_EPS, fill_in_groups
from .names import STEM_STRIDES, check_divides, look_up, split_patch
from .shape import Blocks, ModelShape, Width
from .vit import SHAPES, fill_in_width, transformer_arguments, vit_name

if TYPE_CHECKING:
    from torch import nn

__all__ = ["STEMS", "HybridConfig"]

# Blocks a stage by the stem's name and its stride. R50: Dosovitskiy et al. 2020, section 4.1: the whole of it, or its
# fourth stage's blocks added to the third; R26: Steiner et al. 2021 (arXiv 2106.10270), section 3.
STEMS = {
    ("R50", 32): (3, 4, 6, 3),
    ("R50", 16): (3, 4, 9),
    ("R26", 32): (2, 2, 2, 2),
}
_STEM_WIDTH = 64


class HybridConfig(ModelShape):
    """A vision transformer whose tokens are the pixels of the last map of a ResNet (GroupNorm, weight standardisation).

    A name such as "R50+B/16" gives all of it, with the stem of the paper; the number is how many pixels of the image
    make a token.

    Attributes:
        stem_width: channels of the 3x3 convolutions of the ResNet's first stage, doubled in each further one.
        stem_depth: blocks a stage, for one to four stages.
        groups: of GroupNorm; by default at least two channels each, at most 32 groups.
        stem: "small" is a 3x3 convolution at full resolution, for images of 28 to 64 px; "imagenet" the paper's
            7x7 convolution and max pooling, which divide the image by 4.
        pooling: as in `VitConfig`.

    >>> HybridConfig(variant="R50+B/16").stem_depth
    (3, 4, 9)
    """

    family: Literal["hybrid"] = "hybrid"
    channels_last: ClassVar[bool] = True
    stem_width: Width = Field(multiple_of=8)  # timm rounds others
    stem_depth: tuple[Blocks, ...] = Field(min_length=1, max_length=4)
    groups: Count
    stem: Literal["small", "imagenet"] = "small"
    width: Width
    depth: Blocks
    heads: Count
    mlp_dim: Count
    pooling: Literal["avg", "token", "map"] = "avg"

    @classmethod
    def shape_of(cls, variant: str) -> dict[str, Any]:
        stem, plus, body = variant.partition("+")
        name, patch = split_patch(body)
        known = {(f"{stem}+", stride): depth for (stem, stride), depth in STEMS.items()}
        if (stem + plus, patch.get("patch")) not in known:
            names = [f"{stem}+B/{stride}" for stem, stride in STEMS]
            raise ValueError(f"variant: must be such as {names}, with any name of a vit, got {variant!r}")
        depth = known[stem + plus, patch["patch"]]
        stem_fields = {"stem": "imagenet", "stem_width": _STEM_WIDTH, "stem_depth": depth}
        return stem_fields | look_up(SHAPES, name)._asdict()

    @classmethod
    def fill_in(cls, values: dict[str, Any]) -> dict[str, Any]:
        return fill_in_groups(fill_in_width(values), "stem_width")

    @model_validator(mode="after")
    def _fits_together(self) -> "HybridConfig":
        check_divides(self, "heads", "width")
        check_divides(self, "groups", "stem_width")
        return self

    @property
    def stride(self) -> int:
        """How many pixels of the image make a token, along a side."""
        return STEM_STRIDES[self.stem] * 2 ** (len(self.stem_depth) - 1)

    @property
    def variant(self) -> str:
        names = {(_STEM_WIDTH, "imagenet", depth, stride): name for (name, stride), depth in STEMS.items()}
        short = f"r{self.stem_width}d{'-'.join(map(str, self.stem_depth))}"
        stem = names.get((self.stem_width, self.stem, self.stem_depth, self.stride), short)
        return f"{stem}+{vit_name(self.width, self.depth, self.mlp_dim, self.heads)}/{self.stride}"

    def fitted(self, image_size: int) -> Self:
        if image_size % self.stride:
            raise ValueError(
                f"model.hybrid.stem_depth: {len(self.stem_depth)} stages and the {self.stem!r} stem divide the image "
                f"by {self.stride}, which must divide the image size {image_size}, got {list(self.stem_depth)}"
            )
        return self

    def shape_columns(self, image_size: int) -> dict[str, Any]:
        return {
            "width": self.width,
            "depth": self.depth,
            "num_heads": self.heads,
            "mlp_dim": self.mlp_dim,
            "patch_size": self.stride,
            "num_tokens": (image_size // self.stride) ** 2 + (self.pooling == "token"),
            "pooling": self.pooling,
        }

    def build(self, image_size: int, num_classes: int, drop_path: float = 0.0) -> "nn.Module":
        from functools import partial

        from timm.layers.hybrid_embed import HybridEmbed
        from timm.models.vision_transformer import VisionTransformer

        return VisionTransformer(
            img_size=image_size,
            patch_size=1,
            num_classes=num_classes,
            global_pool=self.pooling,
            class_token=self.pooling == "token",
            embed_layer=partial(HybridEmbed, backbone=self._backbone()),
            **transformer_arguments(self, drop_path),
        )

    def _backbone(self) -> "nn.Module":
        from functools import partial

        from timm.layers.norm_act import GroupNormAct
        from timm.layers.std_conv import StdConv2dSame
        from timm.models.resnetv2 import ResNetV2
        from torch import nn

        convolution = partial(StdConv2dSame, eps=VARIANCE_EPS)
        norm = partial(GroupNormAct, num_groups=self.groups)
        backbone = ResNetV2(
            list(self.stem_depth),
            channels=tuple(4 * self.stem_width * 2**stage for stage in range(len(self.stem_depth))),
            num_classes=0,
            global_pool="",
            stem_chs=self.stem_width,
            stem_type="same",
            preact=False,
            conv_layer=convolution,
            norm_layer=norm,
        )
        if self.stem == "small":
            backbone.stem = nn.Sequential(convolution(3, self.stem_width, 3), norm(self.stem_width))
        return backbone
