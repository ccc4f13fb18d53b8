"""Reading the papers' names of shapes, such as "S/16", and the checks of an image that families share."""

from collections.abc import Mapping
from typing import Any

__all__ = ["STEM_STRIDES", "check_divides", "check_halvings", "check_patch", "look_up", "split_patch"]

STEM_STRIDES = {"small": 1, "imagenet": 4}  # what a residual network's stem divides the image by


def split_patch(variant: str) -> tuple[str, dict[str, int]]:
    """A name's shape and its patch, as a field; a name without one leaves the patch to the spec.

    >>> split_patch("S/16"), split_patch("S")
    (('S', {'patch': 16}), ('S', {}))
    """
    name, slash, patch = variant.partition("/")
    if slash and not patch.isdecimal():
        raise ValueError(f"variant: after the slash stands the patch in pixels, such as S/16, got {variant!r}")
    return name, {"patch": int(patch)} if slash else {}


def look_up(table: Mapping[str, Any], name: str) -> Any:
    """A row of a table of shapes.

    Raises:
        ValueError: no shape has that name.
    """
    if name not in table:
        raise ValueError(f"variant: must be one of {list(table)}, got {name!r}")
    return table[name]


def check_divides(config: Any, part: str, whole: str) -> None:
    """Raises ValueError where a field of a config does not divide another."""
    number, of = getattr(config, part), getattr(config, whole)
    if of % number:
        raise ValueError(f"{part} must divide {whole}, got {number} {part} and {whole} {of}")


def check_patch(field: str, patch: int, image_size: int) -> None:
    """Raises ValueError, with the field's name, where the patch leaves a part of the image over."""
    if image_size % patch:
        divisors = [d for d in range(1, image_size + 1) if image_size % d == 0]
        raise ValueError(f"{field}: must divide the image size {image_size}, one of {divisors}, got {patch}")


def check_halvings(field: str, side: int, halvings: int, got: Any, drops_odd: bool = False) -> None:
    """Raises ValueError, with the field's name, where a halving would meet a map of one pixel, or leave none.

    `side` is that of the map after the stem; `drops_odd` says that a halving leaves out the last row of an odd map.
    """
    smallest = 2**halvings if drops_odd else 2**halvings // 2 + 1
    if side < smallest:
        raise ValueError(
            f"{field}: {halvings} halvings need a map of at least {smallest} pixels a side after the stem, "
            f"which has {side}, got {got}"
        )
