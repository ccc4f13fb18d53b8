"""The compute frontier: the best error at each compute, and the law that it follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError, FitWarning, issue, warning_lines
from ..fitting.fit import Fit
from ..fitting.fit_law import fit_law
from ..inputs import check_positive, check_same_index, generator, numbers
from ..intervals.draws import BootstrapFit
from ..laws import Law, find_law
from ..prediction import Prediction, no_warning_beyond, warn_beyond
from ..selection.hulls import finite_points
from ..selection.rules import check_hull_axes, check_selection, drawn_selection, select
from ..selection.selected import SelectedFit
from ..selection.stochastic_frontier import StochasticFrontier, fit_stochastic_frontier
from ..selection.worlds import check_options, draw_selection

__all__ = ["FrontierFit", "fit_frontier"]

# Points that near to a hull, relative to the largest y (or in log y on a hull in log axes), count as on it: rounding of
# an exact law's collinear points.
_HULL_TOLERANCE = 1e-12


@dataclass(frozen=True, repr=False, eq=False)
class FrontierFit(SelectedFit):
    """A law on the frontier of runs. Made by `fit_frontier`.

    Attributes:
        x, y: all runs, shape (n,).
        selected: indices of the runs that the law was fitted to, x ascending; of a stochastic frontier, which is fitted
            to all runs, those near it.
        selection: how they were chosen.
        fit: the law; of a stochastic frontier the central one, whose own standard errors say nothing.
        bootstrap: draws of the law that the intervals are read off.
        intervals: what the draws are: "posterior", "simulated_world" or "case_bootstrap".
        stochastic: noise and excess of a stochastic frontier, else None.
        hull_axes: axes that the hull was taken in, "linear" or "log".
    """

    x: np.ndarray
    y: np.ndarray
    selected: np.ndarray
    selection: str
    fit: Fit
    bootstrap: BootstrapFit
    intervals: str
    stochastic: StochasticFrontier | None = None
    hull_axes: str = "linear"

    def _own_warnings(self) -> tuple[FitWarning, ...]:
        if self.stochastic is not None:
            return self.stochastic.warnings
        law, found = self.fit.law, self._below_limit()
        if self.hull_axes == "linear" or not law.bends_down:
            return found
        hidden = "a downward bend such as that of a shift d > 0"
        message = (
            f"a lower hull in log axes bends upwards only, so it hides {hidden} from {law.name!r}: take linear axes"
        )
        return (*found, FitWarning("hidden_curvature", message))

    def _below_limit(self) -> tuple[FitWarning, ...]:
        """That the best run of a frontier lies below what its law falls to, by more than the residuals scatter."""
        limit = self.fit.limit
        scatter = np.exp(self.fit.residual_std) if self.fit.objective.log else 1.0
        if self.selection == "all" or self.fit.law.increasing or not self.y.min() * scatter < limit:
            return ()
        num, best = np.count_nonzero(self.y < limit), self.y.min()
        text = f"{num} runs lie below the irreducible error {limit:.4g}, the best at {best:.4g}: are families mixed?"
        return (FitWarning("below_limit", text),)

    @overload
    def predict(self, x: ArrayLike, level: None = None) -> np.ndarray: ...
    @overload
    def predict(self, x: ArrayLike, level: float) -> Prediction: ...
    def predict(self, x: ArrayLike, level: float | None = None) -> np.ndarray | Prediction:
        """The frontier at x: an ndarray, or with a `level` a `Prediction`.

        Where every y is at most 1, they are taken for fractions, and so is what is predicted: it is cut at 1.
        """
        limit = 1.0 if self.y.max() <= 1 else np.inf
        if not self.fit.law.increasing:
            warn_beyond(check_positive("x", numbers("x", x)), self.x)
        with no_warning_beyond():  # the frontier's own points
            if level is None:
                return np.minimum(self.fit.predict(x), limit)
            band = self.bootstrap.predict(x, level)
        ends = {name: np.minimum(getattr(band, name), limit) for name in ("median", "low", "high")}
        return replace(band, **ends)

    @overload
    def solve_for_x(self, y: ArrayLike, level: None = None) -> np.ndarray: ...
    @overload
    def solve_for_x(self, y: ArrayLike, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
    def solve_for_x(
        self, y: ArrayLike, level: float | None = None
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x at which the law falls to y, in the shape of y: an ndarray, or with a `level` the value, low and high.

        inf where the law never does, and an end of inf where that share of the draws never does. The interval is what
        the frontier's draws give, see `fit_frontier`; of "simulated_world" the law's own value may lie outside, and
        draws are followed down to a millionth of the least x of the runs, up to a million times the largest.
        """
        value = self.fit.solve_for_x(y)
        if level is None:
            return value
        if value.size == 0:
            return value, value.copy(), value.copy()
        with np.errstate(all="ignore"):  # of y at or below 0, and where a steep draw overflows far below the runs
            low, high = self.bootstrap.quantiles(self.bootstrap.solve_for_x(y), level)
        return value, low.reshape(value.shape), high.reshape(value.shape)

    def summary(self, level: float = 0.95) -> str:
        """The fit, and an interval for each parameter."""
        lines = self._interval_lines(level)
        if self.stochastic is None:
            rule = self.selection + (" in log axes" if self.hull_axes == "log" else "")
            head = f"{rule} of {self.x.size} runs: {self.selected.size} points; intervals: {self.intervals}"
            notes = self.bootstrap.warnings + self._own_warnings()
            own = warning_lines(notes)
            return "\n".join([head, self.fit.summary(), *lines, *own])
        law = self.fit.law
        params = [f"  {name:>6} = {value:.6g}" for name, value in self.params.items()]
        notes = warning_lines(self.warnings)
        head = [f"stochastic frontier of {self.x.size} runs", f"{law.name}: {law.formula}"]
        return "\n".join([*head, *params, *lines, *self.stochastic.summary_lines(), *notes])


def fit_frontier(
    x: ArrayLike,
    y: ArrayLike,
    *,
    law: str | Law = "saturating_power",
    selection: str = "pareto",
    hull_axes: str = "linear",
    tolerance: float | None = None,
    objective: str = "log_least_squares",
    intervals: str | None = None,
    noise_std: float | None = None,
    num_draws: int = 1000,
    groups: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> FrontierFit:
    """Fit a law to the frontier of runs.

    `selection="stochastic"` is the one to predict with: the law is the lower edge of all runs, which lie above it by
    seed noise and an excess. Of the published conventions the law on the Pareto or hull points is biased upwards, since
    even the best runs lie above the true frontier.

    What nominal 95 % intervals cover of E at ten times the largest compute, in simulated runs over four decades, with
    exponential, half-normal, Gamma and mixed excess (`tests/benchmarks/frontier_coverage.py`):

    - the posterior of a stochastic frontier: .91 to .99 (mean .97) at 50, 200 and 800 runs, with and without 1 % of
      seed noise. It takes the excess for alike at all x: where its mean changes fourfold over the runs, about .9; and
      for smooth: with a gap between the best runs and the rest, about .88 at 800 runs.
      It takes the law's shape for true: on Zhai et al.'s 262 runs (10-shot error of ImageNet) `saturating_power` says
      .122 [.110, .132] at the largest compute, where the best run has .151, and c = .062 [.037, .082], and the six
      largest runs lie above the band. `poor_fit` says so; "double_saturating_power" has .140 [.130, .145] (the printed
      law .144) and c = .110, and the three largest still lie above its band.
    - "simulated_world", of the law on frontier points: .90 to .98 (mean .94), up to three times as wide. It is the fit,
      less what the same rule misses in simulated runs above a known law; so it may lie wholly below the law.
    - "case_bootstrap": .69 on Pareto points, .59 on hull points (150 times 200 runs, exponential excess, 1 % noise). It
      says how much the law depends on the runs at hand, and is what groups of runs need.

    Args:
        x: cost of each run, positive, shape (n,), e.g. training compute in FLOPs.
        y: error of each run, shape (n,); lower is better.
        law: as in `fit_law`; any law of one variable.
        selection: "stochastic"; "pareto" (Zhai et al. 2021), "convex_hull" (lower hull), or "all".
        hull_axes: of the hull, "linear" or "log" (both axes).
        tolerance: points that near to the hull, in y (in log y on log axes), count as on it; None: what rounding does
            to the largest.
        objective: as in `fit_law`; a stochastic frontier has its own, the likelihood.
        intervals: of the law on a frontier or hull, "simulated_world" or "case_bootstrap"; None: the first, where
            there are no groups and at least four runs a parameter.
        noise_std: of a stochastic frontier, the standard deviation of log y between replicate seeds, where known.
        num_draws, rng: as in `bootstrap_fit`.
        groups: of the runs, e.g. their trunk, which the case bootstrap draws together.

    Raises:
        ValueError: bad input.
        FitError: the frontier has too few points, or is flat.

    Warns:
        FitWarning: `poor_fit` where the runs contradict the stochastic frontier, or fit one of a law with a shift far
            better (p < 1e-4: the law must not be extrapolated), or contradict the one whose simulated worlds the
            intervals are of; `few_effective_draws` where the ends of a posterior's intervals are rough;
            `below_limit` where the best run lies below the law's irreducible error by more than the scatter of its
            residuals; `hidden_curvature` where the law can bend downwards in log-log, e.g. by a shift d, and the hull
            is one in log axes.

    Source: Zhai et al. 2021 (arXiv 2106.04560), section 2; the Pareto rule reproduces their Figure 9. Stochastic
    frontiers: Aigner, Lovell and Schmidt 1977 (J. Econometrics 6).

    >>> x = np.geomspace(1e15, 1e18, 20)
    >>> runs_x, runs_y = np.tile(x, 2), np.concatenate([0.4 * (x / 1e15) ** -0.3 + 0.1, np.full(20, 0.6)])
    >>> front = fit_frontier(runs_x, runs_y, num_draws=50)
    >>> front.selected.size, round(front.params["b"], 6), round(front.params["c"], 6)
    (20, 0.3, 0.1)
    """
    check_selection(selection, "stochastic")
    if isinstance(objective, str) and objective == "binomial":
        raise ValueError("objective 'binomial' needs the images of each error rate: take the points and fit_law")
    check_options(selection, intervals, groups, noise_std, num_draws)
    rng = generator(rng)
    check_same_index(x=x, y=y, groups=groups)
    x, y = finite_points(x, y)
    check_hull_axes(hull_axes, selection, x, y)
    if selection == "stochastic":
        return _stochastic(x, y, law, noise_std=noise_std, num_draws=num_draws, rng=rng)
    if tolerance is None:
        tolerance = _HULL_TOLERANCE * (1.0 if hull_axes == "log" else float(np.max(np.abs(y), initial=0.0)))
    selected = select(x, y, selection, tolerance, hull_axes)
    if selected.size < len(find_law(law).params) <= x.size:
        raise FitError(
            f"the {selection} of {x.size} runs has {selected.size} points, too few for {law!r}:"
            " is y an error, of which lower is better?"
        )
    fit = fit_law(law, x[selected], y[selected], objective=objective)

    def points(y: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return x, y, drawn_selection(x, y, counts, selection, tolerance, hull_axes)

    options = {"intervals": intervals, "groups": groups, "num_draws": num_draws, "rng": rng}
    draws, kind = draw_selection(fit, x, y, points, selection=selection, **options)
    result = FrontierFit(x, y, selected, selection, fit, draws, kind, hull_axes=hull_axes)
    issue(*result._own_warnings())
    return result


def _stochastic(x: np.ndarray, y: np.ndarray, law: str | Law, **options: Any) -> FrontierFit:
    found = fit_stochastic_frontier(x, y, law, **options)
    issue(*found.warnings)
    return FrontierFit(x, y, found.near, "stochastic", found.fit, found.draws, "posterior", found)
