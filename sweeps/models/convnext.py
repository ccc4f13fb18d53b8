"""ConvNeXt (Liu et al. 2022, arXiv 2201.03545), hierarchical and isotropic, from timm's class."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ..specs.fields import Amount, Count
from .names import check_halvings, check_patch, look_up, split_patch
from .shape import Blocks, Flag, KernelSize, ModelShape, Width

if TYPE_CHECKING:
    from torch import nn

__all__ = ["ISOTROPIC", "SHAPES", "ConvNextConfig"]

# Channels of the first stage, doubled in each further one, and blocks a stage. T to XL: Liu et al. 2022, section 3;
# atto to nano: Woo et al. 2023 (arXiv 2301.00808), whose networks have a normalisation more.
SHAPES: dict[str, tuple[int, tuple[int, ...]]] = {
    "atto": (40, (2, 2, 6, 2)),
    "femto": (48, (2, 2, 6, 2)),
    "pico": (64, (2, 2, 6, 2)),
    "nano": (80, (2, 2, 8, 2)),
    "T": (96, (3, 3, 9, 3)),
    "S": (96, (3, 3, 27, 3)),
    "B": (128, (3, 3, 27, 3)),
    "L": (192, (3, 3, 27, 3)),
    "XL": (256, (3, 3, 27, 3)),
}
ISOTROPIC: dict[str, tuple[int, tuple[int, ...]]] = {
    "iso-S": (384, (18,)),
    "iso-B": (768, (18,)),
    "iso-L": (1024, (36,)),
}  # Liu et al. 2022, section 3.3
_PATCH, _ISOTROPIC_PATCH = 4, 16
_TIMM_STAGES = 4  # timm builds four; those a config leaves out are taken off


class ConvNextConfig(ModelShape):
    """A ConvNeXt: `width` channels in the first stage, doubled in each further one, which halves the map.

    A map of an odd side loses its last row and column there, as in the paper's models at other resolutions.

    Attributes:
        depth: blocks a stage, for one to four stages.
        patch: of the stem, in pixels: 4 in the paper, 2 or 1 for images of 28 to 64 px.
        isotropic: one stage of one width, without a norm after the stem, as in section 3.3; `patch` is 16 there.
        kernel_size: of the depthwise convolutions.
        layer_scale: initial value of a factor on each channel of a block; 0 leaves it out, as isotropic ones do.

    >>> ConvNextConfig(variant="iso-S/16").depth
    (18,)
    """

    family: Literal["convnext"] = "convnext"
    channels_last: ClassVar[bool] = True
    width: Width
    depth: tuple[Blocks, ...] = Field(min_length=1, max_length=_TIMM_STAGES)
    patch: Count = _PATCH
    isotropic: Flag = False
    kernel_size: KernelSize = 7
    layer_scale: Amount = Field(default=1e-6, ge=0)

    @classmethod
    def shape_of(cls, variant: str) -> dict[str, Any]:
        name, patch = split_patch(variant)
        width, depth = look_up(SHAPES | ISOTROPIC, name)
        return {"width": width, "depth": depth, **({"isotropic": True} if name in ISOTROPIC else {}), **patch}

    @classmethod
    def fill_in(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {"patch": _ISOTROPIC_PATCH, "layer_scale": 0.0, **values} if values.get("isotropic") is True else values

    @model_validator(mode="after")
    def _one_stage(self) -> "ConvNextConfig":
        if self.isotropic and len(self.depth) > 1:
            raise ValueError(f"depth must be one stage where isotropic is true, got {list(self.depth)}")
        return self

    @property
    def variant(self) -> str:
        names = {shape: name for name, shape in (ISOTROPIC if self.isotropic else SHAPES).items()}
        short = f"{'iso-' if self.isotropic else ''}w{self.width}d{'-'.join(map(str, self.depth))}"
        name = names.get((self.width, self.depth), short)
        return name if name in SHAPES and self.patch == _PATCH else f"{name}/{self.patch}"

    def fitted(self, image_size: int) -> Self:
        check_patch("model.convnext.patch", self.patch, image_size)
        side = image_size // self.patch
        check_halvings("model.convnext.depth", side, len(self.depth) - 1, list(self.depth), drops_odd=True)
        return self

    def shape_columns(self, image_size: int) -> dict[str, Any]:
        tokens = {"num_tokens": (image_size // self.patch) ** 2} if self.isotropic else {}
        return {"width": self.width, "depth": sum(self.depth), "patch_size": self.patch, "pooling": "avg"} | tokens

    def build(self, image_size: int, num_classes: int, drop_path: float = 0.0) -> "nn.Module":
        from timm.models.convnext import ConvNeXt
        from torch import nn

        stages = len(self.depth)
        missing = _TIMM_STAGES - stages
        widths = tuple(self.width * 2**stage for stage in range(stages))
        model = ConvNeXt(
            num_classes=num_classes,
            depths=self.depth + (0,) * missing,  # pyright: ignore[reportArgumentType]
            dims=widths + widths[-1:] * missing,  # pyright: ignore[reportArgumentType]
            kernel_sizes=self.kernel_size,
            ls_init_value=self.layer_scale or None,
            drop_path_rate=drop_path,
        )
        model.stages = model.stages[:stages]
        # Of a stem of 2 pixels timm makes one of 4 by a first stage that halves.
        patches = nn.Conv2d(3, self.width, self.patch, stride=self.patch)
        nn.init.trunc_normal_(patches.weight, std=0.02)  # as timm's other layers
        nn.init.zeros_(patches.bias)  # pyright: ignore[reportArgumentType]
        model.stem[0] = patches
        if self.isotropic:
            model.stem = model.stem[:1]
        return model
