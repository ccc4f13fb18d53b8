"""Residual networks (He et al. 2016, arXiv 1512.03385), from timm's class, with a stem for images of 28 to 64 px."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from ..fields import Count
from .shape import ModelShape

if TYPE_CHECKING:
    from torch import nn

__all__ = ["ResNetConfig"]

_TIMM_STAGES = 4  # timm's forward pass calls four; those a config leaves out pass their input on


class ResNetConfig(ModelShape):
    """A residual network of basic blocks: `width` channels in the first stage, doubled in each further one."""

    family: Literal["resnet"] = "resnet"
    channels_last: ClassVar[bool] = True
    width: Count = Field(multiple_of=2)
    depth: tuple[Count, ...] = Field(min_length=1, max_length=4)

    @model_validator(mode="after")
    def _two_blocks(self) -> "ResNetConfig":
        if sum(self.depth) < 2:  # timm divides by the number of blocks less one
            raise ValueError(f"depth must hold at least two blocks, got {list(self.depth)}")
        return self

    @property
    def variant(self) -> str:
        return f"w{self.width}d{'-'.join(map(str, self.depth))}"

    def shape_columns(self, image_size: int) -> dict[str, Any]:
        return {"width": self.width, "depth": sum(self.depth), "pooling": "avg"}

    def build(self, image_size: int, num_classes: int, drop_path: float = 0.0) -> "nn.Module":
        from timm.models.resnet import BasicBlock, ResNet
        from torch import nn

        channels = tuple(self.width * 2**stage for stage in range(len(self.depth)))
        # timm's plain stem has 64 channels whatever the width; its deep stem takes one, of which two halves make one.
        model = ResNet(
            BasicBlock,  # pyright: ignore[reportArgumentType]
            self.depth,
            num_classes=num_classes,
            channels=channels,
            stem_type="deep",
            stem_width=self.width // 2,
            drop_path_rate=drop_path,
        )
        # Both stems quarter the image, too much for a small one: one 3x3 convolution at full resolution instead.
        model.conv1 = nn.Conv2d(3, self.width, 3, padding=1, bias=False)
        model.maxpool = nn.Identity()
        for stage in range(len(self.depth), _TIMM_STAGES):
            setattr(model, f"layer{stage + 1}", nn.Identity())
        model.init_weights()
        return model
