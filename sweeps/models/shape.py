"""What every model family's config has: a shape, its name in the papers, and how timm builds it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, model_validator

from ..specs.fields import Count, Section

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Blocks", "Flag", "KernelSize", "ModelShape", "Width", "drop_path_rates", "read_width"]


def _odd(size: int) -> int:
    if size % 2 == 0:
        raise ValueError("must be odd")
    return size


Width = Annotated[Count, Field(le=2**20)]  # what follows from it, such as four times as much, is a Count too
Blocks = Annotated[Count, Field(le=10_000)]  # to count the FLOPs of more takes minutes
KernelSize = Annotated[Count, Field(le=255), AfterValidator(_odd)]
Flag = Annotated[bool, Field(strict=True)]  # "true" and 1 would escape those who fill in what follows from it

_WIDTH: TypeAdapter[int] = TypeAdapter(Width)


def read_width(values: Mapping[str, Any], field: str = "width") -> int:
    """A given width as its field will read it ("64" is 64), or 1 where it is none: its own field says so, alone.

    >>> read_width({"width": "64"}), read_width({"width": -2})
    (64, 1)
    """
    try:
        return _WIDTH.validate_python(values.get(field))
    except ValidationError:
        return 1


def drop_path_rates(last: float, num_blocks: int) -> list[float]:
    """Stochastic depth's rate of each block, from 0 in the first to `last` in the last; a block alone has 0.

    Source: Huang et al. 2016 (arXiv 1603.09382), section 3.

    >>> drop_path_rates(0.25, 3)
    [0.0, 0.125, 0.25]
    """
    return [last * block / max(1, num_blocks - 1) for block in range(num_blocks)]


class ModelShape(Section):
    """Base of the families' configs. A spec writes the fields, or `variant`, a name of the papers, and what differs.

    Torch and timm are imported in `build`: the state of a sweep is read without them.

    Attributes:
        family: the family's name, a key of `sweeps.models.FAMILIES`.
        channels_last: whether its convolutions are faster with the channels last in memory.
        trainable: False for checkpoints that are only evaluated.
        example: fields of a small shape, by which the tests try a family that they have no shapes of.
    """

    family: str
    channels_last: ClassVar[bool] = False
    trainable: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {}

    @model_validator(mode="before")
    @classmethod
    def _named(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        given = {key: value for key, value in values.items() if key != "variant"}
        # YAML reads the name of a ResNet, 50, as a number.
        named = cls.shape_of(str(values["variant"])) if "variant" in values else {}
        return cls.fill_in({**named, **given})

    @classmethod
    def fill_in(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The fields with those that follow from others where they are not given."""
        return values

    @classmethod
    def shape_of(cls, variant: str) -> dict[str, Any]:
        """The fields of a shape by its name in the papers.

        Raises:
            ValueError: no shape has that name.
        """
        raise ValueError(f"variant: this family has no named shapes, got {variant!r}")

    @property
    def variant(self) -> str:
        """The paper's spelling where the shape is one of its table, else the shape in short."""
        raise NotImplementedError

    def fitted(self, image_size: int) -> Self:
        """The shape for images of that side.

        Raises:
            ValueError: the shape cannot take such images: the field and the fact.
        """
        return self

    def smallest_batch(self, image_size: int) -> int:
        """Images that a training step takes at least: two where BatchNorm would see one value of each channel."""
        return 1

    def shape_columns(self, image_size: int) -> dict[str, Any]:
        """The record's columns `width` to `pooling`."""
        raise NotImplementedError

    def build(self, image_size: int, num_classes: int, drop_path: float = 0.0) -> "nn.Module":
        """A model with timm's interface: `forward`, `forward_features`, `forward_head(x, pre_logits=True)`,
        `get_classifier`. `drop_path` is the rate of stochastic depth in the last block."""
        raise NotImplementedError
