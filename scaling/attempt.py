"""One fit of many, of which some cannot be had: its result, what it warns of, or why there is none."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import FitError, FitWarning

__all__ = ["attempt", "attempt_each", "table_lines"]

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


def attempt_each(
    ways: Mapping[str, Callable[[], _Result]], none_found: str
) -> tuple[dict[str, _Result], dict[str, str]]:
    """Results by name, and the reason of each that cannot be had. `FitWarning`s are not issued: the results hold them.

    Raises:
        FitError: there is no result, in the words of `none_found`, with each reason.
    """
    results, reasons = {}, {}
    for name, way in ways.items():
        result, _, reason = attempt(way)
        if result is None:
            reasons[name] = reason
        else:
            results[name] = result
    if not results:
        raise FitError(f"{none_found}: " + "; ".join(f"{name}: {why}" for name, why in reasons.items()))
    return results, reasons


def table_lines(table: pd.DataFrame, *names: str, **options: Any) -> str:
    """A table without its `reason`, and each reason once below it after the columns that name what has no fit."""
    failed = table[table["reason"] != ""].drop_duplicates(subset=[*names, "reason"])
    lines = [
        f"{', '.join(map(str, row[:-1]))}: {row[-1]}" for row in failed[[*names, "reason"]].itertuples(index=False)
    ]
    return "\n".join([table.drop(columns="reason").to_string(index=False, **options), *lines])
