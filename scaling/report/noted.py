"""Analyses of which some cannot be had: what came out, why it did not, and every warning with where it belongs."""

import warnings
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from ..errors import FitError, FitWarning

__all__ = ["Note", "Notes", "either", "noted"]

_Result = TypeVar("_Result")


class Note(NamedTuple):
    """A warning: its kind ("note" where it is no `FitWarning`), its text, and of what."""

    kind: str
    text: str
    place: str


def noted(place: str, function: Callable[[], _Result]) -> tuple[_Result | None, str, list[Note]]:
    """The result or None, the reason why there is none or "", and what was warned of.

    >>> noted("vit", lambda: int("x"))[1]
    "invalid literal for int() with base 10: 'x'"
    """
    result, reason = None, ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function()
        except ValueError as error:  # a FitError too
            reason = str(error)
    found = {}
    for each in caught:
        kind = each.message.kind if isinstance(each.message, FitWarning) else "note"
        found[Note(kind, str(each.message), place)] = True
    return result, reason, list(found)


class Notes(list[Note]):
    """The warnings of several analyses."""

    def of(self, place: str, function: Callable[[], _Result]) -> tuple[_Result | None, str]:
        """As `noted`; what was warned of is kept here."""
        result, reason, found = noted(place, function)
        self += found
        return result, reason


def either(first: Callable[[], _Result], second: Callable[[], _Result], of_second: str) -> _Result:
    """The first result, or the second where there is none.

    Raises:
        FitError: neither can be had, with both reasons.
    """
    try:
        return first()
    except FitError as one:
        try:
            return second()
        except FitError as other:
            raise FitError(f"{one}; on the {of_second}: {other}") from None
