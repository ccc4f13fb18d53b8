"""The bootstrap of a fit: draw the points or their residuals again, fit every draw in one batch, read off intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError, FitWarning, issue
from ..fitting.fit import Fit
from ..fitting.problem import Problem
from ..fitting.scan import promising, scan
from ..fitting.solver import polish
from ..groups import number_groups
from ..inputs import check_num_draws, check_positive
from ..notebook_view import NotebookView
from ..prediction import Prediction, check_kind, check_level
from ..quantiles import expanded_level

__all__ = [
    "METHODS",
    "BootstrapFit",
    "bootstrap_fit",
    "case_weights",
    "failed_draws",
    "residual_scale_up",
    "solve_draws",
    "solve_rows",
]

METHODS = ("residual", "case", "cluster")
_MANY_FAILED = 0.05  # share of draws without a fit from which on the intervals deserve a warning
_CACHED_NUMBERS = 200_000  # of a batch's Jacobian
_SMALLEST_PART = 64
_NUM_PROMISING = 40  # points of the scan, the best for all draws together, at which each draw is tried
_FIRST_STEPS = 40  # of every draw; one in twenty needs more, up to ten times as many
_DRAW_DECREASE = 1e-12  # share of the objective: a draw's parameters are right to a millionth of a standard error
_LARGEST_LEVERAGE = 0.99  # of a point whose residual is scaled up by 1 / sqrt(1 - leverage)


@dataclass(frozen=True, repr=False, eq=False)
class BootstrapFit(NotebookView):
    """Draws of a fit. Made by `bootstrap_fit`, and carried by `FrontierFit` and `TransferFit`.

    Attributes:
        fit: the fit to all points.
        theta: parameters of each draw in scaled units, shape (num_draws, num_params).
        residual_draws: a residual for each draw, for prediction intervals, shape (num_draws,).
        num_failed: draws that have no fit (too few distinct points, or no minimum) and are left out.
        is_expanded: whether intervals are expanded from a normal to Student's quantile.
    """

    fit: Fit
    theta: np.ndarray
    residual_draws: np.ndarray
    num_failed: int
    is_expanded: bool = False

    @property
    def warnings(self) -> tuple[FitWarning, ...]:
        """That many draws failed, where they did."""
        return failed_draws(self.num_failed, len(self.theta) + self.num_failed)

    def take(self, rows: np.ndarray) -> BootstrapFit:
        """Those of the draws."""
        return replace(self, theta=self.theta[rows], residual_draws=self.residual_draws[rows])

    def keep(self, mask: np.ndarray) -> BootstrapFit:
        """Those of the draws; the others count as failed.

        Raises:
            FitError: none is left.
        """
        if not mask.any():
            raise FitError("no bootstrap draw has what is asked of the law, such as an optimum")
        return replace(self.take(np.flatnonzero(mask)), num_failed=self.num_failed + int((~mask).sum()))

    @cached_property
    def params(self) -> dict[str, np.ndarray]:
        """Each parameter's draws in the user's units, shape (num_draws,)."""
        with np.errstate(all="ignore"):
            values = self.fit.law.in_units(self.theta, self.fit.x_unit, self.fit.y_unit)
        return dict(zip(self.fit.law.params, values.T, strict=True))

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Percentile interval of a parameter.

        Raises:
            ValueError: the law has no such parameter, or the level is outside (0, 1).
        """
        self.fit.law.index(name)
        low, high = self.quantiles(self.params[name], level)
        return float(low), float(high)

    def values(self, x: ArrayLike) -> np.ndarray:
        """Each draw's law at x, shape (num_draws, number of x)."""
        scaled, _ = self.fit.scaled(check_positive("x", np.asarray(x, dtype=float)))
        return self._law(scaled) * self.fit.y_unit

    def values_at_own(self, x: np.ndarray) -> np.ndarray:
        """Each draw's law, of one variable, at values x of its own: both (num_draws, number of x)."""
        return self._law(check_positive("x", x) / self.fit.x_unit) * self.fit.y_unit

    def _law(self, scaled: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return self.fit.law.value(self.theta, scaled)

    @property
    def limits(self) -> np.ndarray:
        """What each draw's law falls to at infinite x, shape (num_draws,)."""
        return self.fit.law.limit(self.theta) * self.fit.y_unit

    def solve_for_x(self, y: ArrayLike) -> np.ndarray:
        """Each draw's x at which the law takes the value y, inf where it never does: shape (num_draws, number of y)."""
        return self.fit.law.inverse(self.theta, np.ravel(y) / self.fit.y_unit) * self.fit.x_unit

    def predict(self, x: ArrayLike, level: float = 0.95, kind: str = "confidence") -> Prediction:
        """The law at x with a percentile interval; `kind` "prediction" adds the scatter of one new point."""
        check_kind(kind)
        x = np.asarray(x, dtype=float)
        median = self.fit.predict(x)
        draws = self.values(x)
        if kind == "prediction":
            draws = self._add_residuals(draws)
        low, high = (bound.reshape(median.shape) for bound in self.quantiles(draws, level))
        return Prediction(x, *self.fit.cut(median, low, high), level, kind)

    def _add_residuals(self, draws: np.ndarray) -> np.ndarray:
        link, unit = self.fit.problem.link, self.fit.y_unit
        with np.errstate(all="ignore"):
            return link.backward(link.forward(draws / unit) + self.residual_draws[:, None]) * unit

    def __repr__(self) -> str:
        return "\n".join(
            [f"bootstrap of {len(self.theta)} draws, {self.num_failed} failed", *self.interval_lines(0.95)]
        )

    def interval_lines(self, level: float) -> list[str]:
        """An interval for each parameter, a line each, for summaries."""
        ends = {name: self.interval(name, level) for name in self.params}
        return [f"  {name:>6}: {level:.0%} interval {low:.4g} to {high:.4g}" for name, (low, high) in ends.items()]

    def quantiles(self, draws: np.ndarray, level: float) -> np.ndarray:
        """Lower and upper end of the central interval of draws along axis 0; an inf among them is a value."""
        check_level(level)
        level = expanded_level(self.fit.student_quantile(level)) if self.is_expanded else level
        ends = [(1 - level) / 2, (1 + level) / 2]
        if np.all(np.isfinite(draws)):
            return np.quantile(draws, ends, axis=0)
        return np.stack(
            [np.quantile(draws, end, axis=0, method=how) for end, how in zip(ends, ("lower", "higher"), strict=True)]
        )


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
    rng = np.random.default_rng(0 if rng is None else rng)
    method = method or ("residual" if groups is None else "cluster")
    if method not in METHODS or (groups is None) == (method == "cluster"):
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


def failed_draws(
    num_failed: int, total: int, why: str = "too few distinct points, or no optimum"
) -> tuple[FitWarning, ...]:
    """That many draws failed, where they did."""
    if num_failed <= _MANY_FAILED * total:
        return ()
    return (FitWarning("failed_draws", f"{num_failed} of {total} bootstrap draws had {why}"),)


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


def solve_rows(
    fit: Fit, x: np.ndarray, y: np.ndarray, weights: np.ndarray, scale: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Parameters in scaled units of the draws that have a fit, and which these are; arguments as in `solve_draws`."""
    # Not `fit.num_free`: a bound that binds there may not in a draw.
    num_fitted = np.count_nonzero(fit.problem.lower < fit.problem.upper)
    rows = np.flatnonzero(_count_distinct(weights > 0, x) >= num_fitted)
    if rows.size == 0:
        return np.empty((0, len(fit.theta))), rows
    y = y[rows] if y.ndim == 2 else y
    scale = np.full(len(x), fit.objective.residual_unit(fit.y_unit)) if scale is None else scale
    problem = replace(fit.problem, x=x, y=y, weights=weights[rows].astype(float), residual_scale=scale)
    theta, is_solved = _solve(problem, fit.theta)
    theta, rows = theta[is_solved], rows[is_solved]
    if fit.law.canonical is not None:
        theta = np.array([fit.law.canonical(row) for row in theta]).reshape(theta.shape)
    return theta, rows


def _solve(problem: Problem, full_fit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parameters of each draw and whether they are at a minimum, in parts that fit a processor's cache.

    A few draws take many steps, to which the number of arrays' operations, not their size, is the cost: those of all
    parts are taken together.
    """
    grid = None
    if problem.law.can_be_scanned:
        mean = problem.weights.mean(axis=0, keepdims=True)
        y = problem.y if problem.y.ndim == 1 else problem.y.mean(axis=0)
        grid = promising(replace(problem, weights=mean, y=y), _NUM_PROMISING)
    found = [_solve_part(problem.rows(part), full_fit, grid, _FIRST_STEPS) for part in _parts(problem)]
    theta, ended, starts = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    slow = np.flatnonzero(~ended)
    for part in _parts(problem.rows(slow)) if slow.size else ():
        rows = slow[part]
        solution = polish(_counted(problem.rows(rows)), starts[rows], last_decrease=_DRAW_DECREASE)
        theta[rows], ended[rows] = solution.theta, solution.converged | solution.near
    return theta, ended


def _parts(problem: Problem) -> list[np.ndarray]:
    size = max(_SMALLEST_PART, _CACHED_NUMBERS // (len(problem.x) * problem.lower.shape[-1]))
    return np.split(np.arange(len(problem.weights)), np.arange(size, len(problem.weights), size))


def _counted(problem: Problem) -> Problem:
    """Without the points that no draw of it has."""
    ever = np.flatnonzero(problem.weights.any(axis=0))
    if ever.size == len(problem.x):
        return problem
    per_point = {"x": problem.x[ever], "y": problem.y[..., ever], "weights": problem.weights[:, ever]}
    return replace(problem, **per_point, residual_scale=problem.residual_scale[ever])


def _solve_part(
    problem: Problem, full_fit: np.ndarray, grid: np.ndarray | None, max_iterations: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parameters, which draws have converged, and starts: the better of the scan's and the fit to all points."""
    problem = _counted(problem)
    starts = known = np.broadcast_to(full_fit, (len(problem.weights), len(full_fit)))
    if grid is not None:
        scanned = scan(problem, 1, grid)[:, 0]
        starts = np.where((problem.value(scanned) < problem.value(known))[:, None], scanned, known)
    solution = polish(problem, starts, max_iterations, _DRAW_DECREASE)
    return solution.theta, solution.converged, starts


def _count_distinct(counted: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Distinct x among the counted points of each draw."""
    place = np.unique(x, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(place, kind="stable")
    first = np.concatenate([[0], np.flatnonzero(np.diff(place[order]) > 0) + 1])
    return np.add.reduceat(counted[:, order], first, axis=1).astype(bool).sum(axis=1)


def _draw_residuals(fit: Fit, num_draws: int, rng: np.random.Generator) -> np.ndarray:
    """Centred residuals, widened to the degrees of freedom that the fit took (Davison and Hinkley 1997, 6.2.3)."""
    residuals = fit.residuals * fit.problem.residual_scale
    widened = (residuals - residuals.mean()) * np.sqrt(fit.num_points / max(fit.degrees_of_freedom, 1))
    return rng.choice(widened, size=num_draws)
