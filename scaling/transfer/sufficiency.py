"""Whether upstream accuracy alone tells downstream accuracy, whatever was scaled to reach it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError, warning_lines
from ..fit import Fit
from ..fitting import quiet_fit
from ..inputs import check_fractions, check_positive
from ..laws import find_law
from ..prediction import check_level
from ..quantiles import student_quantile

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "LARGEST_LEVERAGE",
    "RANK",
    "Sufficiency",
    "check_runs",
    "fit_all",
    "notes",
    "residuals_of",
    "sufficient_predictor",
]

LARGEST_LEVERAGE = 0.99  # of a run whose residual is scaled up by 1 / (1 - leverage)
RANK = 1e-9  # singular values below that share of the largest are rounding
_EXACT = 1e-9  # residuals below that share of the range of downstream accuracy are rounding


@dataclass(frozen=True, repr=False, eq=False)
class Sufficiency:
    """Eq. 1 fitted to controlled runs, and what is left over. Made by `sufficient_predictor`.

    Attributes:
        fit: Eq. 1 in errors, all runs.
        residuals: downstream accuracy less that of the fit, shape (n,).
        factors: values of each factor, shape (n,).
        table: a row a factor: what it says beyond upstream accuracy.
        level: of the table's intervals.
    """

    fit: Fit
    residuals: np.ndarray
    factors: Mapping[str, np.ndarray]
    table: pd.DataFrame
    level: float

    @property
    def root_squared_error(self) -> float:
        """sqrt(sum of squared residuals), as the header of Abnar's Table 2 says; it grows with the number of runs."""
        return float(np.linalg.norm(self.residuals))

    @property
    def relative_std(self) -> float:
        """Standard deviation of the error over that of predicting the mean, which has 1; 0 is perfect.

        The other reading of Abnar's Table 2: downstream accuracies standardised first.
        """
        downstream = self.fit.y
        return float(np.linalg.norm(self.residuals) / np.linalg.norm(downstream - downstream.mean()))

    def summary(self) -> str:
        """The two errors, and a line a factor."""
        head = (
            f"Eq. 1 on {self.residuals.size} runs: root squared error {self.root_squared_error:.4f},"
            f" relative to predicting the mean {self.relative_std:.4f}"
        )
        lines = [
            f"  {row['factor']}: rank correlation of the residual {row['rank_correlation']:+.2f}; tenfold is worth"
            f" {row['slope']:+.4f} in accuracy [{row['low']:+.4f}, {row['high']:+.4f}], p = {row['p_value']:.2g}"
            for _, row in self.table.iterrows()
        ]
        return "\n".join([head, *lines, *notes(self.fit)])

    def __repr__(self) -> str:
        return self.summary()


def sufficient_predictor(
    upstream_accuracy: ArrayLike,
    downstream_accuracy: ArrayLike,
    factors: Mapping[str, ArrayLike],
    *,
    level: float = 0.95,
) -> Sufficiency:
    """Fit Eq. 1 to controlled runs and ask of each factor what it says of the residual.

    Each factor is added to the law alone, in decades, to first order in the law's parameters: what it says at equal
    upstream accuracy. The interval and the p-value are Student's with standard errors HC3 (MacKinnon and White 1985),
    for independent errors of any size: the test at level .05 rejects in .015 to .07 of simulations of a factor without
    effect (12 to 60 runs; errors equal, skewed, falling with upstream accuracy, or larger at the factor's ends). Runs
    that share a trunk are not independent. Several factors are several tests.

    Args:
        upstream_accuracy, downstream_accuracy: fractions, shape (n,); upstream below 1. All runs are fitted, not their
            hull: what the factors do to runs off the hull is the question.
        factors: name -> positive values, shape (n,), such as model size, number of training images and steps.
        level: of the intervals.

    Returns:
        `table` has `factor`; `rank_correlation`, Spearman's, of the residual with the factor; `slope`, downstream
        accuracy for ten times the factor at equal upstream accuracy, `low`, `high`, `p_value`; `unexplained`, the
        share of the factor's variance that upstream accuracy does not determine: near 0 the question has no answer.

    Raises:
        ValueError: bad input, a constant factor.
        FitError: too few runs, or upstream accuracy determines a factor, so that it cannot be told from the law.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Figure 29 and Table 2.

    >>> rng = np.random.default_rng(0)
    >>> us, size = rng.uniform(0.1, 0.6, 40), 10 ** rng.uniform(6, 9, 40)
    >>> ds = 1 - (0.7 * (1 - us) ** 2 + 0.1) + 0.01 * np.log10(size / 1e7) + 0.001 * rng.standard_normal(40)
    >>> result = sufficient_predictor(us, ds, {"size": size})
    >>> result.table[["factor", "slope"]].round(3).values.tolist()
    [['size', 0.01]]
    """
    import pandas as pd  # here, because it is most of the time of the import

    check_level(level)
    upstream, downstream = check_runs(upstream_accuracy, downstream_accuracy)
    if not factors:
        raise ValueError("factors must name one factor or more")
    values = {name: _check_factor(name, each, upstream.size) for name, each in factors.items()}
    fit, columns = fit_all(upstream, downstream, num_added=1)
    residuals = residuals_of(fit)
    rows = [{"factor": name, **_factor_row(name, each, residuals, columns, level)} for name, each in values.items()]
    return Sufficiency(fit, residuals, values, pd.DataFrame(rows), level)


def notes(fit: Fit) -> list[str]:
    return warning_lines(fit.warnings)


def check_runs(upstream_accuracy: ArrayLike, downstream_accuracy: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    upstream = check_fractions("upstream_accuracy", upstream_accuracy)
    downstream = check_fractions("downstream_accuracy", downstream_accuracy)
    if upstream.ndim != 1 or upstream.shape != downstream.shape or upstream.size == 0:
        raise ValueError(
            f"accuracies must be one-dimensional, equally long and not empty, got {upstream.shape}, {downstream.shape}"
        )
    if np.any(upstream == 1):
        raise ValueError(f"upstream_accuracy must be below 1; row {np.flatnonzero(upstream == 1)[0]} is 1")
    return upstream, downstream


def _check_factor(name: str, values: ArrayLike, n: int) -> np.ndarray:
    values = check_positive(f"factor {name!r}", np.asarray(values, dtype=float))
    if values.shape != (n,):
        raise ValueError(f"factor {name!r} must have one value a run, shape ({n},), got {values.shape}")
    if np.ptp(values) == 0:
        raise ValueError(f"factor {name!r} is constant at {values[0]:g}: nothing can be said of it")
    return values


def fit_all(upstream: np.ndarray, downstream: np.ndarray, num_added: int) -> tuple[Fit, np.ndarray]:
    """Eq. 1 on all runs, and an orthonormal basis of what its parameters change to first order, shape (n, p).

    All parameters count, also one at its bound: what a bound holds back must not look like an effect.
    """
    fit = quiet_fit(find_law("transfer"), 1 - upstream, 1 - downstream, "least_squares")
    constant = [name for name in ("k", "alpha") if name in fit.at_bound]
    if constant:
        raise FitError(f"downstream accuracy does not rise with upstream accuracy: the fitted {constant[0]} is 0")
    columns = _basis(fit.problem.residual_jacobian(fit.theta[None])[0])
    if upstream.size - columns.shape[1] - num_added < 1:
        raise FitError(f"{upstream.size} runs are too few for Eq. 1 and {num_added} more parameters")
    return fit, columns


def residuals_of(fit: Fit) -> np.ndarray:
    """Downstream accuracy less the fit's; of an exact law 0, not what rounding leaves, which would be tested."""
    residuals = -fit.residuals
    exact = np.max(np.abs(residuals)) <= _EXACT * np.ptp(fit.y)
    return np.zeros_like(residuals) if exact else residuals


def _basis(columns: np.ndarray) -> np.ndarray:
    """Orthonormal, of the columns' span."""
    norms = np.linalg.norm(columns, axis=0)
    kept = columns[:, norms > 0] / norms[norms > 0]
    left, sizes, _ = np.linalg.svd(kept, full_matrices=False)
    return left[:, sizes > RANK * sizes.max(initial=0.0)]


def _factor_row(
    name: str, values: np.ndarray, residuals: np.ndarray, columns: np.ndarray, level: float
) -> dict[str, float]:
    from scipy.special import stdtr  # here, because it would double the time of the import
    from scipy.stats import rankdata

    decades = np.log10(values)
    centred = decades - decades.mean()
    own = decades - columns @ (columns.T @ decades)
    own -= columns @ (columns.T @ own)  # twice, against rounding
    unexplained = (own @ own) / (centred @ centred)
    if unexplained < RANK:
        raise FitError(f"upstream accuracy determines the factor {name!r}: it cannot be told from the law")
    slope = (own @ residuals) / (own @ own)
    left = residuals - columns @ (columns.T @ residuals) - slope * own
    freedom = residuals.size - columns.shape[1] - 1
    leverage = np.sum(columns**2, axis=1) + own**2 / (own @ own)
    error = np.linalg.norm(own * left / (1 - np.minimum(leverage, LARGEST_LEVERAGE))) / (own @ own)
    half = student_quantile(level, freedom) * error
    correlation = np.corrcoef(rankdata(residuals), rankdata(values))[0, 1] if np.ptp(residuals) > 0 else 0.0
    p_value = 2 * stdtr(freedom, -abs(slope) / error) if error > 0 else float(slope == 0)
    return {
        "rank_correlation": float(correlation), "slope": float(slope), "low": float(slope - half),
        "high": float(slope + half), "p_value": float(p_value), "unexplained": float(min(unexplained, 1.0)),
    }  # fmt: skip
