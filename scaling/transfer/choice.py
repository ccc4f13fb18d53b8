"""What is lost by choosing a model by another task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..inputs import check_accuracies
from ..prediction import check_level
from ..quantiles import student_quantile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ChoiceLoss", "choice_loss"]


@dataclass(frozen=True, repr=False, eq=False)
class ChoiceLoss:
    """What is lost on a second task by choosing by a first. Made by `choice_loss`.

    Attributes:
        table: a row a bin of equal upstream accuracy; see `choice_loss`.
        mean_loss, mean_loss_at_random: over the bins, each counting once.
        saved, low, high: mean_loss_at_random - mean_loss with its interval, (-1, 1) of a single bin: 0 in it means that
            the first task is not shown to be better than a blind choice.
        level: of the interval.
    """

    table: pd.DataFrame
    mean_loss: float
    mean_loss_at_random: float
    saved: float
    low: float
    high: float
    level: float

    def summary(self) -> str:
        return (
            f"choosing by the first task loses {self.mean_loss:.4f} on the second, a blind choice"
            f" {self.mean_loss_at_random:.4f}: {self.saved:.4f} saved, {self.level:.0%} interval {self.low:.4f} to"
            f" {self.high:.4f} ({len(self.table)} bins, {self.table['num_models'].sum()} models)"
        )

    def __repr__(self) -> str:
        return self.summary()


def choice_loss(
    upstream_accuracy: ArrayLike, first_accuracy: ArrayLike, second_accuracy: ArrayLike, *, width: float = 0.02,
    level: float = 0.95,
) -> ChoiceLoss:  # fmt: skip
    """What is lost on a second task by choosing the model by the first, among models of equal upstream accuracy.

    Args:
        upstream_accuracy, first_accuracy, second_accuracy: fractions, shape (n,).
        width: models whose upstream accuracies fall in one bin of that width count as equal upstream.
        level: of the interval of what is saved: Student's t over the bins, for models that are independent.

    Returns:
        In its `table`, a row a bin of at least two models, upstream accuracy ascending: `upstream` (its middle),
        `num_models`, `chosen` (row of the best model of the first task; of equals the best on the second),
        `first_accuracy`, `second_accuracy` (the chosen model's), `best_second`, `mean_second`, `loss` (best_second -
        second_accuracy) and `loss_at_random` (best_second - mean_second): a choice by the first task that loses as much
        as a blind one tells nothing. The best of more models is better by luck alone, so that a loss grows with
        `num_models`. Beside it the means over the bins, and what is saved against a blind choice.

    Raises:
        ValueError: bad input, or no bin has two models.

    Source: after Abnar et al. 2021 (arXiv 2110.02095), Figures 7 and 30.

    >>> choice_loss([0.50, 0.51, 0.51], [0.7, 0.8, 0.6], [0.4, 0.3, 0.5], width=0.1).table["loss"].round(3).tolist()
    [0.2]
    """
    import pandas as pd

    check_level(level)
    names = ("upstream_accuracy", "first_accuracy"), ("upstream_accuracy", "second_accuracy")
    options = {"below_one": False, "least": 2}
    upstream, first = check_accuracies(upstream_accuracy, first_accuracy, names=names[0], **options)
    _, second = check_accuracies(upstream_accuracy, second_accuracy, names=names[1], **options)
    if not (isinstance(width, int | float | np.number) and 0 < width <= 1):
        raise ValueError(f"width must be a number in (0, 1], got {width!r}")
    bins = np.floor(upstream / width * (1 + 1e-12)).astype(int)  # .06 / .02 is a bin's edge, not just below it
    bins = np.minimum(bins, int(np.ceil(1 / width * (1 - 1e-12))) - 1)  # an accuracy of 1 is in the last one
    rows = []
    for number in np.unique(bins):
        middle = (number * width + min((number + 1) * width, 1.0)) / 2
        rows.append(_choice(np.flatnonzero(bins == number), middle, first, second))
    table = pd.DataFrame([row for row in rows if row["num_models"] > 1])
    if table.empty:
        raise ValueError(f"no two of {upstream.size} models lie in one bin of width {width}")
    return _total(table, level)


def _total(table: pd.DataFrame, level: float) -> ChoiceLoss:
    saved = (table["loss_at_random"] - table["loss"]).to_numpy()
    mean, low, high = float(saved.mean()), -1.0, 1.0
    if saved.size > 1:
        half = student_quantile(level, saved.size - 1) * float(saved.std(ddof=1)) / np.sqrt(saved.size)
        low, high = max(mean - half, -1.0), min(mean + half, 1.0)
    return ChoiceLoss(table, float(table["loss"].mean()), float(table["loss_at_random"].mean()), mean, low, high, level)


def _choice(member: np.ndarray, middle: float, first: np.ndarray, second: np.ndarray) -> dict[str, float]:
    chosen = member[np.lexsort((second[member], first[member]))[-1]]
    best, mean = float(second[member].max()), float(second[member].mean())
    return {
        "upstream": middle, "num_models": member.size, "chosen": int(chosen), "first_accuracy": float(first[chosen]),
        "second_accuracy": float(second[chosen]), "best_second": best, "mean_second": mean,
        "loss": best - float(second[chosen]), "loss_at_random": best - mean,
    }  # fmt: skip
