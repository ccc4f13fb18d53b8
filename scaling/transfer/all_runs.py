"""Eq. 1 on all of a set of controlled runs, and what other quantities add to it at equal upstream accuracy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError, FitWarning
from ..fitting.fit import Fit
from ..fitting.fit_law import quiet_fit
from ..inputs import check_accuracies
from ..laws import find_law
from .correlations import is_constant
from .eval_images import sampling_variance

__all__ = [
    "LARGEST_LEVERAGE",
    "RANK",
    "AllRuns",
    "Effects",
    "added_effects",
    "fit_all",
    "misfit_warnings",
    "noise_warnings",
    "relative_std",
    "two_sided",
]

LARGEST_LEVERAGE = 0.99  # of a run whose residual is scaled up by 1 / (1 - leverage)
RANK = 1e-9  # singular values below that share of the largest are rounding
_EXACT = 1e-9  # residuals below that share of the range of downstream accuracy are rounding
_LEAST_EXPLAINED = 0.5  # of the variance of downstream accuracy, for a law to be called one of these runs
_CURVATURE = 0.001  # p-value below which curvature is left over
_LARGE_BIAS = 0.5  # standard errors: a test at .05 that is off by them rejects in .08
_STEP = 0.01  # of the upstream error, for derivatives of the law by differences


@dataclass(frozen=True, repr=False, eq=False)
class AllRuns:
    """Eq. 1 of all runs. Made by `fit_all`.

    Attributes:
        fit: Eq. 1 in errors, of all runs.
        residuals: downstream accuracy less that of the fit, shape (n,).
        columns: orthonormal basis of what the law's parameters change to first order, shape (n, p). All parameters
            count, also one at its bound: what a bound holds back must not look like an effect.
        upstream_variance: of the noise of upstream accuracy, shape (n,); None: not known.
    """

    fit: Fit
    residuals: np.ndarray
    columns: np.ndarray
    upstream_variance: np.ndarray | None


@dataclass(frozen=True, repr=False, eq=False)
class Effects:
    """Coefficients of added columns beside Eq. 1, shape (q,) each.

    Attributes:
        values, errors: by least squares, and their HC3 standard errors.
        noise_bias: what noise of upstream accuracy makes of a coefficient of 0; null where the noise is not known.
        freedom: degrees of freedom of the errors.
        own: the columns freed of the law's, shape (n, q).
        rank: of `own`.
    """

    values: np.ndarray
    errors: np.ndarray
    noise_bias: np.ndarray
    freedom: int
    own: np.ndarray
    rank: int


def fit_all(
    upstream_accuracy: ArrayLike, downstream_accuracy: ArrayLike, num_added: int, upstream_num_eval: ArrayLike | None
) -> AllRuns:
    """Eq. 1 on all runs, not their hull, by least squares in accuracy.

    Args:
        num_added: parameters that are tested beside it.
        upstream_num_eval: images that the upstream accuracies are of; None: they are exact.

    Raises:
        ValueError: bad input.
        FitError: too few runs, or downstream accuracy does not rise.
    """
    upstream, downstream = check_accuracies(upstream_accuracy, downstream_accuracy)
    variance = None
    if upstream_num_eval is not None:
        variance = sampling_variance("upstream_num_eval", upstream, upstream_num_eval)
    for name, values in (("upstream", upstream), ("downstream", downstream)):
        if is_constant(values):
            raise FitError(f"all {name} accuracies are {values[0]:.4g}: there is no law of them")
    fit = quiet_fit(find_law("transfer"), 1 - upstream, 1 - downstream, "least_squares")
    constant = [name for name in ("k", "alpha") if name in fit.at_bound]
    if constant:
        raise FitError(f"downstream accuracy does not rise with upstream accuracy: the fitted {constant[0]} is 0")
    columns = _basis(_law_columns(fit, fit.x))
    if upstream.size - columns.shape[1] - num_added < 1:
        raise FitError(f"{upstream.size} runs are too few for Eq. 1 and {num_added} more parameters")
    return AllRuns(fit, _residuals_of(fit), columns, variance)


def relative_std(fit: Fit, residuals: np.ndarray) -> float:
    """Standard deviation of the residuals over that of predicting the mean: 0 is perfect, 1 no better than that."""
    return float(np.linalg.norm(residuals) / np.linalg.norm(fit.y - fit.y.mean()))


def _law_columns(fit: Fit, upstream_error: np.ndarray) -> np.ndarray:
    return fit.law.jacobian(np.array([*fit.params.values()]), upstream_error)


def _residuals_of(fit: Fit) -> np.ndarray:
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


def added_effects(runs: AllRuns, added: np.ndarray) -> Effects:
    """What columns (n, q) are worth in downstream accuracy at equal upstream accuracy, to first order in the law.

    Where a combination of them is one of the law's, their coefficients are the smallest of those that fit equally well:
    those of one column for each label of a grouping sum to 0.
    """
    columns, residuals = runs.columns, runs.residuals
    own = added - columns @ (columns.T @ added)
    own -= columns @ (columns.T @ own)  # twice, against rounding
    left, sizes, right = np.linalg.svd(own, full_matrices=False)
    kept = sizes > RANK * np.linalg.norm(added)
    solve = (right[kept].T / sizes[kept]) @ left[:, kept].T  # (q, n)
    values = solve @ residuals
    remains = residuals - columns @ (columns.T @ residuals) - own @ values
    leverage = np.sum(columns**2, axis=1) + np.sum(left[:, kept] ** 2, axis=1)
    errors = np.linalg.norm(solve * remains / (1 - np.minimum(leverage, LARGEST_LEVERAGE)), axis=1)
    freedom = residuals.size - columns.shape[1] - int(kept.sum())
    return Effects(values, errors, _noise_bias(runs, added, solve), freedom, own, int(kept.sum()))


def _noise_bias(runs: AllRuns, added: np.ndarray, solve: np.ndarray) -> np.ndarray:
    """Errors in variables, to first order in the variance of upstream accuracy (Fuller 1987, section 3.2).

    With noise h of variance v the residual is -f' h - f'' h^2 / 2 and the law's columns are c + c' h, whose products
    have the means -v (c' f' + c f'' / 2): these normal equations are solved by coefficients that are not 0.
    """
    if runs.upstream_variance is None:
        return np.full(added.shape[1], np.nan)
    fit, step = runs.fit, _STEP * runs.fit.x
    high, low = fit.x - step, fit.x + step  # errors fall where accuracy rises
    first = (fit.predict(low) - fit.predict(high)) / (2 * step)
    second = (2 * fit.predict(fit.x) - fit.predict(low) - fit.predict(high)) / step**2
    columns = _law_columns(fit, fit.x)
    slopes = (_law_columns(fit, high) - _law_columns(fit, low)) / (2 * step)[:, None]
    of_law = -runs.upstream_variance @ (slopes * first[:, None] + columns * second[:, None] / 2)
    of_added = -runs.upstream_variance @ (added * second[:, None] / 2)
    law_share = np.linalg.pinv(columns) @ added  # what of each added column is the law's
    own_products = of_added - law_share.T @ of_law
    return solve @ (solve.T @ own_products)


def misfit_warnings(runs: AllRuns, added: np.ndarray | None = None) -> tuple[FitWarning, ...]:
    """`poor_fit` where Eq. 1, with added columns (n, q), explains less than half of the variance, or bends wrongly.

    The second by what the square of upstream error adds.
    """
    beside = np.empty((runs.fit.x.size, 0)) if added is None else added
    left = runs.residuals - beside @ (np.linalg.pinv(beside) @ runs.residuals)
    downstream = runs.fit.y - runs.fit.y.mean()
    explained, found = 1 - (left @ left) / (downstream @ downstream), []
    if explained < _LEAST_EXPLAINED:
        message = (
            f"Eq. 1 explains {max(explained, 0):.0%} of the variance of downstream accuracy: it is no law of these runs"
        )
        found.append(FitWarning("poor_fit", message))
    bend = added_effects(runs, np.column_stack([runs.fit.x**2, beside]))
    if bend.freedom > 0 and bend.rank == 1 + np.linalg.matrix_rank(beside) and np.any(runs.residuals):
        p_value = two_sided(bend.values[0], bend.errors[0], bend.freedom)
        if p_value < _CURVATURE:
            message = f"the runs bend otherwise along upstream accuracy than Eq. 1 does (p = {p_value:.1g})"
            found.append(FitWarning("poor_fit", message))
    return tuple(found)


def two_sided(value: float, error: float, freedom: int) -> float:
    """The p-value of Student's t."""
    from scipy.special import stdtr

    return float(2 * stdtr(freedom, -abs(value) / error)) if error > 0 else float(value == 0)


def noise_warnings(effects: Effects, names: list[str]) -> tuple[FitWarning, ...]:
    """`noisy_upstream` where noise of upstream accuracy alone makes effects that a test would take for real."""
    large = np.flatnonzero(np.abs(effects.noise_bias) > _LARGE_BIAS * effects.errors)
    if large.size == 0:
        return ()
    worst = large[np.argmax(np.abs(effects.noise_bias[large]))]
    message = (
        f"noise of upstream accuracy alone makes an effect of {effects.noise_bias[worst]:+.2g} of {names[worst]!r}"
        f" (standard error {effects.errors[worst]:.2g}): p-values are too small"
    )
    return (FitWarning("noisy_upstream", message),)
