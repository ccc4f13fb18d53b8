"""Whether runs that scale model size, data or epochs trace one curve of downstream on upstream accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError, FitWarning, issue, warning_lines
from ..fitting.fit import Fit
from ..groups import number_groups
from ..inputs import check_choice, check_fractions, check_num_draws, check_same_index, generator
from ..prediction import check_level
from ..quantiles import student_quantile
from .all_runs import (
    LARGEST_LEVERAGE,
    RANK,
    AllRuns,
    added_effects,
    fit_all,
    misfit_warnings,
    noise_warnings,
    relative_std,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EFFECTS", "SameCurve", "same_curve"]

EFFECTS = ("offset", "curve")
_DRAWS_AT_ONCE = 1 << 22  # drawn residuals held at once


@dataclass(frozen=True, repr=False, eq=False)
class SameCurve:
    """A test of whether several arms of runs trace one curve. Made by `same_curve`.

    Attributes:
        fit: Eq. 1 in errors, of all runs together.
        arms: label of each run.
        residuals: downstream accuracy less that of the common curve, shape (n,).
        effect: "offset" or "curve".
        statistic, num_added, degrees_of_freedom: F, and its two degrees of freedom.
        p_value: of F among those with each residual's sign drawn anew: errors independent, of any size.
        f_p_value: of the F distribution: errors independent, normal and of equal size.
        table: a row an arm; see `same_curve`.
        level: of the table's intervals.
        warnings: what a reader must know.
        share_explained: of the squared residuals, what the arm effect takes away: 0 to 1, by chance about
            num_added / (num_added + degrees_of_freedom).
    """

    fit: Fit
    arms: tuple[Any, ...]
    residuals: np.ndarray
    effect: str
    statistic: float
    num_added: int
    degrees_of_freedom: int
    p_value: float
    f_p_value: float
    share_explained: float
    table: pd.DataFrame
    level: float
    warnings: tuple[FitWarning, ...]

    @property
    def relative_std(self) -> float:
        """Standard deviation of the error over that of predicting the mean, which has 1; 0 is perfect."""
        return relative_std(self.fit, self.residuals)

    def summary(self) -> str:
        lines = [
            f"  {row['arm']}: {row['offset']:+.4f} [{row['low']:+.4f}, {row['high']:+.4f}] at equal upstream accuracy,"
            f" {row['num_runs']} runs"
            for _, row in self.table.iterrows()
        ]
        text = (
            f"one curve for {len(self.table)} arms, {self.residuals.size} runs, against an arm's own {self.effect}:"
            f" F({self.num_added}, {self.degrees_of_freedom}) = {self.statistic:.3g}, p = {self.p_value:.3g}"
            f" (of equal errors {self.f_p_value:.3g})\n"
            f"  error relative to predicting the mean {self.relative_std:.4f} (1 is no better than that), of which the"
            f" arms explain {self.share_explained:.1%}"
        )
        return "\n".join([text, *lines, *warning_lines(self.warnings)])

    def __repr__(self) -> str:
        return self.summary()


def same_curve(
    upstream_accuracy: ArrayLike,
    downstream_accuracy: ArrayLike,
    arms: ArrayLike,
    *,
    effect: str = "offset",
    upstream_num_eval: ArrayLike | None = None,
    level: float = 0.95,
    num_draws: int = 1999,
    rng: np.random.Generator | None = None,
) -> SameCurve:
    """Test whether runs that scale model size, data or epochs trace one curve of downstream on upstream accuracy.

    Eq. 1 of all runs against Eq. 1 with an arm effect, to first order in the parameters. Where upstream accuracy is
    exact the test at level .05 rejects a true common curve in .04 to .075 of simulations (three arms of 6 to 30 runs;
    errors normal, skewed, falling with upstream accuracy or of another size in each arm). That of the F distribution,
    which takes errors for equal, in .03 to .08 where they are and in up to .19 where not; so would a permutation of the
    residuals. Where upstream accuracy is noisy and the arms have other ranges of it, a common curve is rejected more
    often: with noise of .01 in .09. Runs that share a trunk are not independent. A p-value above .05 is no proof of
    one curve: read the offsets.

    Args:
        upstream_accuracy, downstream_accuracy: fractions, shape (n,); upstream below 1.
        arms: a label a run: what was scaled to get it.
        effect: "offset", one number an arm added to downstream accuracy; "curve", its own k, alpha and e_IR.
        upstream_num_eval: images that the upstream accuracies are of, one number or shape (n,), for `noise_bias`.
        level: of the table's intervals.
        num_draws, rng: of the signs of the residuals (the wild bootstrap; Davidson and Flachaire 2008), which give
            `p_value`: it is at least 1 / (num_draws + 1).

    Returns:
        `table` has `arm` and `num_runs`; `offset`, downstream accuracy at equal upstream accuracy above the mean of the
        arms, each arm counting once, with `low` and `high` (Student's t, standard errors HC3), whatever the `effect`;
        `noise_bias`, the offset that the choice of the upstream images makes of none, to first order (null without
        `upstream_num_eval`); `mean_residual` of the common curve, which is not the offset: where arms have other
        upstream accuracies that curve follows them.

    Raises:
        ValueError: bad input, a missing label, or fewer than two arms.
        FitError: too few runs, or the arms have no upstream accuracies in common by which to tell them apart.

    Warns:
        FitWarning: `poor_fit` where Eq. 1 with the arms' own effect explains less than half of the variance of
            downstream accuracy, or the runs bend otherwise along upstream accuracy (p < .001); `noisy_upstream` where
            a `noise_bias` is larger than half a standard error.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Figures 6 and 28: the curve of the scaling of each is the same.

    >>> rng = np.random.default_rng(0)
    >>> us, arms = np.tile(np.linspace(0.1, 0.6, 20), 2), np.repeat(["size", "data"], 20)
    >>> ds = 1 - (0.7 * (1 - us) ** 2 + 0.1) + 0.005 * rng.standard_normal(40)
    >>> same_curve(us, ds, arms).p_value > 0.05, same_curve(us, ds - 0.02 * (arms == "data"), arms).p_value
    (True, 0.0005)
    """
    check_choice("effect", effect, EFFECTS)
    check_num_draws(num_draws)
    check_level(level)
    rng = generator(rng)
    check_same_index(upstream_accuracy=upstream_accuracy, arms=arms, upstream_num_eval=upstream_num_eval)
    labels, place = _check_arms(arms, check_fractions("upstream_accuracy", upstream_accuracy).size)
    runs = fit_all(upstream_accuracy, downstream_accuracy, len(labels) - 1, upstream_num_eval)
    columns = runs.columns
    added = _added_columns(columns, place, effect)
    freedom = place.size - columns.shape[1] - added.shape[1]
    if added.shape[1] < len(labels) - 1 or freedom < 1:
        raise _too_alike(place.size, len(labels), effect)
    left = runs.residuals - columns @ (columns.T @ runs.residuals)
    explained, total = float(np.sum((added.T @ left) ** 2)), float(left @ left)
    statistic = _f_statistic(explained, total, added.shape[1], freedom)
    flipped = _flipped_statistics(left, columns, added, freedom, num_draws, rng)
    table, found = _arm_table(runs, labels, place, level)
    found = misfit_warnings(runs, added) + found
    issue(*found)
    return SameCurve(
        runs.fit, tuple(labels[p] for p in place), runs.residuals, effect, statistic, added.shape[1], freedom,
        float((1 + np.sum(flipped >= statistic)) / (1 + num_draws)), _f_tail(statistic, added.shape[1], freedom),
        explained / total if total > 0 else 0.0, table, level, runs.fit.warnings + found,
    )  # fmt: skip


def _too_alike(num_runs: int, num_arms: int, effect: str) -> FitError:
    return FitError(f"{num_runs} runs of {num_arms} arms cannot tell an arm's own {effect} from the law")


def _arm_table(
    runs: AllRuns, labels: list[Any], place: np.ndarray, level: float
) -> tuple[pd.DataFrame, tuple[FitWarning, ...]]:
    import pandas as pd

    effects = added_effects(runs, np.eye(len(labels))[place])
    if effects.rank < len(labels) - 1:
        raise _too_alike(place.size, len(labels), "offset")
    half, sizes = student_quantile(level, effects.freedom) * effects.errors, np.bincount(place)
    table = pd.DataFrame(
        {
            "arm": pd.Series(labels, dtype=object), "num_runs": sizes, "offset": effects.values,
            "low": effects.values - half, "high": effects.values + half, "noise_bias": effects.noise_bias,
            "mean_residual": np.bincount(place, runs.residuals) / sizes,
        }
    )  # fmt: skip
    return table, noise_warnings(effects, [str(label) for label in labels])


def _check_arms(arms: ArrayLike, n: int) -> tuple[list[Any], np.ndarray]:
    labels, place, is_null = number_groups(arms, n)
    if is_null.any():
        raise ValueError(f"arms must not be null; row {np.flatnonzero(is_null)[0]} is ({is_null.sum()} such)")
    if len(labels) < 2:
        raise ValueError(f"arms must have two labels or more, got {labels}")
    return labels, place


def _added_columns(columns: np.ndarray, place: np.ndarray, effect: str) -> np.ndarray:
    """Orthonormal basis of what the arm effect adds to the law's own columns, shape (n, q)."""
    member = np.eye(place.max() + 1)[place][:, 1:]
    if effect == "curve":
        member = (member[:, :, None] * columns[:, None, :]).reshape(len(place), -1)
    sizes = np.linalg.norm(member, axis=0)
    member = member / sizes
    own = member - columns @ (columns.T @ member)
    own -= columns @ (columns.T @ own)
    left, sizes, _ = np.linalg.svd(own, full_matrices=False)
    return left[:, sizes > RANK]  # of columns of norm one


def _f_statistic(explained: Any, total: Any, num_added: int, freedom: int) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(explained / num_added / (np.maximum(total - explained, 0.0) / freedom), nan=0.0)


def _f_tail(statistic: float, num_added: int, freedom: int) -> float:
    from scipy.special import fdtrc

    return float(fdtrc(num_added, freedom, statistic))


def _flipped_statistics(
    left: np.ndarray, columns: np.ndarray, added: np.ndarray, freedom: int, num: int, rng: np.random.Generator
) -> np.ndarray:
    """F where each residual keeps its size and takes either sign, shape (num,); sizes as HC3 has them."""
    sizes = left / (1 - np.minimum(np.sum(columns**2, axis=1), LARGEST_LEVERAGE))
    step, found = max(_DRAWS_AT_ONCE // left.size, 1), []
    for start in range(0, num, step):
        drawn = rng.choice([-1.0, 1.0], size=(min(step, num - start), left.size)) * sizes
        explained = np.sum((drawn @ added) ** 2, axis=1)
        total = sizes @ sizes - np.sum((drawn @ columns) ** 2, axis=1)
        found.append(_f_statistic(explained, total, added.shape[1], freedom))
    return np.concatenate(found)
