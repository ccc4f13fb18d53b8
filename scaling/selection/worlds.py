"""Intervals of a law on the frontier or hull points, which are biased: what the same rule does in a simulated world.

Even the best runs lie above the true frontier, so the law on them does too, and draws of the same runs only repeat
that. In a world whose frontier is known, the same fit shows by how much it misses: that is taken off (the basic
interval, Davison and Hinkley 1997, section 5.2.1). The world is the stochastic frontier of the runs, with their x.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError, FitWarning, issue
from ..fitting.fit import Fit
from ..inputs import check_num_draws
from ..intervals.bootstrap import case_weights, solve_draws
from ..intervals.draws import BootstrapFit
from .stochastic_frontier import StochasticFrontier, central_curve, fit_stochastic_frontier

__all__ = ["INTERVALS", "WorldDraws", "check_options", "draw_selection", "find_world", "first_fall", "solve_worlds"]

INTERVALS = ("simulated_world", "case_bootstrap")
_TINY = np.finfo(float).tiny
_SIMULATED = 10_000_000  # values of y at once, of which there are several arrays of 80 MB
_SOLVED, _NUM_SOLVED = 1e6, 4000  # how far beyond the points, and values of x, between which a curve is interpolated


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class WorldDraws(BootstrapFit):
    """Draws of a basic interval: the fit, less what a refit in the world misses the world's own law by.

    `theta` holds those of the parameters, the amplitude in its logarithm, cut at the law's bounds; a curve is drawn in
    log y from the curves, not from `theta`.

    Attributes:
        world: parameters of the world's law in scaled units, shape (num_params,).
        refits: parameters of the law on the selection in each simulated world, shape (num_draws, num_params).
        misfit: that the runs contradict the world, where they do.
    """

    world: np.ndarray
    refits: np.ndarray
    misfit: tuple[FitWarning, ...] = ()

    @property
    def warnings(self) -> tuple[FitWarning, ...]:
        """That many draws failed, or that the runs contradict the world that they are simulated in."""
        return super().warnings + self.misfit

    def take(self, rows: np.ndarray) -> "WorldDraws":
        """Those of the draws."""
        parts = {name: getattr(self, name)[rows] for name in ("theta", "residual_draws", "refits")}
        return replace(self, **parts)

    def _law(self, scaled: np.ndarray) -> np.ndarray:
        curves = (self.fit.law.value(theta, scaled) for theta in (self.fit.theta, self.world, self.refits))
        curve, world, refits = curves
        return curve * world / np.maximum(refits, _TINY)

    def solve_for_x(self, y: ArrayLike) -> np.ndarray:
        """Least x at which each draw's curve has fallen to y, inf where it does not within a factor of a million of the
        points, and no less than a millionth of them: (num_draws, number of y)."""
        law, targets = self.fit.law, np.log(np.ravel(y))
        grid = np.geomspace(self.fit.x.min() / _SOLVED, self.fit.x.max() * _SOLVED, _NUM_SOLVED)
        logs = np.log(np.maximum(self.values(grid), _TINY))[:, :: -1 if law.increasing else 1]
        at = np.log(grid)[:: -1 if law.increasing else 1]
        return np.stack([first_fall(logs, at, target) for target in targets], axis=-1)


def first_fall(logs: np.ndarray, at: np.ndarray, target: float) -> np.ndarray:
    """x where each row of logs (draws, g), over log x at (g,), first falls to the target; inf where it never does."""
    is_below = logs <= target
    place = np.argmax(is_below, axis=1)
    before, row = np.maximum(place - 1, 0), np.arange(len(logs))
    fall = logs[row, before] - logs[row, place]
    share = np.divide(logs[row, before] - target, fall, out=np.ones(len(logs)), where=fall > 0)
    x = np.exp(at[before] + share * (at[place] - at[before]))
    return np.where(is_below.any(axis=1), x, np.inf)


def check_options(
    selection: str, intervals: str | None, groups: ArrayLike | None, noise_std: float | None, num_draws: int
) -> None:
    """Which options go together."""
    check_num_draws(num_draws)
    if intervals is not None and not (isinstance(intervals, str) and intervals in INTERVALS):
        raise ValueError(f"intervals must be one of {INTERVALS} or None, got {intervals!r}")
    if selection == "stochastic" and (intervals is not None or groups is not None):
        raise ValueError(
            "selection='stochastic' has the intervals of its posterior, which takes no intervals= or groups="
        )
    if selection != "stochastic" and noise_std is not None:
        raise ValueError(f"noise_std goes with selection='stochastic', got {selection!r}")


Points = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


def draw_selection(
    fit: Fit, x: np.ndarray, y: np.ndarray, points: Points, *, selection: str, intervals: str | None,
    groups: ArrayLike | None, num_draws: int, rng: np.random.Generator,
) -> tuple[BootstrapFit, str]:  # fmt: skip
    """Draws of a law on selected points that take the selection anew, and their kind, of `INTERVALS`.

    Args:
        fit, x, y, points: as in `solve_worlds`; of the runs' own y, `points` takes shape (n,).
        selection, intervals, groups: as in `fit_frontier`.
    """
    world = find_world(intervals, selection, groups, fit, x, y, rng)
    if world is not None:
        return solve_worlds(fit, world, x, y, points, num_draws, rng), "simulated_world"
    return _solve_points(fit, points(y, case_weights(x.size, num_draws, rng, groups)), rng), "case_bootstrap"


def _solve_points(
    fit: Fit, points: tuple[np.ndarray, np.ndarray, np.ndarray], rng: np.random.Generator
) -> BootstrapFit:
    """Without those that no draw has."""
    x, y, weights = points
    ever = np.flatnonzero(weights.any(axis=0))
    return solve_draws(fit, x[ever] / fit.x_unit, y[..., ever] / fit.y_unit, weights[:, ever], rng)


def find_world(
    intervals: str | None,
    selection: str,
    groups: ArrayLike | None,
    fit: Fit,
    x: np.ndarray,
    y: np.ndarray,
    rng: np.random.Generator,
) -> StochasticFrontier | None:
    """The world to simulate, or None where the interval is that of the case bootstrap.

    With `intervals` None it is the world wherever there is one: for a frontier or hull, without groups, of enough runs
    with positive y.
    """
    is_possible = selection != "all" and groups is None and bool(np.all(y > 0))
    if intervals == "simulated_world" and not is_possible:
        raise ValueError("intervals='simulated_world' needs selection 'pareto' or 'convex_hull', no groups, positive y")
    if intervals == "case_bootstrap" or not is_possible:
        return None
    with warnings.catch_warnings(action="ignore", category=FitWarning):
        try:
            return fit_stochastic_frontier(x, y, fit.law, rng=rng)
        except FitError:
            if intervals is not None:
                raise
            return None


def solve_worlds(
    fit: Fit,
    world: StochasticFrontier,
    x: np.ndarray,
    y: np.ndarray,
    points: Points,
    num_draws: int,
    rng: np.random.Generator,
) -> WorldDraws:
    """Simulate worlds at the same x, select anew, refit in one batch.

    Args:
        fit: the law on the selection of the runs.
        x, y: of all runs, shape (n,).
        points: from simulated y and how often each run counts, both (num_draws, n), the points that the law is
            fitted to: x (m,), y (num_draws, m), and weights (num_draws, m), in the user's units.
    """
    refits, residuals, num_failed = [], [], 0
    for num in _parts(num_draws, x.size):
        excess = _resampled_excess(world, x, y, num, rng)
        simulated = central_curve(world.fit, x) * np.exp(excess)
        solved = _solve_points(fit, points(simulated, np.ones(excess.shape, dtype=np.int64)), rng)
        refits.append(solved.theta)
        residuals.append(solved.residual_draws)
        num_failed += solved.num_failed
    refits = np.concatenate(refits)
    law = fit.law
    theta = law.in_units(world.fit.theta, world.fit.x_unit / fit.x_unit, world.fit.y_unit / fit.y_unit)
    basic = fit.theta + theta - refits
    if law.lower[0] >= 0:
        basic[:, 0] = fit.theta[0] * theta[0] / np.maximum(refits[:, 0], _TINY)
    basic = np.clip(basic, fit.problem.lower, fit.problem.upper)
    misfit = tuple(_misfit(warning) for warning in world.warnings if warning.kind == "poor_fit")
    issue(*misfit)
    parts = (np.concatenate(residuals), num_failed)
    return WorldDraws(fit, basic, *parts, world=theta, refits=refits, misfit=misfit)


def _parts(num_draws: int, num_runs: int) -> list[int]:
    """How many worlds are simulated at once: as many as memory is for."""
    size = max(_SIMULATED // num_runs, 1)
    return [min(size, num_draws - start) for start in range(0, num_draws, size)]


def _misfit(warning: FitWarning) -> FitWarning:
    return FitWarning("poor_fit", f"the intervals are of a simulated world that the runs contradict: {warning}")


def _resampled_excess(
    world: StochasticFrontier, x: np.ndarray, y: np.ndarray, num_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """log y of the runs over a law of the posterior, another in each draw, resampled over the runs: (num_draws, n).

    The runs' own excess, because a frontier also passes through runs that the noise and the excess of the best say
    nothing of; over a drawn law, because where the frontier lies is known no better than that.
    """
    law = rng.integers(len(world.draws.theta), size=num_draws)
    excess = np.log(y) - np.log(world.draws.take(law).values(x))
    return np.take_along_axis(excess, rng.integers(x.size, size=excess.shape), axis=1)
