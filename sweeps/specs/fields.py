"""Kinds of fields that configs and specs are made of; each refuses what it cannot be with one clear line."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

__all__ = ["Amount", "Count", "Fraction", "Radius", "Section", "Whole", "near_name", "no_repeats"]

_LARGEST = 2**31 - 1  # what every library below takes for a whole number


def _no_flag(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


def no_repeats(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """A tuple whose values differ.

    Raises:
        ValueError: a value stands twice.
    """
    if len(set(values)) < len(values):
        raise ValueError("must not repeat a value")
    return values


def near_name(name: str, valid: Iterable[str], *others: str) -> str:
    """What may have been meant by a name that is not valid: the nearest that is, and the others; "" for none.

    >>> near_name("curvatur", ["cka", "curvature"])
    ", did you mean 'curvature'?"
    """
    found = [*get_close_matches(name, list(valid), n=1), *others]
    return f", did you mean {' or '.join(map(repr, found))}?" if found else ""


Count = Annotated[int, BeforeValidator(_no_flag), Field(ge=1, le=_LARGEST)]
Whole = Annotated[int, BeforeValidator(_no_flag), Field(ge=0, le=_LARGEST)]
Amount = Annotated[float, BeforeValidator(_no_flag)]
Radius = Annotated[Amount, Field(gt=0, le=1)]
Fraction = Annotated[float, BeforeValidator(_no_flag), Field(ge=0, lt=1)]


class Section(BaseModel):
    """A part of a config: frozen, and no field that is not named here."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
