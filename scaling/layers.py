"""The order of a model's layers by their names, from the input to the output."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["layer_order"]

_FIRST = ("embedding",)
_LAST = ("pre_logits", "head")


def layer_order(names: Iterable[str], layers: Sequence[str] | None = None) -> dict[str, int]:
    """Place of each layer from the input, the names in that order.

    Args:
        names: of layers, each once.
        layers: all of them from the input to the output; None: "embedding" first, then by the last number in each name,
            one other name without a number, then "pre_logits" and "head".

    Raises:
        ValueError: layers without an order by name, or `layers` lacks one or has one twice.

    >>> layer_order(["pre_logits", "block_10", "block_9", "embedding"])
    {'embedding': 0, 'block_9': 1, 'block_10': 2, 'pre_logits': 3}
    """
    names = list(names)
    if layers is not None:
        unknown = [name for name in names if name not in layers]
        if unknown or len(set(layers)) < len(layers):
            problem = f"{unknown[0]!r} is missing" if unknown else "one is there twice"
            raise ValueError(f"layers must name each layer of the table once; {problem}")
        return {name: place for place, name in enumerate(layers)}
    places = {name: _place(name) for name in names}
    if len(set(places.values())) < len(names):
        raise ValueError(f"the layers {names[:6]} have no order by number: give layers=, from the input to the output")
    return {name: place for place, name in enumerate(sorted(names, key=lambda name: places[name]))}


def _place(name: str) -> tuple[int, int]:
    if name in _FIRST:
        return (0, _FIRST.index(name))
    if name in _LAST:
        return (3, _LAST.index(name))
    numbers = re.findall(r"\d+", name)
    return (1, int(numbers[-1])) if numbers else (2, 0)
