"""From a ResNet to a ConvNeXt, one change at a time (Liu et al. 2022, arXiv 2201.03545, section 2)."""

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from .names import check_halvings, look_up
from .shape import Blocks, Flag, KernelSize, ModelShape, Width

if TYPE_CHECKING:
    from torch import nn

__all__ = ["FLAGS", "STEPS", "ModernisedResNetConfig"]

FLAGS = (
    "patchify_stem", "depthwise", "inverted_bottleneck", "move_up", "gelu", "fewer_activations", "fewer_norms",
    "layer_norm", "separate_downsampling",
)  # fmt: skip

# Liu et al. 2022, section 2 and Table 10, in its order: what each step changes of the one before.
_CHANGES: dict[str, dict[str, Any]] = {
    "resnet50": {"width": 64, "depth": (3, 4, 6, 3), "stem_stride": 4},
    "stage_ratio": {"depth": (3, 3, 9, 3)},
    "patchify_stem": {"patchify_stem": True},
    "depthwise": {"depthwise": True},
    "width": {"width": 96},
    "inverted_bottleneck": {"inverted_bottleneck": True},
    "move_up": {"move_up": True},
    "kernel_5": {"kernel_size": 5},
    "kernel_7": {"kernel_size": 7},
    "gelu": {"gelu": True},
    "fewer_activations": {"fewer_activations": True},
    "fewer_norms": {"fewer_norms": True},
    "layer_norm": {"layer_norm": True},
    "separate_downsampling": {"separate_downsampling": True},
}


def _steps() -> dict[str, dict[str, Any]]:
    steps, fields = {}, {}
    for name, change in _CHANGES.items():
        fields = fields | change
        steps[name] = fields
    return steps


STEPS = _steps()


class ModernisedResNetConfig(ModelShape):
    """A ResNet of bottleneck blocks, and each of the changes that make it a ConvNeXt as one field.

    All flags false with kernel 3 is a ResNet v1.5; all true with kernel 7 has the layers of a ConvNeXt, layer scale
    apart. A name of `STEPS` is the paper's network with all changes up to that one, so that a list of names, with a
    width and depth of one's own or without, is its Figure 2. One initialisation (He normal) serves all of them.

    Attributes:
        width: channels of the spatial convolution in the first stage of a plain network, doubled in each further one.
        depth: blocks a stage, for one to four stages.
        stem_stride: what the stem divides the image by: 4 in the paper (a 7x7 convolution and max pooling), 2 or 1
            for images of 28 to 64 px (a 3x3 convolution).
        kernel_size: of the spatial convolution of a block.
        patchify_stem: a stem of patches that do not overlap.
        depthwise: the spatial convolution is depthwise; the paper widens the network from 64 to 96 with it.
        inverted_bottleneck: blocks put out `width` channels and hold four times as many, instead of the reverse.
        move_up: the spatial convolution is the first of a block.
        gelu: in place of ReLU.
        fewer_activations: one a block, before its last convolution.
        fewer_norms: one a block, after its spatial convolution.
        layer_norm: in place of BatchNorm.
        separate_downsampling: a norm and a 2x2 convolution halve the map between stages, not a stage's first block,
            and a norm follows the pooling.

    >>> config = ModernisedResNetConfig(variant="depthwise", width=32, depth=[1, 1, 1], stem_stride=2)
    >>> config.variant
    'w32d1-1-1k3s2+patchify_stem+depthwise'
    """

    family: Literal["modernised_resnet"] = "modernised_resnet"
    channels_last: ClassVar[bool] = True
    width: Width
    depth: tuple[Blocks, ...] = Field(min_length=1, max_length=4)
    stem_stride: Literal[1, 2, 4] = 2
    kernel_size: KernelSize = 3
    patchify_stem: Flag = False
    depthwise: Flag = False
    inverted_bottleneck: Flag = False
    move_up: Flag = False
    gelu: Flag = False
    fewer_activations: Flag = False
    fewer_norms: Flag = False
    layer_norm: Flag = False
    separate_downsampling: Flag = False

    @classmethod
    def shape_of(cls, variant: str) -> dict[str, Any]:
        return dict(look_up(STEPS, variant))

    @property
    def variant(self) -> str:
        for name, fields in STEPS.items():
            if self == type(self).model_validate(fields):
                return name
        depth = "-".join(map(str, self.depth))
        flags = "".join(f"+{flag}" for flag in FLAGS if getattr(self, flag))
        return f"w{self.width}d{depth}k{self.kernel_size}s{self.stem_stride}{flags}"

    def fitted(self, image_size: int) -> Self:
        if self.patchify_stem and image_size % self.stem_stride:
            raise ValueError(
                f"model.modernised_resnet.stem_stride: must divide the image size {image_size} where patchify_stem is "
                f"true, got {self.stem_stride}"
            )
        side = math.ceil(image_size / self.stem_stride)
        field, halvings = "model.modernised_resnet.depth", len(self.depth) - 1
        check_halvings(field, side, halvings, list(self.depth), drops_odd=self.separate_downsampling)
        return self

    def smallest_batch(self, image_size: int) -> int:
        last_side = math.ceil(image_size / (self.stem_stride * 2 ** (len(self.depth) - 1)))
        one_pixel = last_side == 1 or self.separate_downsampling  # whose last norm follows the pooling
        return 2 if one_pixel and not self.layer_norm else 1

    def shape_columns(self, image_size: int) -> dict[str, Any]:
        return {"width": self.width, "depth": sum(self.depth), "pooling": "avg"}

    def build(self, image_size: int, num_classes: int, drop_path: float = 0.0) -> "nn.Module":
        from .modernised_modules import ModernisedResNet

        return ModernisedResNet(self, num_classes, drop_path)
