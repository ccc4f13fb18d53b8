"""Whether upstream accuracy alone tells downstream accuracy, whatever was scaled to reach it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError, FitWarning, issue, warning_lines
from ..fitting.fit import Fit
from ..inputs import check_positive, check_same_index, numbers
from ..prediction import check_level
from ..quantiles import student_quantile
from .all_runs import (
    RANK,
    AllRuns,
    Effects,
    added_effects,
    fit_all,
    misfit_warnings,
    noise_warnings,
    relative_std,
    two_sided,
)
from .correlations import is_constant, spearman

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Sufficiency", "sufficient_predictor"]


@dataclass(frozen=True, repr=False, eq=False)
class Sufficiency:
    """Eq. 1 fitted to controlled runs, and what is left over. Made by `sufficient_predictor`.

    Attributes:
        fit: Eq. 1 in errors, all runs.
        residuals: downstream accuracy less that of the fit, shape (n,).
        factors: values of each factor, shape (n,).
        table: a row a factor: what it says beyond upstream accuracy.
        level: of the table's intervals.
        warnings: what a reader must know.
    """

    fit: Fit
    residuals: np.ndarray
    factors: Mapping[str, np.ndarray]
    table: pd.DataFrame
    level: float
    warnings: tuple[FitWarning, ...] = ()

    @property
    def root_squared_error(self) -> float:
        """sqrt(sum of squared residuals), as the header of Abnar's Table 2 says; it grows with the number of runs."""
        return float(np.linalg.norm(self.residuals))

    @property
    def relative_std(self) -> float:
        """Standard deviation of the error over that of predicting the mean, which has 1; 0 is perfect.

        The other reading of Abnar's Table 2: downstream accuracies standardised first.
        """
        return relative_std(self.fit, self.residuals)

    def summary(self) -> str:
        """The two errors, and a line a factor."""
        head = (
            f"Eq. 1 on {self.residuals.size} runs: root squared error {self.root_squared_error:.4f},"
            f" relative to predicting the mean {self.relative_std:.4f} (1 is no better than that)"
        )
        lines = [
            f"  {row['factor']}: rank correlation of the residual {row['rank_correlation']:+.2f}; tenfold is worth"
            f" {row['slope']:+.4f} in accuracy [{row['low']:+.4f}, {row['high']:+.4f}], p = {row['p_value']:.2g}"
            for _, row in self.table.iterrows()
        ]
        return "\n".join([head, *lines, *warning_lines(self.warnings)])

    def __repr__(self) -> str:
        return self.summary()


def sufficient_predictor(
    upstream_accuracy: ArrayLike,
    downstream_accuracy: ArrayLike,
    factors: Mapping[str, ArrayLike],
    *,
    upstream_num_eval: ArrayLike | None = None,
    level: float = 0.95,
) -> Sufficiency:
    """Fit Eq. 1 to controlled runs and ask of each factor what it says of the residual.

    Each factor is added to the law alone, in decades, to first order in the law's parameters: what it says at equal
    upstream accuracy. The interval and the p-value are Student's with standard errors HC3 (MacKinnon and White 1985),
    for independent errors of any size. Where upstream accuracy is exact the test at level .05 rejects in .015 to .07 of
    simulations of a factor without effect (12 to 60 runs; errors equal, skewed, falling with upstream accuracy, or
    larger at the factor's ends). Where it is noisy, a factor that drives it stands in for what the noise hides: with 60
    runs whose size drives upstream accuracy, noise of .003 rejects in .08 and of .01 in .49. Give `upstream_num_eval`
    to see how much of a slope that is; noise of the training itself comes on top. Runs that share a trunk are not
    independent. Several factors are several tests.

    Args:
        upstream_accuracy, downstream_accuracy: fractions, shape (n,); upstream below 1. All runs are fitted, not their
            hull: what the factors do to runs off the hull is the question.
        factors: name -> positive values, shape (n,), such as model size, number of training images and steps.
        upstream_num_eval: images that the upstream accuracies are of, one number or shape (n,), for `noise_bias`.
        level: of the intervals.

    Returns:
        `table` has `factor`; `rank_correlation`, Spearman's, of the residual with the factor; `slope`, downstream
        accuracy for ten times the factor at equal upstream accuracy, `low`, `high`, `p_value`; `unexplained`, the
        share of the factor's variance that upstream accuracy does not determine: near 0 the question has no answer;
        `noise_bias`, the slope that the choice of the upstream images makes of none, to first order (null without
        `upstream_num_eval`): `slope` less it is the slope without that noise, and `low`, `high` and `p_value` know
        nothing of it.

    Raises:
        ValueError: bad input, a constant factor.
        FitError: too few runs, or upstream accuracy determines a factor, so that it cannot be told from the law.

    Warns:
        FitWarning: `poor_fit` where Eq. 1 explains less than half of the variance of downstream accuracy, or the runs
            bend otherwise along upstream accuracy (p < .001): then a slope may be what the law does not follow;
            `noisy_upstream` where a `noise_bias` is larger than half a standard error.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Figure 29 and Table 2.

    >>> rng = np.random.default_rng(0)
    >>> us, size = rng.uniform(0.1, 0.6, 40), 10 ** rng.uniform(6, 9, 40)
    >>> ds = 1 - (0.7 * (1 - us) ** 2 + 0.1) + 0.01 * np.log10(size / 1e7) + 0.001 * rng.standard_normal(40)
    >>> result = sufficient_predictor(us, ds, {"size": size})
    >>> result.table[["factor", "slope"]].round(3).values.tolist()
    [['size', 0.01]]
    """
    import pandas as pd

    check_level(level)
    if not isinstance(factors, Mapping) or not factors:
        raise ValueError(f"factors must name one factor or more, and their values, got {factors!r}")
    named = {f"factor {name!r}": each for name, each in factors.items()}
    check_same_index(upstream_accuracy=upstream_accuracy, upstream_num_eval=upstream_num_eval, **named)
    runs = fit_all(upstream_accuracy, downstream_accuracy, num_added=1, upstream_num_eval=upstream_num_eval)
    values = {name: _check_factor(name, each, runs.residuals.size) for name, each in factors.items()}
    rows, found = [], misfit_warnings(runs)
    for name, each in values.items():
        row, effects = _factor_row(name, each, runs, level)
        rows.append(row)
        found += noise_warnings(effects, [name])
    issue(*found)
    return Sufficiency(runs.fit, runs.residuals, values, pd.DataFrame(rows), level, runs.fit.warnings + found)


def _check_factor(name: str, values: ArrayLike, n: int) -> np.ndarray:
    try:
        values = numbers(f"factor {name!r}", values)
    except ValueError as error:
        raise ValueError(f"factor {name!r} must be positive numbers; for labels use same_curve") from error
    values = check_positive(f"factor {name!r}", values)
    if values.shape != (n,):
        raise ValueError(f"factor {name!r} must have one value a run, shape ({n},), got {values.shape}")
    if is_constant(values):
        raise ValueError(f"factor {name!r} is constant at {values[0]:g}: nothing can be said of it")
    return values


def _factor_row(name: str, values: np.ndarray, runs: AllRuns, level: float) -> tuple[dict[str, Any], Effects]:
    decades = np.log10(values)
    effects = added_effects(runs, decades[:, None])
    centred = decades - decades.mean()
    unexplained = float(np.sum(effects.own**2) / (centred @ centred))
    if unexplained < RANK or effects.rank == 0:
        raise FitError(f"upstream accuracy determines the factor {name!r}: it cannot be told from the law")
    slope, error, bias = (float(each[0]) for each in (effects.values, effects.errors, effects.noise_bias))
    half = student_quantile(level, effects.freedom) * error
    correlation = spearman(runs.residuals, values) if np.ptp(runs.residuals) > 0 else 0.0
    row = {
        "factor": name, "rank_correlation": correlation, "slope": slope, "low": slope - half, "high": slope + half,
        "p_value": two_sided(slope, error, effects.freedom), "unexplained": min(unexplained, 1.0), "noise_bias": bias,
    }  # fmt: skip
    return row, effects
