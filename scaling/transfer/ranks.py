"""What the order of models on one task says of their order on another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..frames import check_frame, column_of
from ..groups import number_groups
from ..inputs import check_accuracies, check_same_index
from ..prediction import check_level
from ..quantiles import student_quantile
from .correlations import is_constant

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["discordant_pairs", "rank_correlations"]

_PAIRS_AT_ONCE = 1 << 22  # pairs of models compared at once: blocks of 4 MB


def rank_correlations(values: pd.DataFrame, against: pd.DataFrame | None = None) -> pd.DataFrame:
    """Spearman's rank correlation of every two columns, over all models.

    Args:
        values: a row a model, a column a task; accuracies or errors, alike in all columns.
        against: other columns of the same models, e.g. upstream sets; None: the columns themselves.

    Returns:
        A matrix, tasks down; across, those of `against`. Ties share the mean of their ranks.

    Raises:
        ValueError: a value is missing or not finite, a column is constant, or the rows are other models.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Figures 31 (downstream x downstream) and 32 (downstream x upstream).

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"pets": [0.5, 0.6, 0.9], "cars": [0.2, 0.3, 0.7], "dtd": [0.5, 0.4, 0.1]})
    >>> rank_correlations(frame).round(3).loc["pets"].tolist()
    [1.0, 1.0, -1.0]
    """
    import pandas as pd

    other = values if against is None else against
    for frame in (values, other):
        check_frame(frame)
    if not values.index.equals(other.index):
        raise ValueError("values and against must have the same models in the same order: their indices differ")
    down, across = _standard_ranks(values), _standard_ranks(other)
    matrix = np.clip(down.T @ across, -1.0, 1.0)
    return pd.DataFrame(matrix, index=values.columns, columns=other.columns)


def _standard_ranks(values: pd.DataFrame) -> np.ndarray:
    """Ranks of each column, centred and of norm one; (n, m)."""
    from scipy.stats import rankdata

    if len(values) < 3:
        raise ValueError(f"a rank correlation needs at least 3 models, got {len(values)}")
    if not len(values.columns) or not values.columns.is_unique:
        raise ValueError(f"the columns must be tasks of different names, got {list(values.columns)[:12]}")
    columns = np.stack([column_of(values, name) for name in values.columns], axis=1)
    constant = np.flatnonzero(is_constant(columns, axis=0))
    if constant.size:
        raise ValueError(f"column {values.columns[constant[0]]!r} is constant: it has no order of models")
    ranks = rankdata(columns, axis=0)
    ranks -= ranks.mean(axis=0)
    return ranks / np.linalg.norm(ranks, axis=0)


def discordant_pairs(
    upstream_accuracy: ArrayLike,
    downstream_accuracy: ArrayLike,
    *,
    level: float = 0.95,
    groups: ArrayLike | None = None,
) -> pd.DataFrame:
    """How often, of two models, one is better upstream and the other downstream.

    Of the pairs that differ on both sides; pairs tied on one are counted apart. A share of .5 is no relation at all,
    and 1 - 2 share is Kendall's tau where nothing is tied.

    The interval is the jackknife over models with Student's t, on the logit: it says how much the share depends on the
    models at hand, as if they were drawn independently from a population of such models, and covers that population's
    in .93 to .995 of simulations (normal accuracies, 12 to 120 models, shares .05 to .5). Models of one trunk or family
    are not independent: give `groups`. Which models are the upper half is held fixed.

    Args:
        upstream_accuracy, downstream_accuracy: fractions, shape (n,).
        level: of the interval.
        groups: a label a model; a group's models are left out together.

    Returns:
        Two rows, `models` "all" and "upper_half" (upstream accuracy at least the median): `num_models, num_pairs,
        num_tied, share, low, high, reason`; where no pair of the upper half differs on both sides its share is null,
        the interval (0, 1), and `reason` says so, else "".

    Raises:
        ValueError: bad input, or no pair of all models differs on both sides.

    >>> table = discordant_pairs([0.1, 0.2, 0.3, 0.4], [0.3, 0.4, 0.6, 0.5])
    >>> table[["models", "num_pairs", "share"]].round(3).values.tolist()
    [['all', 6, 0.167], ['upper_half', 1, 1.0]]
    """
    import pandas as pd

    check_level(level)
    check_same_index(upstream_accuracy=upstream_accuracy, groups=groups)
    upstream, downstream = check_accuracies(upstream_accuracy, downstream_accuracy, below_one=False, least=2)
    place = np.arange(upstream.size) if groups is None else number_groups(groups, upstream.size)[1]
    halves = (("all", np.ones(upstream.size, dtype=bool)), ("upper_half", upstream >= np.median(upstream)))
    rows = [{"models": name, **_share(upstream[m], downstream[m], place[m], level)} for name, m in halves]
    if rows[0]["num_pairs"] == 0:
        raise ValueError(f"none of the pairs of {upstream.size} models differs in upstream and downstream accuracy")
    return pd.DataFrame(rows)


def _share(upstream: np.ndarray, downstream: np.ndarray, place: np.ndarray, level: float) -> dict[str, Any]:
    """The share of discordant pairs of models, with the interval that leaving out one group at a time gives."""
    n, (labels, place) = upstream.size, np.unique(place, return_inverse=True)
    each = _count_pairs(upstream, downstream)
    if each[1].sum() == 0:
        counts = {"num_models": n, "num_pairs": 0, "num_tied": n * (n - 1) // 2}
        return counts | {"share": np.nan, "low": 0.0, "high": 1.0, "reason": "no pair differs on both sides"}
    total = each.sum(axis=1) / 2
    gone = np.stack([np.bincount(place, counts) for counts in each])
    for group in np.flatnonzero(np.bincount(place) > 1):  # a pair within a group was counted at both its models
        member = place == group
        gone[:, group] -= _count_pairs(upstream[member], downstream[member]).sum(axis=1) / 2
    num_pairs = round(total[1])
    low, high = _jackknife_interval(total, gone, len(labels), level)
    return {
        "num_models": n, "num_pairs": num_pairs, "num_tied": n * (n - 1) // 2 - num_pairs,
        "share": float(total[0] / total[1]), "low": low, "high": high, "reason": "",
    }  # fmt: skip


def _count_pairs(upstream: np.ndarray, downstream: np.ndarray) -> np.ndarray:
    """Of each model, the discordant pairs and the pairs that differ on both sides; shape (2, n)."""
    counts = np.zeros((2, upstream.size))
    step = max(_PAIRS_AT_ONCE // upstream.size, 1)
    for start in range(0, upstream.size, step):
        rows = slice(start, start + step)
        above, below = upstream[rows, None] > upstream, upstream[rows, None] < upstream
        better, worse = downstream[rows, None] > downstream, downstream[rows, None] < downstream
        counts[0, rows] = np.count_nonzero((above & worse) | (below & better), axis=1)
        counts[1, rows] = np.count_nonzero((above | below) & (better | worse), axis=1)
    return counts


def _jackknife_interval(total: np.ndarray, gone: np.ndarray, num_groups: int, level: float) -> tuple[float, float]:
    """Of total[0] / total[1] where leaving out a group takes the pairs `gone` (2, num_groups); (0, 1) of few groups.

    A share of 0 or 1 is one in every group: then the exact bound of as many pairs as there are without a common group.
    """
    from scipy.special import expit, logit

    share, tail = total[0] / total[1], (1 - level) / 2
    bound = 1 - tail ** (1 / max(num_groups // 2, 1))
    if share in (0, 1):
        return (0.0, bound) if share == 0 else (1 - bound, 1.0)
    left = total[:, None] - gone
    if num_groups < 3 or np.any(left[1] == 0):
        return 0.0, 1.0
    shares = left[0] / left[1]
    error = np.sqrt((num_groups - 1) / num_groups * np.sum((shares - shares.mean()) ** 2))
    # Where each model is in equally many discordant pairs the jackknife sees no spread: no less than independent pairs.
    error = max(error, np.sqrt(share * (1 - share) * 2 / (num_groups * (num_groups - 1))))
    half = student_quantile(level, num_groups - 1) * error / (share * (1 - share))
    return float(expit(logit(share) - half)), float(expit(logit(share) + half))
