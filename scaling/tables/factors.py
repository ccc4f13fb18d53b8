"""What one factor does: the difference of two rows that differ in it and in nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..frames import check_columns, check_names, check_single, column_of, nullable_column
from .labels import check_unique, labelled_row

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "FactorDifference",
    "describe_difference",
    "factor_codes",
    "factor_differences",
    "factor_ranges",
    "factor_steps",
    "is_unknown",
    "one_direction",
    "one_factor_difference",
    "unequal_pair",
]


@dataclass(frozen=True)
class FactorDifference:
    """The metric of row b less that of row a, which differ in one factor. Made by `one_factor_difference`."""

    factor: str
    value_a: Any
    value_b: Any
    row_a: Any
    row_b: Any
    metric: str
    difference: float


def one_factor_difference(
    table: pd.DataFrame, row_a: Any, row_b: Any, factors: Sequence[str], metric: str
) -> FactorDifference:
    """What a factor changes: metric of row b - metric of row a, refused where the rows differ in more than it.

    A factor without a value (null) counts as not held equal: nobody knows that it was. What is not among the factors is
    taken for irrelevant, so the answer is only as fair as their list.

    Args:
        table: a row a model, labelled by the index; a column a factor, and one with the metric in any unit.
        row_a, row_b: labels.
        factors: columns that would have to be equal, such as architecture, recipe, data, teacher, resolution.
        metric: column.

    Raises:
        ValueError: the rows differ in no factor or in more than one (which), a factor is unknown, a column or a row is
            missing, or a label occurs twice.

    Source: the decompositions of Touvron et al. 2020 (arXiv 2012.12877) and Liu et al. 2022 (arXiv 2201.03545).

    >>> import pandas as pd
    >>> table = pd.DataFrame(
    ...     {"recipe": ["old", "modern", "modern"], "teacher": ["none", "none", "RegNetY"], "top1": [76.1, 78.8, 80.0]},
    ...     index=["R50", "R50 modern", "R50 distilled"])
    >>> found = one_factor_difference(table, "R50", "R50 modern", ["recipe", "teacher"], "top1")
    >>> found.factor, round(found.difference, 1)
    ('recipe', 2.7)
    >>> one_factor_difference(table, "R50", "R50 distilled", ["recipe", "teacher"], "top1")
    Traceback (most recent call last):
    ValueError: 'R50' and 'R50 distilled' must differ in one factor; they differ in recipe (old / modern), teacher ...
    """
    a, b, values = unequal_pair(table, row_a, row_b, factors)
    if len(values) != 1 or is_unknown(*values.values()):
        raise ValueError(f"{row_a!r} and {row_b!r} must differ in one factor; {describe_difference(values)}")
    [(factor, ends)] = values.items()
    metric_values = column_of(table, metric)
    return FactorDifference(factor, *ends, row_a, row_b, metric, float(metric_values[b] - metric_values[a]))


def factor_differences(table: pd.DataFrame, factors: Sequence[str], metric: str) -> pd.DataFrame:
    """Every pair of rows, b after a in the table: its one-factor difference, or why it is refused.

    Args:
        table, factors, metric: as in `one_factor_difference`.

    Returns:
        A row a pair: `row_a, row_b, difference` (metric of b - metric of a, for the refused too), `num_unequal`,
        `refused`, `factor, value_a, value_b` (null where refused) and `reason` (empty where not). For n rows it has
        n (n - 1) / 2 rows.

    Raises:
        ValueError: a column is missing, a label occurs twice, or a metric is not a finite number.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"data": ["1k", "300M", "1k"], "size": ["B", "B", "L"], "top1": [77.91, 84.15, 76.53]})
    >>> pairs = factor_differences(table, ["data", "size"], "top1")
    >>> pairs.factor.fillna("").tolist(), pairs.difference.round(2).tolist()
    (['data', 'size', ''], [6.24, -1.38, -7.62])
    >>> pairs.reason[2]
    'they differ in data (300M / 1k), size (B / L)'
    """
    import pandas as pd

    codes = factor_codes(table, factors)
    values = column_of(table, metric)
    a, b = np.triu_indices(len(table), k=1)
    unknown = (codes[a] < 0) | (codes[b] < 0)
    unequal = (codes[a] != codes[b]) | unknown
    count = unequal.sum(axis=1)
    refused = (count != 1) | unknown.any(axis=1)
    which = np.where(refused, -1, unequal.argmax(axis=1)).tolist()
    columns = [table[name].to_numpy(dtype=object) for name in factors]
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))

    def reason(i: int, j: int, places: list[int]) -> str:
        return describe_difference({factors[f]: (columns[f][i], columns[f][j]) for f in places})

    places = [np.flatnonzero(row).tolist() for row in unequal]
    reasons = [reason(*pair, at) if no else "" for pair, at, no in zip(pairs, places, refused, strict=True)]
    labels = table.index.to_numpy(dtype=object)
    return pd.DataFrame(
        {
            "row_a": labels[a], "row_b": labels[b], "factor": [None if f < 0 else factors[f] for f in which],
            "value_a": [None if f < 0 else columns[f][i] for f, (i, _) in zip(which, pairs, strict=True)],
            "value_b": [None if f < 0 else columns[f][j] for f, (_, j) in zip(which, pairs, strict=True)],
            "difference": values[b] - values[a], "num_unequal": count, "refused": refused, "reason": reasons,
        }
    )  # fmt: skip


def factor_ranges(differences: pd.DataFrame) -> pd.DataFrame:
    """The factor table: what each factor changed over the pairs that were not refused.

    Args:
        differences: from `factor_differences`.

    Returns:
        A row a factor, largest mean size first: `num_pairs, lowest, mean, highest` of the differences. The sign is that
        of the later row less the earlier, whatever their values; `factor_steps` keeps the values apart.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"data": ["1k", "300M", "21k"], "top1": [77.91, 84.15, 83.97]})
    >>> factor_ranges(factor_differences(table, ["data"], "top1")).round(2).loc["data"].tolist()
    [3.0, -0.18, 4.04, 6.24]
    """
    import pandas as pd

    kept = _kept(differences)
    grouped = kept.groupby("factor")["difference"].agg(num_pairs="count", lowest="min", mean="mean", highest="max")
    size = kept["difference"].abs().groupby(kept["factor"]).mean()
    return pd.DataFrame(grouped).reindex(size.sort_values(ascending=False).index)


def factor_steps(differences: pd.DataFrame) -> pd.DataFrame:
    """What each change from one value of a factor to another did: the sign is that of the change named.

    Args:
        differences: from `factor_differences`.

    Returns:
        A row a pair of values, by `factor, value_a, value_b`: `num_pairs, lowest, mean, highest` of metric at value_b -
        metric at value_a. Factors as in `factor_ranges`, the largest mean change of each first. The values stand in
        the order of the first pair that has them.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"data": ["1k", "300M", "21k"], "top1": [77.91, 84.15, 83.97]})
    >>> factor_steps(factor_differences(table, ["data"], "top1"))["mean"].round(2).to_dict()
    {('data', '1k', '300M'): 6.24, ('data', '1k', '21k'): 6.06, ('data', '300M', '21k'): -0.18}
    """
    import pandas as pd

    by = ["factor", "value_a", "value_b"]
    grouped = one_direction(differences).groupby(by, sort=False)["difference"]
    steps = pd.DataFrame(grouped.agg(num_pairs="count", lowest="min", mean="mean", highest="max"))
    place = {factor: i for i, factor in enumerate(factor_ranges(differences).index)}
    factor, size = steps.index.get_level_values("factor").map(place), steps["mean"].abs()
    return steps.iloc[np.lexsort((-size, np.asarray(factor)))]


def one_direction(differences: pd.DataFrame) -> pd.DataFrame:
    """The pairs that were not refused, turned so that two values of a factor always stand in one order."""
    kept = _kept(differences).reset_index(drop=True)
    steps = list(zip(kept["factor"], kept["value_a"], kept["value_b"], strict=True))
    first: dict[tuple[Any, Any, Any], bool] = {}
    turn = np.zeros(len(steps), dtype=bool)
    for i, (factor, value_a, value_b) in enumerate(steps):
        turn[i] = (factor, value_b, value_a) in first
        first.setdefault((factor, value_b, value_a) if turn[i] else (factor, value_a, value_b), True)
    back = {"row_a": "row_b", "row_b": "row_a", "value_a": "value_b", "value_b": "value_a"}
    turned = {name: kept[name].where(~turn, kept[other]) for name, other in back.items()}
    return kept.assign(**turned, difference=kept["difference"].where(~turn, -kept["difference"]))


def _kept(differences: pd.DataFrame) -> pd.DataFrame:
    """The pairs that were not refused."""
    check_single(differences, "factor", "value_a", "value_b")
    check_columns(differences, "refused", "row_a", "row_b")
    numbers = nullable_column(differences, "difference")
    return differences.assign(difference=numbers)[~differences["refused"].astype(bool)]


def factor_codes(table: pd.DataFrame, factors: Sequence[str]) -> np.ndarray:
    """The values of factors as whole numbers, shape (rows, factors); -1 is null, which is equal to nothing.

    Raises:
        ValueError: factors or labels that occur twice, a column that is missing or whose values can not be compared.
    """
    import pandas as pd

    names = check_names("factors", factors, table)
    check_unique(table, "a row")
    check_single(table, *names)
    return np.stack([pd.factorize(table[name])[0] for name in names], axis=1)


def unequal_pair(
    table: pd.DataFrame, row_a: Any, row_b: Any, factors: Sequence[str]
) -> tuple[int, int, dict[str, tuple[Any, Any]]]:
    """Places of two rows, and factor -> (value of a, value of b) of the factors that they do not share."""
    codes = factor_codes(table, factors)
    a, b = labelled_row(table, row_a), labelled_row(table, row_b)
    unequal = (codes[a] != codes[b]) | (codes[a] < 0)
    names = [factors[i] for i in np.flatnonzero(unequal).tolist()]
    return a, b, {name: (table[name].iloc[a], table[name].iloc[b]) for name in names}


def describe_difference(values: dict[str, tuple[Any, Any]]) -> str:
    """In words, from factor -> (value of a, value of b)."""
    known = [f"{name} ({a} / {b})" for name, (a, b) in values.items() if not is_unknown((a, b))]
    unknown = [name for name, pair in values.items() if is_unknown(pair)]
    parts = ["they differ in " + ", ".join(known)] if known else []
    parts += [f"not known whether equal: {', '.join(unknown)}"] if unknown else []
    return "; ".join(parts) or "they differ in none"


def is_unknown(pair: tuple[Any, Any]) -> bool:
    """Whether one of two values of a factor is null."""
    import pandas as pd

    return any(bool(pd.isna(value)) for value in pair)
