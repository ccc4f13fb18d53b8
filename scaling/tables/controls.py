"""Whether a comparison is controlled, and which row would control it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..frames import check_columns, check_names, column_of, positive_column
from .factors import describe_difference, factor_codes, is_unknown, unequal_pair

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ControlledComparison", "check_comparison"]


@dataclass(frozen=True, repr=False, eq=False)
class ControlledComparison:
    """Two rows, what differs between them, and the controls that are there or missing. Made by `check_comparison`.

    Attributes:
        row_a, row_b: labels.
        metric: its column; `difference` is that of b less that of a.
        is_controlled: the rows differ in one known factor.
        factors: a row a factor: `value_a, value_b, is_equal`.
        amounts: a row an amount, such as images of the data set: `value_a, value_b, ratio` (b / a).
        controls: the rows that would make one-factor comparisons: `beside` (the row that it is compared with), `factor`
            (in which alone it differs from that), `needed` (its values of the factors that the rows do not share),
            `row` (its label, null where the table has none), `is_missing`, and `difference` (metric of the control less
            that of `beside`).
        caveats: what a reader must know.
    """

    row_a: Any
    row_b: Any
    metric: str
    difference: float
    is_controlled: bool
    factors: pd.DataFrame
    amounts: pd.DataFrame
    controls: pd.DataFrame
    caveats: tuple[str, ...]

    def __repr__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """In words: the difference, what it is confounded with, the controls."""
        kind = "controlled" if self.is_controlled else "uncontrolled"
        head = f"{self.row_b} - {self.row_a}: {self.metric} {self.difference:+.4g} ({kind})"
        lines = [f"  caveat: {caveat}" for caveat in self.caveats]
        return "\n".join([head, *lines, *([self.controls.to_string()] if len(self.controls) else [])])


def check_comparison(
    table: pd.DataFrame, row_a: Any, row_b: Any, factors: Sequence[str], metric: str, *, amounts: Sequence[str] = ()
) -> ControlledComparison:
    """Flag a comparison of two rows that differ in more than one factor, and say which controls the table has.

    A control of row a with respect to a factor is a row with b's value of it and a's value of all others.

    Args:
        table, row_a, row_b, factors, metric: as in `one_factor_difference`.
        amounts: columns of positive numbers whose ratio a reader should see, such as images of the data set.

    Raises:
        ValueError: a column or a row is missing, a label occurs twice, a metric is not a finite number, or an
            amount not positive.

    >>> import pandas as pd
    >>> table = pd.DataFrame(
    ...     {"model": ["H/14", "L/16", "H/14"], "data": ["JFT", "I21k", "I21k"], "top1": [88.04, 85.15, 85.13]},
    ...     index=["H JFT", "L I21k", "H I21k"])
    >>> found = check_comparison(table, "L I21k", "H JFT", ["model", "data"], "top1")
    >>> found.is_controlled, found.controls[~found.controls.is_missing].row.tolist()
    (False, ['H I21k', 'H I21k'])
    """
    import pandas as pd

    check_columns(table, metric)
    a, b, unequal = unequal_pair(table, row_a, row_b, factors)
    values = {name: (table[name].iloc[a], table[name].iloc[b]) for name in factors}
    pairs = pd.DataFrame.from_dict(values, orient="index", columns=["value_a", "value_b"])
    pairs["is_equal"] = [name not in unequal for name in factors]
    is_controlled = len(unequal) == 1 and not is_unknown(*unequal.values())
    controls = _controls(table, (a, b), factors, list(unequal), metric) if len(unequal) > 1 else _no_controls()
    sizes = _amounts(table, a, b, check_names("amounts", amounts, table) if amounts != () else [])
    caveats = _caveats(unequal, is_controlled, controls, sizes)
    numbers = column_of(table, metric)
    difference = float(numbers[b] - numbers[a])
    return ControlledComparison(row_a, row_b, metric, difference, is_controlled, pairs, sizes, controls, caveats)


def _controls(
    table: pd.DataFrame, rows: tuple[int, int], factors: Sequence[str], unequal: Sequence[str], metric: str
) -> pd.DataFrame:
    """One candidate for each row and factor: that row with the other row's value of that factor."""
    import pandas as pd

    codes = factor_codes(table, factors)
    numbers = column_of(table, metric)
    found = []
    for here, other in (rows, rows[::-1]):
        for factor in unequal:
            source = {name: other if name == factor else here for name in factors}
            needed = np.array([codes[source[name], place] for place, name in enumerate(factors)])
            text = ", ".join(f"{name} {table[name].iloc[source[name]]}" for name in unequal)
            known = (needed >= 0).all() and codes[here, list(factors).index(factor)] >= 0
            match = np.flatnonzero((codes == needed).all(axis=1) & known)
            row = table.index[match[0]] if match.size else None
            difference = numbers[match[0]] - numbers[here] if match.size else np.nan
            found.append((table.index[here], factor, text, row, not match.size, difference))
    return pd.DataFrame(found, columns=list(_no_controls()))


def _no_controls() -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(columns=["beside", "factor", "needed", "row", "is_missing", "difference"])


def _amounts(table: pd.DataFrame, a: int, b: int, amounts: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    columns = {name: positive_column(table, name) for name in amounts}
    pairs = {name: (values[a], values[b], values[b] / values[a]) for name, values in columns.items()}
    return pd.DataFrame.from_dict(pairs, orient="index", columns=["value_a", "value_b", "ratio"])


def _caveats(
    values: dict[str, tuple[Any, Any]], is_controlled: bool, controls: pd.DataFrame, amounts: pd.DataFrame
) -> tuple[str, ...]:
    found = []
    if not values:
        found.append("no factor differs: as far as the factors tell, these are replicates")
    elif not is_controlled:
        found.append(f"uncontrolled, {describe_difference(values)}: a difference of checkpoints, not of one choice")
    for name, row in amounts.iterrows():
        if row["ratio"] != 1:
            found.append(f"{name}: {row['value_a']:.3g} against {row['value_b']:.3g}, a ratio of {row['ratio']:.3g}")
    missing = controls[controls["is_missing"].astype(bool)]
    for _, row in missing.drop_duplicates("needed").iterrows():
        found.append(f"missing control: {row['beside']} with another {row['factor']} ({row['needed']})")
    return tuple(found)
