"""Residual networks (He et al. 2016, arXiv 1512.03385; v1.5: the stride in the 3x3 convolution), from timm's class."""

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from .names import STEM_STRIDES, check_halvings, look_up
from .shape import Blocks, ModelShape, Width

if TYPE_CHECKING:
    from torch import nn

__all__ = ["SHAPES", "ResNetConfig"]

# He et al. 2016 (arXiv 1512.03385), Table 1: blocks, and how many a stage; 64 channels in the first.
SHAPES: dict[str, tuple[str, tuple[int, ...]]] = {
    "18": ("basic", (2, 2, 2, 2)),
    "34": ("basic", (3, 4, 6, 3)),
    "50": ("bottleneck", (3, 4, 6, 3)),
    "101": ("bottleneck", (3, 4, 23, 3)),
    "152": ("bottleneck", (3, 8, 36, 3)),
}
_WIDTH = 64
_TIMM_STAGES = 4  # timm's forward pass calls four; those a config leaves out pass their input on


class ResNetConfig(ModelShape):
    """A residual network with BatchNorm: `width` channels in the first stage, doubled in each further one.

    Attributes:
        depth: blocks a stage, for one to four stages.
        block: "bottleneck" blocks put out four times the channels of their 3x3 convolution.
        stem: "small" is a 3x3 convolution at full resolution, for images of 28 to 64 px; "imagenet" the paper's
            7x7 convolution and max pooling, which divide the image by 4.

    >>> ResNetConfig(variant="50", stem="imagenet").depth
    (3, 4, 6, 3)
    """

    family: Literal["resnet"] = "resnet"
    channels_last: ClassVar[bool] = True
    width: Width = Field(multiple_of=2)
    depth: tuple[Blocks, ...] = Field(min_length=1, max_length=4)
    block: Literal["basic", "bottleneck"] = "basic"
    stem: Literal["small", "imagenet"] = "small"

    @classmethod
    def shape_of(cls, variant: str) -> dict[str, Any]:
        block, depth = look_up(SHAPES, variant)
        return {"width": _WIDTH, "depth": depth, "block": block}

    @model_validator(mode="after")
    def _two_blocks(self) -> "ResNetConfig":
        if sum(self.depth) < 2:  # timm divides by the number of blocks less one
            raise ValueError(f"depth must hold at least two blocks, got {list(self.depth)}")
        return self

    @property
    def variant(self) -> str:
        names = {shape: name for name, shape in SHAPES.items()}
        if self.width == _WIDTH and (self.block, self.depth) in names:
            return names[self.block, self.depth]
        return f"w{self.width}d{'-'.join(map(str, self.depth))}" + ("b" if self.block == "bottleneck" else "")

    def fitted(self, image_size: int) -> Self:
        side = math.ceil(image_size / STEM_STRIDES[self.stem])
        check_halvings("model.resnet.depth", side, len(self.depth) - 1, list(self.depth))
        return self

    def smallest_batch(self, image_size: int) -> int:
        last_side = math.ceil(image_size / (STEM_STRIDES[self.stem] * 2 ** (len(self.depth) - 1)))
        return 2 if last_side == 1 else 1

    def shape_columns(self, image_size: int) -> dict[str, Any]:
        return {"width": self.width, "depth": sum(self.depth), "pooling": "avg"}

    def build(self, image_size: int, num_classes: int, drop_path: float = 0.0) -> "nn.Module":
        from timm.models.resnet import BasicBlock, Bottleneck, ResNet
        from torch import nn

        channels = tuple(self.width * 2**stage for stage in range(len(self.depth)))
        # timm's plain stem has 64 channels whatever the width; its deep stem takes one, of which two halves make one.
        model = ResNet(
            BasicBlock if self.block == "basic" else Bottleneck,  # pyright: ignore[reportArgumentType]
            self.depth,
            num_classes=num_classes,
            channels=channels,
            stem_type="deep",
            stem_width=self.width // 2,
            drop_path_rate=drop_path,
        )
        if self.stem == "imagenet":
            model.conv1 = nn.Conv2d(3, self.width, 7, stride=2, padding=3, bias=False)
        else:
            model.conv1 = nn.Conv2d(3, self.width, 3, padding=1, bias=False)
            model.maxpool = nn.Identity()
        for stage in range(len(self.depth), _TIMM_STAGES):
            setattr(model, f"layer{stage + 1}", nn.Identity())
        model.init_weights()
        return model
