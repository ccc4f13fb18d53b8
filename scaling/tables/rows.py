"""Two rows of a table of results, task by task: difference, in units of the larger SD, and win, tie or loss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..inputs import check_number, check_same_index, numbers
from .error_cut import error_cut
from .rounding import float_slack

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["OUTCOMES", "RowComparison", "compare_rows"]

OUTCOMES = ("win", "tie", "loss", "undecided")
_PLURALS = {"win": "wins", "tie": "ties", "loss": "losses", "undecided": "undecided"}
_CLEAR_SDS = 2.0  # what a headline counts apart: with few runs less is easily luck


@dataclass(frozen=True, repr=False, eq=False)
class RowComparison:
    """Row a against row b. Made by `compare_rows`.

    Attributes:
        table: a row a task, with the columns

            - `a`, `b`, `difference` (a - b): in the table's own unit;
            - `larger_sd`, and `sd_of`, the rows that have one: "both", "a", "b" or "neither";
            - `difference_in_sd`: difference / larger_sd; null where no SD is printed or the larger one is 0;
            - `outcome`: "win" (of a), "tie", "loss" or "undecided" (a value, or an SD that the tie rule needs, is
              missing);
            - `error_cut`: share of b's error that a takes away; only where `perfect` was given.
        name_a, name_b: of the rows.
        tie_sds: differences up to so many SDs are ties; 0: only equal values are.
        caveats: what a reader must know.
    """

    table: pd.DataFrame
    name_a: str
    name_b: str
    tie_sds: float
    caveats: tuple[str, ...]

    @property
    def num_wins(self) -> int:
        return self._count("win")

    @property
    def num_ties(self) -> int:
        return self._count("tie")

    @property
    def num_losses(self) -> int:
        return self._count("loss")

    @property
    def num_wins_beyond_2_sd(self) -> int:
        """Wins by more than two of the larger SDs; one without an SD is not among them."""
        return self._count_beyond("win")

    @property
    def num_losses_beyond_2_sd(self) -> int:
        """Losses by more than two of the larger SDs; one without an SD is not among them."""
        return self._count_beyond("loss")

    def _count(self, outcome: str) -> int:
        return int((self.table["outcome"] == outcome).sum())

    def _count_beyond(self, outcome: str) -> int:
        rows = self.table[self.table["outcome"] == outcome]
        margin = _CLEAR_SDS * rows["larger_sd"] + float_slack(rows["a"], rows["b"])
        return int((rows["difference"].abs() > margin).sum())

    def __repr__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Counts, the table and the caveats."""
        rule = "equal values" if self.tie_sds == 0 else f"within {self.tie_sds:g} SD"
        counts = ", ".join(self._count_text(outcome) for outcome in OUTCOMES if self._count(outcome))
        head = f"{self.name_a} against {self.name_b}: {counts} (tie: {rule})"
        return "\n".join([head, self.table.to_string(), *(f"  caveat: {caveat}" for caveat in self.caveats)])

    def _count_text(self, outcome: str) -> str:
        """Such as "5 wins (4 beyond 2 SD)"."""
        count = self._count(outcome)
        text = f"{count} {outcome if count == 1 else _PLURALS[outcome]}"
        without = int(((self.table["outcome"] == outcome) & self.table["larger_sd"].isna()).sum())
        if outcome not in ("win", "loss") or self.table["larger_sd"].isna().all():
            return text
        unknown = f", {without} without SD" if without else ""
        return f"{text} ({self._count_beyond(outcome)} beyond {_CLEAR_SDS:g} SD{unknown})"


def compare_rows(
    a: ArrayLike, b: ArrayLike, sd_a: ArrayLike | None = None, sd_b: ArrayLike | None = None, *,
    tasks: Sequence[Any] | None = None, name_a: str = "a", name_b: str = "b", tie_sds: float = 0.0,
    higher_is_better: bool = True, perfect: float | None = None, sd_contains: str | None = None,
) -> RowComparison:  # fmt: skip
    """Compare two rows of results task by task, with the difference in units of the larger of their two SDs.

    A win is any difference, as papers count; the summary says how many are beyond two SDs. A difference in SDs is not a
    test: the number of runs is not in it, nor what the SD leaves out. Values and SDs are in the table's own unit,
    percent or fractions alike; leave out rows that are no results, such as the cost. Values that differ by a
    billionth, less than printed decimals tell, are equal.

    Args:
        a, b: results, shape (n,); nan where one is missing.
        sd_a, sd_b: their standard deviations, shape (n,), nan where none is printed: then the other row's is taken.
        tasks: names, shape (n,); without, the index of `a` where it has one.
        name_a, name_b: of the rows.
        tie_sds: differences of at most so many larger SDs are ties. 0, the default, calls only equal values a tie.
        higher_is_better: False for errors and losses.
        perfect: the value without error, 1 for an accuracy, 100 for one in percent; gives the column `error_cut`,
            null where b has no error.
        sd_contains: what varied between the runs that the SDs were taken over, such as "seed of the fine-tuning".

    Raises:
        ValueError: shapes or the indices of Series differ, an SD or `tie_sds` is negative, or a value lies outside 0 to
            `perfect`.

    Source: Table 2 of Dosovitskiy et al. 2020 (arXiv 2010.11929), whose SDs are over three fine-tuning runs.

    >>> result = compare_rows([87.76, 90.54], [87.54, 90.54], [0.03, 0.03], [0.02, float("nan")])
    >>> result.table.difference_in_sd.round(1).tolist(), result.num_wins, result.num_ties
    ([7.3, 0.0], 1, 1)
    """
    import pandas as pd

    check_same_index(a=a, b=b, sd_a=sd_a, sd_b=sd_b)
    labels = a.index if tasks is None and isinstance(a, pd.Series) else tasks
    values_a, values_b = _row("a", a), _row("b", b)
    sds_a, sds_b = _sds("sd_a", sd_a, values_a), _sds("sd_b", sd_b, values_a)
    if values_a.shape != values_b.shape:
        raise ValueError(f"a and b must be equally long, got {values_a.shape} and {values_b.shape}")
    check_number("tie_sds", tie_sds)
    if labels is not None and (not isinstance(labels, Iterable) or len(list(labels)) != values_a.size):
        raise ValueError(f"tasks must name each of {values_a.size} results, got {labels!r}")
    larger = np.fmax(sds_a, sds_b)
    difference, slack = values_a - values_b, float_slack(values_a, values_b)
    difference[np.abs(difference) <= slack] = 0.0
    margin = np.where(difference == 0, 0.0, tie_sds * larger + slack) if tie_sds else slack
    in_sd = difference / np.where(larger > 0, larger, np.nan)
    kinds = np.array(["neither", "a", "b", "both"])
    table = pd.DataFrame(
        {
            "a": values_a, "b": values_b, "difference": difference, "larger_sd": larger,
            "sd_of": kinds[np.isfinite(sds_a) + 2 * np.isfinite(sds_b)], "difference_in_sd": in_sd,
            "outcome": _outcomes(difference if higher_is_better else -difference, margin),
        },
        index=None if labels is None else pd.Index(list(labels)),
    )  # fmt: skip
    if perfect is not None:
        table["error_cut"] = _cut(values_a, values_b, perfect, higher_is_better)
    return RowComparison(table, name_a, name_b, tie_sds, _caveats(table, name_a, name_b, sd_contains))


def _outcomes(gain: np.ndarray, margin: np.ndarray) -> np.ndarray:
    outcomes = np.where(gain > margin, "win", np.where(gain < -margin, "loss", "tie"))
    return np.where(np.isnan(gain + margin), "undecided", outcomes)


def _cut(a: np.ndarray, b: np.ndarray, perfect: float, higher_is_better: bool) -> np.ndarray:
    check_number("perfect", perfect)
    if not higher_is_better or perfect == 0:
        raise ValueError(f"perfect must be above 0 and the values accuracies, got {perfect!r}")
    known = np.isfinite(a) & np.isfinite(b) & (b != perfect)
    cut = np.full(a.shape, np.nan)
    cut[known] = error_cut(1 - b[known] / perfect, 1 - a[known] / perfect)
    return cut


def _caveats(table: pd.DataFrame, name_a: str, name_b: str, sd_contains: str | None) -> tuple[str, ...]:
    found = []
    if (table["sd_of"] != "neither").any():
        held = f"only {sd_contains}" if sd_contains else "what was not said"
        found.append(f"the SDs contain {held}: a difference of many of them may still be luck of what they leave out")
    for sd_of, text in (("a", f"{name_b} has no SD"), ("b", f"{name_a} has no SD"), ("neither", "no SD")):
        tasks = [str(task) for task in table.index[table["sd_of"] == sd_of]]
        if tasks:
            found.append(f"{text}: {', '.join(tasks)}")
    undecided = [str(task) for task in table.index[table["outcome"] == "undecided"]]
    if undecided:
        found.append(f"undecided, a value or an SD is missing: {', '.join(undecided)}")
    return tuple(found)


def _row(name: str, values: ArrayLike) -> np.ndarray:
    row = numbers(name, values)
    if row.ndim != 1 or np.isinf(row).any():
        raise ValueError(f"{name} must be one row of finite numbers, shape (n,), got shape {row.shape}")
    return row


def _sds(name: str, values: ArrayLike | None, like: np.ndarray) -> np.ndarray:
    sds = np.full(like.shape, np.nan) if values is None else _row(name, values)
    if sds.shape != like.shape or np.any(sds < 0):
        raise ValueError(f"{name} must be one SD a task, at least 0, shape {like.shape}, got {sds.tolist()}")
    return sds
