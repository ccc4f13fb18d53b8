"""Big Transfer networks (Kolesnikov et al. 2019, arXiv 1912.11370), from timm's class: pre-activation bottleneck
blocks with GroupNorm and weight standardisation, scaled in width and depth by multipliers."""

import math
import re
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ..specs.fields import Count
from .names import STEM_STRIDES, check_divides, check_halvings, look_up
from .shape import Blocks, ModelShape, Width, read_width

if TYPE_CHECKING:
    from torch import nn

__all__ = ["DEPTHS", "VARIANCE_EPS", "BitConfig", "fill_in_groups"]

# He et al. 2016 (arXiv 1512.03385), Table 1; R200: He et al. 2016 (arXiv 1603.05027), section 4.
DEPTHS: dict[str, tuple[int, ...]] = {
    "R50": (3, 4, 6, 3),
    "R101": (3, 4, 23, 3),
    "R152": (3, 8, 36, 3),
    "R200": (3, 24, 36, 3),
}
_WIDTH = 64  # at multiplier 1
_GROUPS = 32  # Wu and He 2018 (arXiv 1803.08494), and BiT
_NAME = re.compile(r"(R\d+)x(\d+)")
VARIANCE_EPS = 1e-8  # of the weight standardisation, as in timm's BiT and hybrids


class BitConfig(ModelShape):
    """A BiT network: `width` channels in the stem and in the 3x3 convolutions of the first stage, doubled in each
    further one, and four times as many between blocks.

    A name such as "R50x1" or "R152x4" gives depth and width, any multiplier of width with R50, R101, R152 and R200.

    Attributes:
        depth: blocks a stage, for one to four stages.
        groups: of GroupNorm; by default at least two channels each, at most 32 groups.
        stem: "small" is a 3x3 convolution at full resolution, for images of 28 to 64 px; "imagenet" the paper's
            7x7 convolution and max pooling, which divide the image by 4.

    >>> BitConfig(variant="R101x3").width
    192
    """

    family: Literal["bit"] = "bit"
    channels_last: ClassVar[bool] = True
    width: Width = Field(multiple_of=8)  # timm rounds others
    depth: tuple[Blocks, ...] = Field(min_length=1, max_length=4)
    groups: Count
    stem: Literal["small", "imagenet"] = "small"

    @classmethod
    def shape_of(cls, variant: str) -> dict[str, Any]:
        match = _NAME.fullmatch(variant)
        depth = look_up(DEPTHS, match[1]) if match else None
        if match is None or not int(match[2]):
            raise ValueError(f"variant: must be one of {list(DEPTHS)} and a multiplier, such as R50x1, got {variant!r}")
        return {"width": _WIDTH * int(match[2]), "depth": depth}

    @classmethod
    def fill_in(cls, values: dict[str, Any]) -> dict[str, Any]:
        return fill_in_groups(values, "width")

    @model_validator(mode="after")
    def _groups_divide_width(self) -> "BitConfig":
        check_divides(self, "groups", "width")
        return self

    @property
    def variant(self) -> str:
        names = {depth: name for name, depth in DEPTHS.items()}
        if self.depth in names and self.width % _WIDTH == 0:
            return f"{names[self.depth]}x{self.width // _WIDTH}"
        return f"w{self.width}d{'-'.join(map(str, self.depth))}"

    def fitted(self, image_size: int) -> Self:
        side = math.ceil(image_size / STEM_STRIDES[self.stem])
        check_halvings("model.bit.depth", side, len(self.depth) - 1, list(self.depth))
        return self

    def shape_columns(self, image_size: int) -> dict[str, Any]:
        return {"width": self.width, "depth": sum(self.depth), "pooling": "avg"}

    def build(self, image_size: int, num_classes: int, drop_path: float = 0.0) -> "nn.Module":
        from functools import partial

        from timm.layers.norm_act import GroupNormAct
        from timm.layers.std_conv import StdConv2d
        from timm.models.resnetv2 import ResNetV2
        from torch import nn

        convolution = partial(StdConv2d, eps=VARIANCE_EPS)
        model = ResNetV2(
            list(self.depth),
            channels=tuple(4 * self.width * 2**stage for stage in range(len(self.depth))),
            num_classes=num_classes,
            stem_chs=self.width,
            stem_type="fixed",
            conv_layer=convolution,
            norm_layer=partial(GroupNormAct, num_groups=self.groups),
            drop_path_rate=drop_path,
        )
        if self.stem == "small":
            model.stem = nn.Sequential(convolution(3, self.width, 3))
            model.init_weights(zero_init_last=False)
        return model


def fill_in_groups(values: dict[str, Any], width_field: str) -> dict[str, Any]:
    """BiT's number of groups or, of a narrower network, the most that leave two channels in each: a group of one
    channel at one pixel is all zero."""
    return {"groups": math.gcd(_GROUPS, max(1, read_width(values, width_field) // 2)), **values}
