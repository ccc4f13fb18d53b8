"""What every model family's config has: a shape, its name in the papers, and how timm builds it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import model_validator

from ..fields import Section

if TYPE_CHECKING:
    from torch import nn

__all__ = ["ModelShape", "drop_path_rates"]


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
    """

    family: str
    channels_last: ClassVar[bool] = False
    trainable: ClassVar[bool] = True

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

    def shape_columns(self, image_size: int) -> dict[str, Any]:
        """The record's columns `width` to `pooling`."""
        raise NotImplementedError

    def build(self, image_size: int, num_classes: int, drop_path: float = 0.0) -> "nn.Module":
        """A model with timm's interface: `forward`, `forward_features`, `forward_head(x, pre_logits=True)`,
        `get_classifier`. `drop_path` is the rate of stochastic depth in the last block."""
        raise NotImplementedError
