"""Downstream accuracy from upstream accuracy: e_DS = k e_US^alpha + e_IR on the hull of (upstream, downstream)."""

import warnings
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from .bootstrap import BootstrapFit, case_weights, solve_draws
from .errors import FitError, FitWarning
from .fit import Fit
from .fitting import fit_law
from .prediction import Prediction
from .selection import check_selection, drawn_selection, select

__all__ = ["HULL_POINTS", "TransferFit", "fit_transfer"]

HULL_POINTS = ("vertices", "near", "sampled")
_NUM_SAMPLES = 100  # points on a sampled hull
_HIDDEN_ALPHA = 1.1  # the hull of accuracies is concave, so no fit to it can show an alpha below 1


@dataclass(frozen=True, repr=False)
class TransferFit:
    """Eq. 1 of Abnar et al. 2021 fitted to a downstream task. Made by `fit_transfer`.

    Attributes:
        upstream, downstream: accuracies of all models, shape (n,).
        selected: indices of the models on the hull, upstream accuracy ascending.
        fit: the law in errors; its points are the hull's vertices, the models near it, or the sampled hull.
        bootstrap: draws of the models, the hull taken anew in each.
        num_right_of_best: models dropped for lying right of the best downstream accuracy.
        upstream_bayes_error: upstream error that no model can go below.
    """

    upstream: np.ndarray
    downstream: np.ndarray
    selected: np.ndarray
    selection: str
    fit: Fit
    bootstrap: BootstrapFit
    num_right_of_best: int
    upstream_bayes_error: float

    @property
    def params(self) -> dict[str, float]:
        """k, alpha, e_ir."""
        return self.fit.params

    @property
    def warnings(self) -> tuple[FitWarning, ...]:
        """What a reader must know, of the fit, of its draws and of the hull."""
        return self.fit.warnings + self.bootstrap.warnings + self._hull_warnings()

    def _hull_warnings(self) -> tuple[FitWarning, ...]:
        found = []
        alpha, num_models = self.params["alpha"], self.selected.size
        if self.selection == "convex_hull" and alpha < _HIDDEN_ALPHA:
            message = f"alpha is {alpha:.3g}, nearly a straight line: a concave hull hides an alpha below 1"
            found.append(FitWarning("hidden_curvature", message))
        if num_models <= len(self.params) < self.fit.x.size:
            found.append(FitWarning("few_points", f"{num_models} models and {len(self.params)} parameters"))
        return tuple(found)

    def __repr__(self) -> str:
        return self.summary()

    @property
    def saturation(self) -> float:
        """Downstream accuracy of a model with no upstream error but the Bayes error: 1 - e_ir where that is 0."""
        return float(self._at_bayes_error(*self.params.values()))

    def saturation_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Percentile interval of the saturation value."""
        draws = self._at_bayes_error(*self.bootstrap.params.values())
        low, high = np.clip(self.bootstrap.quantiles(draws, level), 0, 1)
        return float(low), float(high)

    def _at_bayes_error(self, k: Any, alpha: Any, e_ir: Any) -> Any:
        return 1 - (k * self.upstream_bayes_error**alpha + e_ir)

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Interval of k, alpha or e_ir, the choice of the hull included."""
        return self.bootstrap.interval(name, level)

    @overload
    def predict(self, upstream_accuracy: ArrayLike, level: None = None) -> np.ndarray: ...
    @overload
    def predict(self, upstream_accuracy: ArrayLike, level: float) -> Prediction: ...
    def predict(self, upstream_accuracy: ArrayLike, level: float | None = None) -> np.ndarray | Prediction:
        """Downstream accuracy of the best model at an upstream accuracy; with a `level` a `Prediction`.

        Raises:
            ValueError: an accuracy outside [0, 1).
        """
        accuracy = _fractions("upstream_accuracy", upstream_accuracy)
        if np.any(accuracy == 1):
            raise ValueError("upstream_accuracy must be below 1; the value at 1 is `saturation`")
        if level is None:
            return np.clip(1 - self.fit.predict(1 - accuracy), 0, 1)
        error = self.bootstrap.predict(1 - accuracy, level)
        median, low, high = (np.clip(1 - v, 0, 1) for v in (error.median, error.high, error.low))
        return Prediction(accuracy, median, low, high, level, error.kind)

    def summary(self, level: float = 0.95) -> str:
        """Parameters and saturation with intervals, and what was left out."""
        low, high = self.saturation_interval(level)
        head = (
            f"{self.selection} of {self.upstream.size} models: {self.selected.size} points,"
            f" {self.num_right_of_best} right of the best dropped"
        )
        tail = f"  saturation {self.saturation:.4f}, {level:.0%} interval {low:.4f} to {high:.4f}"
        params = [f"  {name:>6} = {value:.6g}" for name, value in self.params.items()]
        notes = [f"  warning ({warning.kind}): {warning}" for warning in self.warnings]
        formula = f"{self.fit.law.name}: {self.fit.law.formula}   (objective {self.fit.objective.name})"
        return "\n".join([head, formula, *params, *self.bootstrap.interval_lines(level), tail, *notes])


def fit_transfer(
    upstream_accuracy: ArrayLike,
    downstream_accuracy: ArrayLike,
    *,
    selection: str = "convex_hull",
    hull_points: str = "vertices",
    tolerance: float = 0.005,
    upstream_bayes_error: float = 0.0,
    window: tuple[float, float] = (0.0, 1.0),
    objective: str = "least_squares",
    num_draws: int = 1000,
    groups: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> TransferFit:
    """Fit e_DS = k e_US^alpha + e_IR to the upper hull of (upstream, downstream) accuracy.

    Any point of the hull is attained by picking between two models at random for each input (Lemma 2.1). Models
    right of the best downstream accuracy are dropped and counted. The hull has no anchors: it runs from the leftmost
    model to the best one. The interval is of a case bootstrap that takes the hull anew in each draw; see
    `fit_frontier` for what such an interval is worth.

    Args:
        upstream_accuracy, downstream_accuracy: fractions, shape (n,); upstream below 1.
        selection: "convex_hull" (the paper's), "pareto", or "all".
        hull_points: what of the hull is fitted (the paper does not say): its "vertices", the models at most
            `tolerance` below it ("near"), or the hull "sampled" at 100 equally spaced upstream accuracies.
        tolerance: in downstream accuracy.
        upstream_bayes_error: upstream error that cannot be undercut; `saturation` is the value there.
        window: upstream accuracies (from, to] of the models used; the paper fits (0, 0.45].
        objective: as in `fit_law`; residuals in accuracy by default, so that a perfect task is allowed.
        num_draws, groups, rng: as in `bootstrap_fit`.

    Raises:
        ValueError: bad input: which argument, which value, what is valid.
        FitError: the hull has too few points for three parameters, or is flat.

    Warns:
        FitWarning: `hidden_curvature` where alpha is near 1, the least that a concave hull can show.

    Source: Abnar et al. 2021 (arXiv 2110.02095), section 2, Eq. 1, Definition 2.2.

    >>> upstream = np.linspace(0.1, 0.6, 11)
    >>> trans = fit_transfer(upstream, 1 - (0.7 * (1 - upstream) ** 2.5 + 0.1), num_draws=50)
    >>> {name: round(value, 6) for name, value in trans.params.items()}
    {'k': 0.7, 'alpha': 2.5, 'e_ir': 0.1}
    >>> round(trans.saturation, 6)
    0.9
    """
    rng = np.random.default_rng(0 if rng is None else rng)
    upstream = _fractions("upstream_accuracy", upstream_accuracy)
    downstream = _fractions("downstream_accuracy", downstream_accuracy)
    _fractions("upstream_bayes_error", upstream_bayes_error)
    _check_choices(selection, hull_points, window)
    _check_models(upstream, downstream, groups)
    inside = np.flatnonzero((upstream > window[0]) & (upstream <= window[1]))
    if inside.size == 0:
        raise FitError(f"no model has an upstream accuracy in the window {window}")
    us, error = upstream[inside], 1 - downstream[inside]
    how = _Selection(selection, hull_points, tolerance)
    selected = select(us, error, selection, how.near)
    fit = _fit_law(*how.law_points(us, error, np.ones((1, us.size))), selected.size, objective)
    counts = case_weights(us.size, num_draws, rng, None if groups is None else np.asarray(groups)[inside])
    points_us, points_error, weights = how.law_points(us, error, counts)
    bootstrap = solve_draws(fit, (1 - points_us) / fit.x_unit, points_error / fit.y_unit, weights, rng)
    right = 0 if selection == "all" else int(np.sum(us > us[selected[-1]]))
    bayes = float(upstream_bayes_error)
    result = TransferFit(upstream, downstream, inside[selected], selection, fit, bootstrap, right, bayes)
    for warning in result._hull_warnings():
        warnings.warn(warning, stacklevel=2)
    return result


@dataclass(frozen=True)
class _Selection:
    """What of the models the law is fitted to, alike for all models and for each bootstrap draw."""

    selection: str
    hull_points: str
    tolerance: float

    @property
    def near(self) -> float:
        return self.tolerance if self.hull_points == "near" else 0.0

    def law_points(
        self, us: np.ndarray, error: np.ndarray, counts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Upstream accuracies (m,), errors (m,) or (num_draws, m), and weights (num_draws, m)."""
        weights = drawn_selection(us, error, counts, self.selection, self.near)
        if self.selection != "convex_hull" or self.hull_points != "sampled":
            return us, error, weights
        grid = np.linspace(us.min(), us.max(), _NUM_SAMPLES)
        return grid, *_sampled_hulls(grid, us, error, weights)


def _sampled_hulls(
    grid: np.ndarray, us: np.ndarray, error: np.ndarray, vertices: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Each draw's hull at the grid, and 1 where the grid lies between its ends; both (num_draws, m).

    A hull of two vertices is a straight line, which no bend of the law can be read from: its weights are 0.
    """
    heights = np.empty((len(vertices), grid.size))
    inside = np.zeros(heights.shape, dtype=np.int64)
    order = np.argsort(us, kind="stable")
    for row, is_vertex in enumerate(vertices[:, order] > 0):
        hull = order[is_vertex]
        heights[row] = np.interp(grid, us[hull], error[hull])
        inside[row] = (hull.size > 2) & (grid >= us[hull[0]]) & (grid <= us[hull[-1]])
    return heights, inside


def _fit_law(us: np.ndarray, error: np.ndarray, weights: np.ndarray, num_models: int, objective: str) -> Fit:
    if num_models < 3:
        raise FitError(
            f"the selection has {num_models} models, the law three parameters: too few;"
            " hull_points='near' with a larger tolerance or selection='pareto' takes more"
        )
    used = weights[0] > 0
    return fit_law("transfer", 1 - us[used], np.broadcast_to(error, weights.shape)[0][used], objective=objective)


def _fractions(name: str, values: ArrayLike) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    bad = np.flatnonzero(~((values.ravel() >= 0) & (values.ravel() <= 1)))
    if bad.size:
        value = values.ravel()[bad[0]]
        percent = " (is this percent? divide by 100)" if value > 1 else ""
        raise ValueError(f"{name} must lie in [0, 1]; row {bad[0]} is {value:g}{percent} ({bad.size} such)")
    return values


def _check_choices(selection: str, hull_points: str, window: tuple[float, float]) -> None:
    check_selection(selection)
    if hull_points not in HULL_POINTS:
        raise ValueError(f"hull_points must be one of {HULL_POINTS}, got {hull_points!r}")
    if selection != "convex_hull" and hull_points != "vertices":
        raise ValueError(f"hull_points={hull_points!r} goes with selection='convex_hull', got {selection!r}")
    if np.shape(window) != (2,):
        raise ValueError(f"window must be (from, to), got {window!r}")


def _check_models(upstream: np.ndarray, downstream: np.ndarray, groups: ArrayLike | None) -> None:
    if upstream.ndim != 1 or upstream.shape != downstream.shape:
        raise ValueError(
            f"accuracies must be one-dimensional and equally long, got {upstream.shape} and {downstream.shape}"
        )
    if np.any(upstream == 1):
        raise ValueError(f"upstream_accuracy must be below 1; row {np.flatnonzero(upstream == 1)[0]} is 1")
    if groups is not None and np.shape(groups) != upstream.shape:
        raise ValueError(f"groups must have one label a model, shape {upstream.shape}, got {np.shape(groups)}")
