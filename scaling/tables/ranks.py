"""Whether the order of models changes from one condition to another, such as the pre-training set."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ..inputs import check_columns
from .labels import check_unique

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
            rank.
        gains: values less those under the first condition.
        flips: a row for each pair of models and of conditions between which their order turns round, with the columns
            `model_a, model_b, condition_1, condition_2, difference_1, difference_2` (a - b).
        missing: (model, condition) without a result: no flip can be seen there.
    """

    values: pd.DataFrame
    ranks: pd.DataFrame
    gains: pd.DataFrame
    flips: pd.DataFrame
    missing: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Values, flips, and what is missing."""
        lines = [self.values.to_string(), f"{len(self.flips)} rank flips"]
        lines += [self.flips.to_string()] if len(self.flips) else []
        lines += [f"  missing: {model} under {condition}" for model, condition in self.missing]
        return "\n".join(lines)


def rank_flips(
    table: pd.DataFrame, conditions: Sequence[str] | None = None, *, higher_is_better: bool = True
) -> RankFlips:
    """Ranks of models under each condition, gains, and every pair whose order turns round.

    A tie under one of the conditions is no flip.

    Args:
        table: a row a model (its index names them, each once), a column a condition.
        conditions: columns to take, in order; all of them without.
        higher_is_better: False for errors and losses.

    Raises:
        ValueError: a model occurs twice, fewer than two conditions, or a column is missing or not numeric.

    Source: Table 5 and Figure 3 of Dosovitskiy et al. 2020 (arXiv 2010.11929).

    >>> import pandas as pd
    >>> table = pd.DataFrame({"ImageNet": [77.91, 76.53], "JFT-300M": [84.15, 87.12]}, index=["B/16", "L/16"])
    >>> rank_flips(table).flips.round(2).to_numpy().tolist()
    [['B/16', 'L/16', 'ImageNet', 'JFT-300M', 1.38, -2.97]]
    """
    import pandas as pd  # here, because it is most of the time of the import

    check_unique(table, "a row a model")
    names = list(table.columns) if conditions is None else list(conditions)
    check_columns(table, *names)
    if len(names) < 2:
        raise ValueError(f"rank flips need at least two conditions, got {names}")
    values = table[names].apply(pd.to_numeric).astype(float)
    ranks = values.rank(ascending=not higher_is_better, method="min")
    gains = values.sub(values[names[0]], axis=0)
    empty = [(str(values.index[i]), str(names[j])) for i, j in np.argwhere(values.isna().to_numpy())]
    return RankFlips(values, ranks, gains, _flips(values), tuple(empty))


def _flips(values: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd  # here, because it is most of the time of the import

    array, models = values.to_numpy(), values.index
    first, second = np.triu_indices(len(models), k=1)
    difference = array[first] - array[second]  # (pairs, conditions)
    rows = []
    for left, right in combinations(range(array.shape[1]), 2):
        for pair in np.flatnonzero(difference[:, left] * difference[:, right] < 0):
            ends = models[first[pair]], models[second[pair]], values.columns[left], values.columns[right]
            rows.append((*ends, difference[pair, left], difference[pair, right]))
    columns = ["model_a", "model_b", "condition_1", "condition_2", "difference_1", "difference_2"]
    return pd.DataFrame(rows, columns=columns)
