"""Which shapes of a family fit into a device's memory, for each of several optimizers, and how fast they train.

The "Shapefinder" of Zhai et al. 2021 (arXiv 2106.04560), section 3.5 and Figure 8: shapes by width, depth, heads and
MLP, in nested regimes of what the optimizer's state leaves room for.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from ..models import ConvNextConfig, MixerConfig, ModelShape, ResNetConfig, VitConfig
from ..models.cost import ModelCost, count_cost
from ..models.depth import deeper_cost, deeper_memory
from .memory import PROCESS_BYTES, ModelMemory, count_memory, memory_of, padded_tokens

__all__ = [
    "AXES", "OUT_OF_MEMORY", "Column", "Found", "columns_of", "cost_at", "find_shapes", "memory_at", "regime_of",
]  # fmt: skip

OUT_OF_MEMORY = "out of memory"
DEPTHS = (6, 12, 18, 24, 32, 40, 48, 56)
_UNITS = (1, 2, 3, 4, 6, 8, 12)  # of depth, of families whose stages have several blocks
_WIDTHS = (192, 384, 512, 768, 1024, 1408, 1664, 2048)
_CHANNELS = (16, 32, 48, 64, 96, 128, 192, 256)
_HEAD_SIZES = (64, 128)
_MLP_RATIOS = (3, 4, 6)
_NUM_CLASSES = 1000


@dataclass(frozen=True)
class Column:
    """Shapes that differ in depth only, in which all their sizes are linear.

    Attributes:
        make: the shape of a number of units of depth.
        units: the numbers that are looked at.
    """

    width: int
    heads: int | None
    mlp_dim: int | None
    make: Callable[[int], ModelShape]
    units: tuple[int, ...]


@dataclass(frozen=True)
class Found:
    """A shape, what it takes and whether it fits.

    Attributes:
        bytes: in all, by optimizer.
        fits: by optimizer.
        image_bytes: activations of an image.
    """

    model: ModelShape
    width: int
    depth: int
    heads: int | None
    mlp_dim: int | None
    num_params: int
    flops_per_image: int
    image_bytes: float
    bytes: dict[str, int]
    fits: dict[str, bool]


def _vit(patch: int) -> Iterator[Column]:
    for width, head_size, ratio in product(_WIDTHS, _HEAD_SIZES, _MLP_RATIOS):
        if width % head_size == 0:
            one = VitConfig(
                width=width, depth=1, patch=patch, heads=width // head_size, mlp_dim=ratio * width, pooling="map"
            )
            yield Column(width, one.heads, one.mlp_dim, _deeper(one), DEPTHS)


def _mixer(patch: int) -> Iterator[Column]:
    for width, ratio in product(_WIDTHS, _MLP_RATIOS):
        one = MixerConfig.model_validate({"width": width, "depth": 1, "patch": patch, "channel_mlp_dim": ratio * width})
        yield Column(width, None, one.channel_mlp_dim, _deeper(one), DEPTHS)


def _resnet(patch: int) -> Iterator[Column]:
    for width, block in product(_CHANNELS, ("basic", "bottleneck")):
        one = ResNetConfig.model_validate({"width": width, "depth": (1, 1, 1, 1), "stem": "imagenet", "block": block})
        yield Column(width, None, None, _deeper(one, (1, 1, 1, 1)), _UNITS)


def _convnext(patch: int) -> Iterator[Column]:
    for width in _CHANNELS:
        one = ConvNextConfig(width=width, depth=(1, 1, 3, 1))
        yield Column(width, None, None, _deeper(one, (1, 1, 3, 1)), _UNITS)


def _deeper(one: ModelShape, stages: tuple[int, ...] | None = None) -> Callable[[int], ModelShape]:
    def make(units: int) -> ModelShape:
        depth = units if stages is None else tuple(units * blocks for blocks in stages)
        return one.model_copy(update={"depth": depth})

    return make


AXES: dict[str, Callable[[int], Iterator[Column]]] = {
    "vit": _vit, "mixer": _mixer, "resnet": _resnet, "convnext": _convnext,
}  # fmt: skip
"""Families whose shapes are enumerated; convolutional ones take no patch."""


def columns_of(family: str, patch: int, image_size: int) -> list[Column]:
    """The columns of a family for images of that size.

    Raises:
        ValueError: a family without such axes, or a patch that does not divide the images.
    """
    if family not in AXES:
        raise ValueError(f"family: shapes are enumerated of {list(AXES)}, got {family!r}")
    columns = list(AXES[family](patch))
    columns[0].make(1).fitted(image_size)
    return columns


def find_shapes(
    columns: Sequence[Column],
    *,
    image_size: int,
    batch_size: int,
    memory: int,
    optimizers: Sequence[str],
    on_accelerator: bool,
) -> list[Found]:
    """Every shape, that with most parameters first.

    Args:
        memory: bytes of the device.
        optimizers: of `sweeps.optimizers.OPTIMIZERS`.
        on_accelerator: pads tokens and computes in bfloat16.
    """
    found = []
    for column in columns:
        for units in column.units:
            counted, cost = memory_at(column, units, image_size), cost_at(column, units, image_size)
            model = column.make(units)
            padding = padded_tokens(model, image_size) if on_accelerator else 1.0
            totals = {
                name: memory_of(
                    counted, images=batch_size, image_bytes=padding * counted.image_bytes, optimizer=name,
                    half=on_accelerator,
                ).total
                for name in optimizers
            }  # fmt: skip
            fits = {name: total + PROCESS_BYTES <= memory for name, total in totals.items()}
            found.append(
                Found(
                    model, column.width, model.shape_columns(image_size)["depth"], column.heads, column.mlp_dim,
                    counted.num_params, cost.flops_per_image, counted.image_bytes, totals, fits,
                )
            )  # fmt: skip
    return sorted(found, key=lambda shape: -shape.num_params)


def regime_of(shape: Found) -> str:
    """The first of the optimizers that it fits with; each that takes less memory takes in all regimes before it."""
    return next((name for name, fits in shape.fits.items() if fits), OUT_OF_MEMORY)


def memory_at(column: Column, units: int, image_size: int) -> ModelMemory:
    """Counted at one and two units of depth; each further unit adds the same."""
    one, two = (_counted(column.make(depth), image_size) for depth in (1, 2))
    return deeper_memory(one, two, units)


def cost_at(column: Column, units: int, image_size: int) -> ModelCost:
    """As `memory_at`. Heads change no count."""
    one, two = (_cost(column.make(depth), image_size) for depth in (1, 2))
    return deeper_cost(one, two, units)


def _counted(model: ModelShape, image_size: int) -> ModelMemory:
    return count_memory(model, image_size, _NUM_CLASSES)  # pyright: ignore[reportArgumentType] frozen, so it has a hash


def _cost(model: ModelShape, image_size: int) -> ModelCost:
    if "heads" in type(model).model_fields:
        model = model.model_copy(update={"heads": 1})
    return _cost_of(model, image_size)  # pyright: ignore[reportArgumentType]


@lru_cache(maxsize=1024)
def _cost_of(model: ModelShape, image_size: int) -> ModelCost:
    return count_cost(model, image_size, _NUM_CLASSES)
