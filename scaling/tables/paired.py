"""What one choice does over seeds: runs that differ in it and in nothing else, pair by pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cells import CELL_COLUMNS, last_rows, number_rows
from ..errors import FitWarning, issue
from ..frames import check_columns, check_single, column_of, nullable_column, there_is
from ..prediction import check_level
from ..quantiles import student_quantile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["paired_difference"]


def paired_difference(
    records: pd.DataFrame, column: str, factor: str, a: Any, b: Any, *, by: Sequence[str] | None = None,
    along: Sequence[str] = (), level: float = 0.95,
) -> pd.DataFrame:  # fmt: skip
    """What changing a factor from a to b changes: the mean difference of runs alike in all else, seed by seed.

    A pair are two runs alike in every column of what a run was told to do, seed included, but for the factor; runs
    without a partner are left out and counted. Of each run the last step counts.

    Args:
        records: as `read_records` returns.
        column: of the quantity, such as `upstream_error` or a column of `add_measurements`.
        factor: column, such as `recipe`; a and b: its two values.
        by: columns that tell groups apart, each with a row of the result; None: those in which the pairs differ, but
            for the seed, so that the pairs of a group are its seeds.
        along: columns that change with the factor and belong to it, such as `sam_rho` and `lr` of a recipe.
        level: of the interval.

    Returns:
        A row a group: the columns of `by`, `mean_a`, `mean_b`, `difference` (b less a), `standard_error` over its
        pairs, `low` and `high` of Student's t interval, `num_pairs` and `num_unpaired`, runs without a partner or
        without a value. Of one pair the standard error is null and the interval infinite. It is an interval of the
        choice over such pairs: with pairs of several models, over models as much as over seeds.

    Raises:
        ValueError: a missing column or value of the factor, two runs alike in everything, or no pair: what differs
            along with the factor.

    Warns:
        FitWarning: `dropped_points` where runs have no partner, or no value, as a run that diverged.

    >>> import pandas as pd
    >>> runs = pd.DataFrame({"run_id": list("abcd"), "step": 9, "weights": "last", "recipe": ["adamw", "sam"] * 2,
    ...                      "seed": [0, 0, 1, 1], "upstream_error": [0.30, 0.26, 0.32, 0.26]})
    >>> found = paired_difference(runs, "upstream_error", "recipe", "adamw", "sam")
    >>> found[["difference", "standard_error", "num_pairs"]].round(3).values.tolist()
    [[-0.05, 0.01, 2.0]]
    """
    import pandas as pd

    check_level(level)
    for name, columns in (("by", by), ("along", along)):
        if isinstance(columns, str) or not isinstance(columns, Iterable | None):
            raise ValueError(f"{name} must be a list of columns, got {columns!r}")
    runs = _runs_of(records, column, factor, (a, b), [*(by or ()), *along])
    identity = [name for name in (*CELL_COLUMNS, *(by or ())) if name in runs and name not in (factor, *along)]
    runs["_pair"] = number_rows(runs, list(dict.fromkeys(identity)))
    pairs = _pairs(runs, column, factor, (a, b), identity)
    first = runs.drop_duplicates("_pair").set_index("_pair")
    if by is None:
        by = [name for name in identity if name != "seed" and first.loc[pairs.index, name].nunique(dropna=False) > 1]
    runs["_group"] = number_rows(runs, by)
    groups = runs.drop_duplicates("_pair").set_index("_pair")["_group"]
    rows = []
    for group, of_group in pairs.groupby(groups.loc[pairs.index].to_numpy()):
        num_runs = int((runs["_group"] == group).sum())
        named = {name: first.loc[of_group.index[0], name] for name in by}
        rows.append({**named, **_difference(of_group, level), "num_unpaired": num_runs - 2 * len(of_group)})
    return pd.DataFrame(rows)


def _runs_of(
    records: pd.DataFrame, column: str, factor: str, values: tuple[Any, Any], others: Sequence[str]
) -> pd.DataFrame:
    check_single(records, "run_id", "weights", factor, *others)
    check_columns(records, "step", column)
    records = records.assign(step=column_of(records, "step"))
    known = records[factor].dropna().unique().tolist()
    for value in values:
        if not records[factor].isin([value]).any():
            raise ValueError(f"column {factor!r} has no {value!r}; {there_is(known)}")
    if values[0] == values[1]:
        raise ValueError(f"a and b must be two values of {factor!r}, got {values[0]!r} twice")
    return last_rows(records[records[factor].isin(values)])


def _pairs(
    runs: pd.DataFrame, column: str, factor: str, values: tuple[Any, Any], identity: Sequence[str]
) -> pd.DataFrame:
    """Columns a and b: the quantity of the two runs of each pair, by the number of the pair."""

    twice = runs[runs.duplicated(["_pair", factor], keep=False)]
    if len(twice):
        first, second = twice.sort_values(["_pair", factor], kind="stable")["run_id"].iloc[:2]
        raise ValueError(
            f"runs {first!r} and {second!r} are alike in every column that records hold of a recipe: name what tells"
            f" them apart in `by`, or in `along` where it belongs to {factor!r} ({len(twice)} such)"
        )
    numbers = runs.assign(_value=nullable_column(runs, column)).replace({"_value": np.inf}, np.nan)
    wide = numbers.pivot(index="_pair", columns=factor, values="_value")[list(values)].set_axis(["a", "b"], axis=1)
    pairs = wide.dropna()
    if pairs.empty:
        raise ValueError(
            f"no two runs with a {column!r} differ in {factor!r} alone{_what_else(runs, factor, values, identity)}"
        )
    if num_lost := len(runs) - 2 * len(pairs):
        lost = runs[~runs["_pair"].isin(pairs.index)]["run_id"].iloc[0]
        message = (
            f"{num_lost} of {len(runs)} runs have no partner that differs in {factor!r} alone, or no value of"
            f" {column!r}, as where one diverged; the first is {lost!r}"
        )
        issue(FitWarning("dropped_points", message))
    return pairs


def _what_else(runs: pd.DataFrame, factor: str, values: tuple[Any, Any], identity: Sequence[str]) -> str:
    """Columns that take no value with both values of the factor."""
    a, b = (runs[(runs[factor] == value).to_numpy()] for value in values)
    apart = [name for name in identity if not _known(a, name) & _known(b, name)]
    ends = [f"{name} ({a[name].iloc[0]} / {b[name].iloc[0]})" for name in apart]
    return f": they differ in {', '.join(ends)} too; what belongs to it goes into `along`" if ends else ""


def _known(side: pd.DataFrame, name: str) -> set[Any]:
    return set(side[name].astype(object).where(side[name].notna(), None))


def _difference(pairs: pd.DataFrame, level: float) -> dict[str, Any]:
    change, num = (pairs["b"] - pairs["a"]).to_numpy(), len(pairs)
    mean = float(change.mean())
    error = float(change.std(ddof=1) / np.sqrt(num)) if num > 1 else np.nan
    half = student_quantile(level, num - 1) * error if num > 1 else np.inf
    return {
        "mean_a": float(pairs["a"].mean()), "mean_b": float(pairs["b"].mean()), "difference": mean,
        "standard_error": error, "low": mean - half, "high": mean + half, "num_pairs": num,
    }  # fmt: skip
