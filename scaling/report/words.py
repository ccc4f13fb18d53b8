"""Numbers and intervals as a sentence has them."""

import numpy as np
import pandas as pd

__all__ = ["between", "counted", "number", "short", "values_of"]

_LONGEST = 80


def number(value: float) -> str:
    """Four significant digits.

    >>> number(0.123456), number(3e20), number(float("inf"))
    ('0.1235', '3e+20', 'inf')
    """
    return f"{value:.4g}"


def between(value: float, low: float, high: float) -> str:
    """A value with its interval; that it lies outside is said.

    >>> between(0.1, 0.05, 0.2)
    '0.1 [0.05, 0.2]'
    >>> between(0.1, 0.15, 0.2)
    '0.1 [0.15, 0.2] (outside its interval: do not quote it)'
    """
    outside = " (outside its interval: do not quote it)" if value < low or value > high else ""
    return f"{number(value)} [{number(low)}, {number(high)}]{outside}"


def counted(num: int, what: str) -> str:
    """1 run, 2 runs."""
    return f"{num:,} {what}" + ("" if num == 1 else "s")


def short(text: object, most: int = _LONGEST) -> str:
    """At most so many characters, the middle left out.

    >>> short("abcdefghij", 7)
    'abc…hij'
    """
    text = " ".join(str(text)[: 50 * most].split())
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def values_of(frame: pd.DataFrame, name: str, most: int = 6, longest: int = 40) -> str:
    """The distinct values of a column, the commonest first, "" where there is none."""
    if name not in frame:
        return ""
    values = frame[name].dropna()
    counts = (values.astype(str) if values.dtype == object else values).value_counts()
    more = len(counts) - most
    named = ", ".join(short(_plain(value), longest) for value in counts.index[:most])
    return named + (f" and {more:,} more" if more > 0 else "")


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float | np.floating) else str(value)
