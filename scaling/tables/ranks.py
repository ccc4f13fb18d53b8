"""Whether the order of models changes from one condition to another, such as the pre-training set."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ..frames import check_names, nullable_column
from ..inputs import check_number
from .labels import check_unique
from .rounding import float_slack

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["RankFlips", "rank_flips"]


@dataclass(frozen=True, repr=False, eq=False)
class RankFlips:
    """Models under several conditions. Made by `rank_flips`.

    Attributes:
        values: a row a model, a column a condition, in the table's own unit; null where a model has no result.
        ranks: 1 is the best among the models that have a result under that condition; equal values share the better
            rank, whatever `tie` is.
        gains: values less those under the first condition.
        flips: a row for each pair of models and of conditions between which their order turns round, with the columns
            `model_a, model_b, condition_1, condition_2, difference_1, difference_2` (a - b).
        missing: (model, condition) without a result: no flip can be seen there.
        tie: differences up to it count as none.
    """

    values: pd.DataFrame
    ranks: pd.DataFrame
    gains: pd.DataFrame
    flips: pd.DataFrame
    missing: tuple[tuple[str, str], ...]
    tie: float

    @property
    def num_flips(self) -> int:
        """Rows of `flips`: a pair of models counts once for each pair of conditions that turns it round."""
        return len(self.flips)

    @property
    def num_flipped_pairs(self) -> int:
        """Pairs of models whose order turns round at least once."""
        return len(self.flips[["model_a", "model_b"]].drop_duplicates())

    def __repr__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Values, flips, and what is missing."""
        lines = [self.values.to_string(), self.counts()]
        lines += [self.flips.to_string()] if len(self.flips) else []
        lines += [f"  missing: {model} under {condition}" for model, condition in self.missing]
        return "\n".join(lines)

    def counts(self) -> str:
        """Such as "rank flips: 7, by 4 of 10 pairs of models (differences up to 0.1: none)"."""
        models = len(self.values)
        rule = f" (differences up to {self.tie:g}: none)" if self.tie else ""
        pairs = f"{self.num_flipped_pairs} of {models * (models - 1) // 2} pairs of models"
        return f"rank flips: {self.num_flips}, by {pairs}{rule}"


def rank_flips(
    table: pd.DataFrame, conditions: Sequence[str] | None = None, *, higher_is_better: bool = True, tie: float = 0.0
) -> RankFlips:
    """Ranks of models under each condition, gains, and every pair whose order turns round.

    A tie under one of the conditions is no flip. Without `tie` the smallest difference orders two models: give it what
    a repeated run changes.

    Args:
        table: a row a model (its index names them, each once), a column a condition.
        conditions: columns to take, in order; all of them without.
        higher_is_better: False for errors and losses.
        tie: differences up to it are ties, in the table's own unit.

    Raises:
        ValueError: a model or a condition occurs twice, fewer than two conditions, a column is missing or not numeric,
            or `tie` is not a number of at least 0.

    Source: Table 5 and Figure 3 of Dosovitskiy et al. 2020 (arXiv 2010.11929).

    >>> import pandas as pd
    >>> table = pd.DataFrame({"ImageNet": [77.91, 76.53], "JFT-300M": [84.15, 87.12]}, index=["B/16", "L/16"])
    >>> rank_flips(table).flips.round(2).to_numpy().tolist()
    [['B/16', 'L/16', 'ImageNet', 'JFT-300M', 1.38, -2.97]]
    """
    import pandas as pd

    check_unique(table, "a row a model")
    names = check_names("conditions", list(table.columns) if conditions is None else conditions, table)
    check_number("tie", tie)
    if len(names) < 2:
        raise ValueError(f"rank flips need at least two conditions, got {names}")
    values = pd.DataFrame({name: nullable_column(table, name) for name in names}, index=table.index)
    printed = values.map("{:.12g}".format).astype(float)  # .1 + .2 ranks with .3
    ranks = printed.rank(ascending=not higher_is_better, method="min")
    gains = values.sub(values[names[0]], axis=0)
    empty = [(str(values.index[i]), str(names[j])) for i, j in np.argwhere(values.isna().to_numpy())]
    return RankFlips(values, ranks, gains, _flips(values, tie), tuple(empty), tie)


def _flips(values: pd.DataFrame, tie: float) -> pd.DataFrame:
    import pandas as pd

    array, models = values.to_numpy(), values.index
    first, second = np.triu_indices(len(models), k=1)
    difference = array[first] - array[second]  # (pairs, conditions)
    is_tie = np.abs(difference) <= tie + float_slack(array[first], array[second])
    order = np.where(is_tie, 0, np.sign(difference))
    rows = []
    for left, right in combinations(range(array.shape[1]), 2):
        for pair in np.flatnonzero(order[:, left] * order[:, right] < 0):
            ends = models[first[pair]], models[second[pair]], values.columns[left], values.columns[right]
            rows.append((*ends, difference[pair, left], difference[pair, right]))
    columns = ["model_a", "model_b", "condition_1", "condition_2", "difference_1", "difference_2"]
    return pd.DataFrame(rows, columns=columns)
