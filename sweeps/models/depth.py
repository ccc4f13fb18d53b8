"""What a deep model takes, from what it takes at one and two units of depth: each further unit adds the same."""

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .cost import ModelCost

if TYPE_CHECKING:
    from ..planning.memory import ModelMemory

__all__ = ["deeper_cost", "deeper_memory", "one_and_two"]

_FEWEST = 3  # units of depth, from which on two shallow models are counted instead


def one_and_two(model: Any) -> tuple[Any, Any] | None:
    """The model with one and with two blocks; None where its blocks are not all alike, or are few.

    >>> from sweeps.models import ResNetConfig, VitConfig
    >>> [each.depth for each in one_and_two(VitConfig(width=64, depth=12, patch=4))]
    [1, 2]
    >>> one_and_two(ResNetConfig(width=8, depth=(3, 4))), one_and_two(VitConfig(width=64, depth=2, patch=4))
    (None, None)
    """
    if "depth" not in type(model).model_fields or not isinstance(model.depth, int) or model.depth < _FEWEST:
        return None
    one, two = (model.model_copy(update={"depth": depth}) for depth in (1, 2))
    return one, two


def deeper_cost(one: ModelCost, two: ModelCost, units: int) -> ModelCost:
    """Of so many units; exact, in whole numbers."""
    return ModelCost(**{name: _linear(value, getattr(two, name), units) for name, value in vars(one).items()})


def deeper_memory(one: "ModelMemory", two: "ModelMemory", units: int) -> "ModelMemory":
    """As `deeper_cost`."""
    more = Counter(two.shapes) - Counter(one.shapes)
    names = ("buffer_bytes", "image_bytes", "input_bytes")
    numbers = {name: _linear(getattr(one, name), getattr(two, name), units) for name in names}
    return replace(one, shapes=one.shapes + tuple(more.elements()) * (units - 1), **numbers)


def _linear(one: Any, two: Any, units: int) -> Any:
    return one + (units - 1) * (two - one)
