"""Rows of a table that agree more than chance allows: a likely error of copying."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

from ..frames import as_numbers, check_columns, check_frame
from ..inputs import check_number
from .audit import checks_table, label_text
from .rounding import half_unit, printed_decimals

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["audit_duplicates"]


def audit_duplicates(table: pd.DataFrame | pd.Series, *, max_expected: float = 0.01) -> pd.DataFrame:
    """Pairs of rows whose printed entries agree where they ought to differ, in all columns or in several.

    Two unrelated entries of a column print alike with a chance of about one unit of the last decimal over the spread of
    the column. A pair is reported where fewer than `max_expected` such pairs are expected in the table. Rows that share
    a value on purpose, one run printed twice, are reported too: which of them is wrong only the authors know.

    Args:
        table: measured values as printed, numbers or strings of them, rows labelled; no columns that were chosen, such
            as sizes, which agree on purpose. A null agrees with nothing; columns of words are left out.
        max_expected: how many pairs by chance are too few to believe in it; larger finds more, and more by chance.

    Returns:
        A row a pair found, columns of every audit: `printed` is 1, the pair seen, `follows` the number expected by
        chance, and `detail` the entries that agree.

    Raises:
        ValueError: `max_expected` is not positive, or the table has no column of numbers.

    >>> import pandas as pd
    >>> errors = pd.Series({"count": 0.093481, "distance": 0.093481, "pets": 0.141252, "dtd": 0.088551})
    >>> audit_duplicates(errors)["where"].tolist()
    ['count = distance']
    """
    import pandas as pd

    check_number("max_expected", max_expected, positive=True)
    frame = table.to_frame() if isinstance(table, pd.Series) else table
    check_frame(frame)
    check_columns(frame, *frame.columns)
    frame = frame.loc[:, [_is_numeric(column) for _, column in frame.items()]]
    if frame.shape[1] == 0:
        raise ValueError("the table has no column of numbers")
    values = np.stack([as_numbers(column) for _, column in frame.items()], axis=1)
    chance = np.array([_chance(column, frame.iloc[:, i]) for i, column in enumerate(values.T)])
    a, b = np.triu_indices(len(frame), k=1)
    equal = values[a] == values[b]
    # As many such pairs as there are pairs of rows, and ways to choose the columns that agree.
    ways = np.array([comb(equal.shape[1], k) for k in range(equal.shape[1] + 1)])[equal.sum(axis=1)]
    expected = a.size * ways * np.prod(np.where(equal, chance, 1.0), axis=1)
    found = np.flatnonzero(equal.any(axis=1) & (expected < max_expected))
    where = [f"{label_text(frame.index[a[i]])} = {label_text(frame.index[b[i]])}" for i in found]
    details = [
        f"{equal[i].sum()} of {equal.shape[1]} entries agree: {', '.join(map(str, frame.columns[equal[i]]))}"
        for i in found
    ]
    ones, limit = np.ones(found.size), np.full(found.size, max_expected)
    return checks_table("duplicate", where, ones, expected[found], limit, np.zeros(found.size), details)


def _is_numeric(column: pd.Series) -> bool:
    """Numbers, or strings of numbers."""
    is_known = ~np.isnan(as_numbers(column))
    return column.dtype != bool and bool(is_known.any() and (is_known | column.isna()).all())


def _chance(column: np.ndarray, printed: pd.Series) -> float:
    """That two entries of a column print alike; 1 where most are equal."""
    is_known = np.isfinite(column)
    known = column[is_known]
    if known.size < 2:
        return 1.0
    unit = 2 * half_unit(printed_decimals(printed[is_known].to_numpy(dtype=object)).max())
    low, high = np.quantile(known, [0.25, 0.75])
    # Twice the middle half is the range of a uniform column, and is not widened by a few far entries.
    spread = min(np.ptp(known), 2 * (high - low))
    return float(min(1.0, unit / max(spread, unit)))
