"""The bootstrap of a fit: draw the points or their residuals again, and fit every draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError, issue
from ..fitting.fit import Fit
from ..groups import number_groups
from ..inputs import check_num_draws, generator
from .draw_fits import solve_rows
from .draws import BootstrapFit

__all__ = ["METHODS", "bootstrap_fit", "case_weights", "residual_scale_up", "solve_draws"]

METHODS = ("residual", "case", "cluster")
_LARGEST_LEVERAGE = 0.99  # of a point whose residual is scaled up by 1 / sqrt(1 - leverage)


def bootstrap_fit(
    fit: Fit,
    *,
    num_draws: int = 2000,
    method: str | None = None,
    groups: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> BootstrapFit:
    """Fit the law again to new draws of the data.

    Args:
        fit: from `fit_law`.
        num_draws: how many draws.
        method: "residual" (the default) keeps x and draws residuals, each scaled up by its leverage; "case" draws
            points; "cluster" (the default with groups) draws groups of points.
        groups: shape (n,), what is drawn together (seeds of one cell, branches of one trunk); a null is on its own.
        rng: source of the draws; None is `numpy.random.default_rng(0)`.

    Intervals are percentiles, expanded from a normal to Student's quantile with the fit's degrees of freedom.

    Raises:
        ValueError: num_draws below 1, an unknown method, or groups of another length.
        FitError: no draw could be fitted.

    Warns:
        FitWarning: `failed_draws` where more than 5 % had too few distinct points.

    >>> from scaling import fit_law
    >>> x = np.geomspace(1e18, 1e21, 12)
    >>> y = (0.5 * (x / 1e18) ** -0.25 + 0.1) * np.exp(0.01 * np.random.default_rng(0).standard_normal(12))
    >>> low, high = bootstrap_fit(fit_law("saturating_power", x, y), num_draws=200).interval("b")
    >>> low < 0.25 < high
    True
    """
    rng = generator(rng)
    if method is None:
        method = "residual" if groups is None else "cluster"
    if not isinstance(method, str) or method not in METHODS or (groups is None) == (method == "cluster"):
        raise ValueError(f"method must be one of {METHODS}, 'cluster' with groups and only then, got {method!r}")
    check_num_draws(num_draws)
    if fit.degrees_of_freedom <= 0:
        raise FitError(f"no bootstrap: {fit.num_points:g} points and {fit.num_free} free parameters leave no residual")
    rows = _repeated_rows(fit.problem.weights[0])
    x, y, scale = fit.problem.x[rows], fit.problem.y[rows], fit.problem.residual_scale[rows]
    if method == "residual":
        weights, y = np.ones((num_draws, len(rows))), _residual_draws_of_y(fit, rows, num_draws, rng)
    else:
        place = None if groups is None else number_groups(groups, len(fit.y))[1][rows]
        weights = case_weights(len(rows), num_draws, rng, place)
    bootstrap = solve_draws(fit, x, y, weights, rng, scale)
    return replace(bootstrap, is_expanded=fit.degrees_of_freedom > 0)


def _repeated_rows(counts: np.ndarray) -> np.ndarray:
    """Each row as often as it counts."""
    if np.any(counts % 1 != 0):
        raise ValueError(f"a bootstrap needs whole counts, got {counts[np.flatnonzero(counts % 1)[0]]:g}")
    return np.repeat(np.arange(counts.size), counts.astype(int))


def _residual_draws_of_y(fit: Fit, rows: np.ndarray, num_draws: int, rng: np.random.Generator) -> np.ndarray:
    """The law plus residuals drawn anew, each divided by sqrt(1 - leverage): scaled, shape (num_draws, n)."""
    problem, link, n = fit.problem, fit.problem.link, len(rows)
    factor = np.linalg.qr(problem.residual_jacobian(fit.theta[None])[0][rows][:, fit.is_free])[0]
    residuals = fit.residuals[rows] * residual_scale_up(np.sum(factor**2, axis=1))
    if fit.objective.is_binomial and fit.residual_std > 0:  # no less than the spread of counts
        residuals = residuals * np.sqrt(fit.error_variance) / fit.residual_std
    # Draws from n centred residuals have (n - 1) / n of their variance.
    drawn = rng.choice((residuals - residuals.mean()) * np.sqrt(n / (n - 1)), size=(num_draws, n))
    middle, scale = problem.law.value(fit.theta, problem.x[rows]), problem.residual_scale[rows]
    if fit.objective.is_binomial:
        return np.clip(middle + drawn * np.sqrt(middle * (1 - middle)) * scale, 0.0, 1.0)
    return link.backward(link.forward(middle) + drawn * scale)


def residual_scale_up(leverage: np.ndarray) -> np.ndarray:
    """1 / sqrt(1 - leverage), by which residuals have the variance of the errors."""
    return 1 / np.sqrt(1 - np.minimum(leverage, _LARGEST_LEVERAGE))


def case_weights(n: int, num_draws: int, rng: np.random.Generator, groups: ArrayLike | None = None) -> np.ndarray:
    """How often each of n points (or its group) is drawn, shape (num_draws, n)."""
    check_num_draws(num_draws)
    if groups is None:
        return rng.multinomial(n, np.full(n, 1 / n), size=num_draws)
    labels, place, _ = number_groups(groups, n)
    if len(labels) < 2:
        raise ValueError(f"groups must have two labels or more to be drawn from, got {labels}")
    counts = rng.multinomial(len(labels), np.full(len(labels), 1 / len(labels)), size=num_draws)
    return counts[:, place]


def solve_draws(
    fit: Fit,
    x: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    rng: np.random.Generator,
    scale: np.ndarray | None = None,
) -> BootstrapFit:
    """Fit every draw in one batch.

    Args:
        fit: the fit to all points, whose law, objective, bounds and scaled units are used.
        x: scaled, shape (n,).
        y: scaled, shape (n,), or (num_draws, n) where each draw has its own.
        weights: shape (num_draws, n); 0 leaves a point out.
        scale: residual scale of each point, that of points without a `y_std` unless given.
    """
    theta, kept = solve_rows(fit, x, y, weights, scale)
    if len(theta) == 0:
        raise FitError("no bootstrap draw came to a minimum, or has enough distinct points for a fit")
    bootstrap = BootstrapFit(fit, theta, _draw_residuals(fit, len(theta), rng), len(weights) - len(kept))
    issue(*bootstrap.warnings)
    return bootstrap


def _draw_residuals(fit: Fit, num_draws: int, rng: np.random.Generator) -> np.ndarray:
    """Centred residuals, widened to the degrees of freedom that the fit took (Davison and Hinkley 1997, 6.2.3)."""
    residuals = fit.residuals * fit.problem.residual_scale
    widened = (residuals - residuals.mean()) * np.sqrt(fit.num_points / max(fit.degrees_of_freedom, 1))
    return rng.choice(widened, size=num_draws)
