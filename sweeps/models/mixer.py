"""MLP-Mixers (Tolstikhin et al. 2021, arXiv 2105.01601), from timm's class."""

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from ..specs.fields import Count
from .names import check_patch, look_up, split_patch
from .shape import Blocks, ModelShape, Width, drop_path_rates, read_width

if TYPE_CHECKING:
    from torch import nn

__all__ = ["SHAPES", "MixerConfig"]


class _Shape(NamedTuple):
    width: int
    depth: int
    token_mlp_dim: int
    channel_mlp_dim: int


SHAPES = {  # Tolstikhin et al. 2021 (arXiv 2105.01601), Table 1
    "S": _Shape(512, 8, 256, 2048),
    "B": _Shape(768, 12, 384, 3072),
    "L": _Shape(1024, 24, 512, 4096),
    "H": _Shape(1280, 32, 640, 5120),
}


class MixerConfig(ModelShape):
    """An MLP-Mixer: `patch` in pixels, `width` in channels, `depth` in blocks.

    The MLP over the tokens defaults to half the width, that over the channels to 4 times, as in the paper.
    """

    family: Literal["mixer"] = "mixer"
    width: Width
    depth: Blocks
    patch: Count
    token_mlp_dim: Count
    channel_mlp_dim: Count

    @classmethod
    def shape_of(cls, variant: str) -> dict[str, Any]:
        name, patch = split_patch(variant)
        return {**look_up(SHAPES, name)._asdict(), **patch}

    @classmethod
    def fill_in(cls, values: dict[str, Any]) -> dict[str, Any]:
        width = read_width(values)
        return {"token_mlp_dim": max(1, width // 2), "channel_mlp_dim": 4 * width, **values}

    @property
    def variant(self) -> str:
        names = {shape: name for name, shape in SHAPES.items()}
        shape = _Shape(self.width, self.depth, self.token_mlp_dim, self.channel_mlp_dim)
        return f"{names.get(shape, f'w{self.width}d{self.depth}')}/{self.patch}"

    def fitted(self, image_size: int) -> Self:
        check_patch("model.mixer.patch", self.patch, image_size)
        return self

    def shape_columns(self, image_size: int) -> dict[str, Any]:
        return {
            "width": self.width,
            "depth": self.depth,
            "mlp_dim": self.channel_mlp_dim,
            "patch_size": self.patch,
            "num_tokens": (image_size // self.patch) ** 2,
            "pooling": "avg",
        }

    def build(self, image_size: int, num_classes: int, drop_path: float = 0.0) -> "nn.Module":
        from timm.layers.drop import DropPath
        from timm.models.mlp_mixer import MlpMixer

        dims = (self.token_mlp_dim, self.channel_mlp_dim)
        model = MlpMixer(
            num_classes=num_classes,
            img_size=image_size,
            patch_size=self.patch,
            num_blocks=self.depth,
            embed_dim=self.width,
            mlp_ratio=tuple((dim + 0.5) / self.width for dim in dims),  # type: ignore[arg-type]  # timm cuts off
        )
        # timm drops every block at one rate; the paper's code, like every other family's, from 0 to that rate.
        for block, rate in zip(model.blocks, drop_path_rates(drop_path, self.depth), strict=True):
            if rate:
                block.drop_path = DropPath(rate)
        return model
