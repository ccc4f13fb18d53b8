"""One fit of many, of which some cannot be had: its result, what it warns of, or why there is none."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import FitError, FitWarning

__all__ = ["attempt", "table_lines"]

if TYPE_CHECKING:
    import pandas as pd

_Result = TypeVar("_Result")


def attempt(function: Callable[[], _Result]) -> tuple[_Result | None, str, str]:
    """The result or None, the kinds of its `FitWarning`s, comma-separated, and the reason, "" where there is a result.

    Other warnings are issued, other errors raised.

    >>> def refused():
    ...     raise FitError("too few points")
    >>> attempt(refused)
    (None, '', 'too few points')
    """
    result, reason = None, ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function()
        except FitError as error:
            reason = str(error)
    kinds = {}
    for warning in caught:
        if isinstance(warning.message, FitWarning):
            kinds[warning.message.kind] = True
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return result, ", ".join(kinds), reason


def table_lines(table: pd.DataFrame, *names: str, **options: Any) -> str:
    """A table without its `reason`, and each reason once below it after the columns that name what has no fit."""
    failed = table[table["reason"] != ""].drop_duplicates(subset=[*names, "reason"])
    lines = [
        f"{', '.join(map(str, row[:-1]))}: {row[-1]}" for row in failed[[*names, "reason"]].itertuples(index=False)
    ]
    return "\n".join([table.drop(columns="reason").to_string(index=False, **options), *lines])
