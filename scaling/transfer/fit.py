"""Downstream accuracy from upstream accuracy: e_DS = k e_US^alpha + e_IR on the hull of (upstream, downstream)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError, FitWarning, issue, warning_lines
from ..fitting.fit import Fit
from ..fitting.fit_law import fit_law
from ..groups import number_groups
from ..inputs import check_accuracies, check_fractions, check_same_index, generator
from ..intervals.draws import BootstrapFit
from ..prediction import Prediction
from ..selection.selected import SelectedFit
from ..selection.stochastic_frontier import StochasticFrontier, fit_stochastic_frontier
from ..selection.worlds import check_options, draw_selection
from .selection import TransferSelection, check_anchors, check_window

__all__ = ["HIDDEN_ALPHA", "TransferFit", "fit_to_selection", "fit_transfer"]

HIDDEN_ALPHA = 1.1  # the hull of accuracies is concave, so no fit to it can show an alpha below 1
_MANY_MODELS = 30  # ten a parameter: a hull of three of so many says that the others are far from concave


@dataclass(frozen=True, repr=False, eq=False)
class TransferFit(SelectedFit):
    """Eq. 1 of Abnar et al. 2021 fitted to a downstream task. Made by `fit_transfer`.

    Attributes:
        upstream, downstream: accuracies of all models, shape (n,).
        selected: indices of the models on the hull, upstream accuracy ascending; of a stochastic frontier, which is
            fitted to all models, those near it.
        fit: the law in errors; its points are the hull's vertices, the models near it, or the sampled hull; of a
            stochastic frontier the central law, whose own standard errors say nothing.
        bootstrap: draws of the law that the intervals are read off.
        num_right_of_best: models dropped for lying right of the best downstream accuracy.
        upstream_bayes_error: upstream error that no model can go below.
        intervals: what the draws are: "posterior", "simulated_world" or "case_bootstrap".
        stochastic: noise and excess of a stochastic frontier, else None.
        anchors: how the hull ends beside its models: "chance", "flat_right", both or neither.
        anchor_points: the anchors that are points of the hull, (upstream, downstream) accuracies, shape (m, 2).
    """

    upstream: np.ndarray
    downstream: np.ndarray
    selected: np.ndarray
    selection: str
    fit: Fit
    bootstrap: BootstrapFit
    num_right_of_best: int
    upstream_bayes_error: float
    intervals: str
    stochastic: StochasticFrontier | None = None
    anchors: tuple[str, ...] = ()
    anchor_points: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))

    def _own_warnings(self) -> tuple[FitWarning, ...]:
        if self.stochastic is None:
            return self._hull_warnings()
        return tuple(self._of_accuracy(w) if w.kind == "poor_fit" else w for w in self.stochastic.warnings)

    def _of_accuracy(self, warning: FitWarning) -> FitWarning:
        above = np.mean(self.downstream > self.predict(self.upstream))
        return FitWarning(
            "poor_fit",
            f"the models contradict the law as their upper edge ({above:.0%} of all lie above it): it is not the form"
            " of this task, and its saturation is not to be read; use fit_line or compare_scalings."
            f" What contradicts it, in errors: {warning}",
        )

    def _hull_warnings(self) -> tuple[FitWarning, ...]:
        found = []
        alpha, num_models = self.params["alpha"], self.selected.size + len(self.anchor_points)
        if self.selection == "convex_hull" and alpha < HIDDEN_ALPHA:
            message = f"alpha is {alpha:.3g}, nearly a straight line: a concave hull hides an alpha below 1"
            found.append(FitWarning("hidden_curvature", message))
        elif self.selection == "convex_hull" and num_models <= len(self.params) and self.upstream.size >= _MANY_MODELS:
            message = (
                f"the hull of {self.upstream.size} models is {num_models} points, from which no curvature can be told:"
                " the models are hardly concave; compare selection='stochastic' or 'pareto', or compare_scalings"
            )
            found.append(FitWarning("hidden_curvature", message))
        if num_models <= len(self.params) < self.fit.x.size:
            found.append(FitWarning("few_points", f"{num_models} models and {len(self.params)} parameters"))
        return tuple(found)

    @property
    def saturation(self) -> float:
        """Downstream accuracy of a model with no upstream error but the Bayes error: 1 - e_ir where that is 0."""
        return float(self._at_bayes_error(*self.params.values()))

    def saturation_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval of the saturation value."""
        low, high = self.bootstrap.quantiles(self._saturations(), level)
        return float(low), float(high)

    @property
    def saturation_median(self) -> float:
        """Median of the draws, the centre of the interval: of "simulated_world" less the bias of the selection."""
        return float(np.median(self._saturations()))

    def _saturations(self) -> np.ndarray:
        """Of each draw, shape (num_draws,)."""
        at = self.upstream_bayes_error
        errors = self.bootstrap.values([at])[:, 0] if at > 0 else self.bootstrap.params["e_ir"]
        return np.clip(1 - errors, 0.0, 1.0)

    def _at_bayes_error(self, k: Any, alpha: Any, e_ir: Any) -> Any:
        return 1 - (k * self.upstream_bayes_error**alpha + e_ir)

    @overload
    def predict(self, upstream_accuracy: ArrayLike, level: None = None) -> np.ndarray: ...
    @overload
    def predict(self, upstream_accuracy: ArrayLike, level: float) -> Prediction: ...
    def predict(self, upstream_accuracy: ArrayLike, level: float | None = None) -> np.ndarray | Prediction:
        """Downstream accuracy of the best model at an upstream accuracy; with a `level` a `Prediction`.

        Raises:
            ValueError: an accuracy outside [0, 1).
        """
        accuracy = check_fractions("upstream_accuracy", upstream_accuracy)
        if np.any(accuracy == 1):
            raise ValueError("upstream_accuracy must be below 1; the value at 1 is `saturation`")
        if level is None:
            return np.clip(1 - self.fit.predict(1 - accuracy), 0, 1)
        error = self.bootstrap.predict(1 - accuracy, level)
        median, low, high = (np.clip(1 - v, 0, 1) for v in (error.median, error.high, error.low))
        return Prediction(accuracy, median, low, high, level, error.kind)

    def _anchor_text(self) -> str:
        at = ", ".join(f"({us:.4g}, {ds:.4g})" for us, ds in self.anchor_points) or "not on the hull"
        return f"{' and '.join(self.anchors)} at {at}" if self.anchors else "none"

    def summary(self, level: float = 0.95) -> str:
        """Parameters and saturation with intervals, and what was left out."""
        head = (
            f"{self.selection} of {self.upstream.size} models: {self.selected.size} points,"
            f" {self.num_right_of_best} right of the best dropped; anchors: {self._anchor_text()};"
            f" intervals: {self.intervals}"
        )
        if self.stochastic is not None:
            head = f"stochastic frontier of {self.upstream.size} models"
        params = [f"  {name:>6} = {value:.6g}" for name, value in self.params.items()]
        notes = warning_lines(self.warnings)
        formula = f"{self.fit.law.name}: {self.fit.law.formula}"
        if self.stochastic is None:
            formula += f"   (objective {self.fit.objective.name})"
        else:
            notes = self.stochastic.summary_lines() + notes
        return "\n".join([head, formula, *params, *self._interval_lines(level), self._saturation_line(level), *notes])

    def _saturation_line(self, level: float) -> str:
        if self.stochastic is not None and any(warning.kind == "poor_fit" for warning in self.warnings):
            return "  saturation: not to be read, the models contradict the law (poor_fit)"
        low, high = self.saturation_interval(level)
        line = f"  saturation {self.saturation:.4f}, {level:.0%} interval {low:.4f} to {high:.4f}"
        if self.intervals == "simulated_world":
            line += f" around {self.saturation_median:.4f} (median of the draws)"
        return line + self._outside(self.saturation, low, high)


def fit_transfer(
    upstream_accuracy: ArrayLike,
    downstream_accuracy: ArrayLike,
    *,
    selection: str = "convex_hull",
    anchors: str | Sequence[str] = "none",
    chance: tuple[float, float] | None = None,
    hull_points: str = "vertices",
    tolerance: float = 0.005,
    upstream_bayes_error: float = 0.0,
    window: tuple[float, float] = (0.0, 1.0),
    objective: str = "least_squares",
    intervals: str | None = None,
    noise_std: float | None = None,
    num_draws: int = 1000,
    groups: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> TransferFit:
    """Fit e_DS = k e_US^alpha + e_IR to the best models of (upstream, downstream) accuracy.

    `selection="stochastic"` is the one to predict with: the law is the lower edge of all models in error, see
    `fit_frontier`. The published convention is the upper hull: any point of it is attained by picking between two
    models at random for each input (Lemma 2.1, `mix_classifiers`); models right of the best downstream accuracy are
    dropped and counted; without anchors it runs from the leftmost model to the best one. The leftmost model is on the
    hull however poor it is, and the edges from it to the law bend the fit: begin the `window` a little right of it.

    The saturation value 1 - e_IR (Definition 2.2) is that of the models at hand as they are trained and transferred:
    e_IR is not the Bayes error of the downstream task, since for the same task it changes with the number of shots and
    with the upstream data (Figure 4, Table 1 of the paper).

    What nominal 95 % intervals cover of the downstream error at upstream accuracy .8, in simulated models between .1
    and .6: the posterior of a stochastic frontier .93 to .995 (mean .96); "simulated_world" on hull or Pareto points
    .89 to .98 (mean .93), up to four times as wide; "case_bootstrap" far less; see `fit_frontier`.

    Of e_IR itself, for the three hulls that could be read off Figure 1, 200 and 800 models, exponential excess, 1 %
    noise, 198 to 228 simulations a cell (`tests/benchmarks/transfer_coverage.py`): the posterior .93 to .95; hull
    vertices with "simulated_world" .94 to .97, four to seven times as wide, and with `window=(0.15, 1)` .92 to .98, 1.3
    to 1.8 times as wide; with "case_bootstrap" .14 to .60, and with that window .68 to .94. The window also makes the
    root mean square error of e_IR five to eight times smaller.

    Args:
        upstream_accuracy, downstream_accuracy: fractions, shape (n,); upstream below 1.
        selection: "stochastic"; "convex_hull" (the paper's), "pareto", or "all".
        anchors: how the hull ends beside its models, of which the paper says nothing: "none"; "chance", with the
            accuracies of a guess as one more model; "flat_right", level from the best model to the rightmost one; or a
            tuple of both. Each bootstrap draw and simulated world has them too. Neither end is a point of the law: a
            guess pulls e_IR up (by .03 to .09 on the hulls of CIFAR-100 and ImageNet, fitted below .45), a flat end
            pulls it towards the best model's error.
        chance: (upstream, downstream) accuracy of a guess, as `anchors="chance"` needs it; (0, 0) for an origin.
        hull_points: what of the hull is fitted (the paper does not say): its "vertices", the models at most
            `tolerance` below it ("near"), or the hull "sampled" at 100 equally spaced upstream accuracies.
        tolerance: in downstream accuracy.
        upstream_bayes_error: upstream error that cannot be undercut; `saturation` is the value there (footnote 6).
        window: upstream accuracies (from, to] of the points fitted; the paper fits (0, 0.45]. Models left of it still
            support the hull or frontier (and its simulated worlds), of which the part left of it is then cut off.
        objective: as in `fit_law`; residuals in accuracy by default, so that a perfect task is allowed. A stochastic
            frontier has its own, the likelihood, and needs downstream accuracies below 1.
        intervals, noise_std, num_draws, groups, rng: as in `fit_frontier`; the noise is that of log e_DS.

    Raises:
        ValueError: bad input: which argument, which value, what is valid.
        FitError: the hull has too few points for three parameters, or is flat.

    Warns:
        FitWarning: `hidden_curvature` where alpha is near 1, the least that a concave hull can show, or where three
            points are the hull of many models; `poor_fit` where the models contradict the stochastic frontier, whose
            saturation is not to be read then, or the one whose simulated worlds the intervals are of; `not_identified`
            where its e_ir, and so the saturation, can be anything from the best model to no error at all.

    Source: Abnar et al. 2021 (arXiv 2110.02095), section 2, Eq. 1, Definition 2.2.

    >>> upstream = np.linspace(0.1, 0.6, 11)
    >>> trans = fit_transfer(upstream, 1 - (0.7 * (1 - upstream) ** 2.5 + 0.1), num_draws=50)
    >>> {name: round(value, 6) for name, value in trans.params.items()}
    {'k': 0.7, 'alpha': 2.5, 'e_ir': 0.1}
    >>> round(trans.saturation, 6)
    0.9
    """
    rng = generator(rng)
    upstream, downstream = check_accuracies(upstream_accuracy, downstream_accuracy)
    check_same_index(upstream_accuracy=upstream_accuracy, groups=groups)
    if groups is not None:
        number_groups(groups, upstream.size)
    window = check_window(window)
    how = TransferSelection(selection, hull_points, tolerance, *check_anchors(anchors, chance, window), start=window[0])
    check_options(selection, intervals, groups, noise_std, num_draws)
    bayes = _check_bayes_error(upstream_bayes_error, upstream)
    inside = (upstream > window[0]) & (upstream <= window[1])
    if not inside.any():
        raise FitError(f"no model has an upstream accuracy in the window {window}")
    if selection == "stochastic":
        options = {"noise_std": noise_std, "num_draws": num_draws, "rng": rng}
        result = _stochastic(upstream, downstream, np.flatnonzero(inside), bayes, **options)
    else:
        options = {"intervals": intervals, "groups": groups, "num_draws": num_draws, "rng": rng}
        rows = np.flatnonzero(inside if selection == "all" else upstream <= window[1])
        result = _on_selection(upstream, downstream, rows, bayes, how, objective, **options)
    issue(*result._own_warnings())
    return result


def fit_to_selection(
    us: np.ndarray, error: np.ndarray, how: TransferSelection, objective: str
) -> tuple[Fit, np.ndarray, np.ndarray]:
    """The law on the selection, the models selected (upstream accuracy ascending), and the anchors on their hull.

    Args:
        us, error: upstream accuracy and downstream error of the models, shape (n,).

    Raises:
        FitError: too few points for three parameters, or no law.
    """
    everyone = np.ones((1, us.size))
    points_us, points_error, weights = how.points(us, error, everyone)
    used = np.flatnonzero(weights[0])
    models, added = used[used < us.size], used[used >= us.size]
    if used.size < 3:
        raise FitError(_too_few(us, error, how, used.size))
    anchor_points = np.stack([points_us[added], 1 - np.atleast_2d(points_error)[0, added]], axis=1)
    law_us, law_error, weights = how.law_points(us, error, everyone)
    used = weights[0] > 0
    fit = fit_law("transfer", 1 - law_us[used], np.atleast_2d(law_error)[0, used], objective=objective)
    return fit, models[np.argsort(us[models], kind="stable")], anchor_points


def _too_few(us: np.ndarray, error: np.ndarray, how: TransferSelection, num_points: int) -> str:
    """Why fewer than three points are no fit, and what to take instead."""
    if how.selection == "convex_hull":
        whole = replace(how, hull_points="vertices", start=-1.0)
        hull_us, _, weights = whole.points(us, error, np.ones((1, us.size)))
        vertices = hull_us[weights[0] > 0]
        right = int(np.sum(vertices > how.start))
        where = f" right of {how.start:g}" if how.start > 0 else ""
        if right == 0:
            return f"there is no hull{where}: the best model is left of it"
        if right + np.any(vertices <= how.start) <= 2:
            return (
                f"the hull{where} is one chord between two models: no curvature to fit;"
                " selection='pareto' or 'stochastic' use more of the models, or compare_scalings"
            )
    more = "hull_points='near' with a larger tolerance" if how.hull_points != "near" else "a larger tolerance"
    more = f"{more} or selection='pareto' or 'stochastic'" if how.selection == "convex_hull" else "more models"
    return f"the selection has {num_points} models, the law three parameters: too few; take {more}"


def _stochastic(
    upstream: np.ndarray, downstream: np.ndarray, inside: np.ndarray, bayes: float, **options: Any
) -> TransferFit:
    us, error = upstream[inside], 1 - downstream[inside]
    if np.any(error == 0):
        row = inside[np.argmin(error)]
        raise ValueError(f"selection='stochastic' needs downstream_accuracy below 1; row {row} is 1")
    found = fit_stochastic_frontier(1 - us, error, "transfer", **options)
    near = inside[found.near[::-1]]
    return TransferFit(upstream, downstream, near, "stochastic", found.fit, found.draws, 0, bayes, "posterior", found)


def _on_selection(
    upstream: np.ndarray, downstream: np.ndarray, rows: np.ndarray, bayes: float, how: TransferSelection,
    objective: str, *, groups: ArrayLike | None, **options: Any,
) -> TransferFit:  # fmt: skip
    us, error = upstream[rows], 1 - downstream[rows]
    fit, selected, anchor_points = fit_to_selection(us, error, how, objective)
    groups = None if groups is None else np.asarray(groups, dtype=object).ravel()[rows]

    def points(error: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        points_us, points_error, weights = how.law_points(us, error, counts)
        return 1 - points_us, points_error, weights

    options |= {"selection": how.selection, "groups": groups}
    draws, kind = draw_selection(fit, 1 - us, error, points, **options)
    best = us[selected[np.argmin(error[selected])]]
    right = int(np.count_nonzero(us > best)) - int(np.count_nonzero(us[selected] > best))
    return TransferFit(
        upstream, downstream, rows[selected], how.selection, fit, draws, right, bayes, kind,
        anchors=how.anchors, anchor_points=anchor_points,
    )  # fmt: skip


def _check_bayes_error(bayes: float, upstream: np.ndarray) -> float:
    bayes = float(check_fractions("upstream_bayes_error", bayes))
    least = float(1 - upstream.max(initial=0.0))
    if bayes > least:
        raise ValueError(f"upstream_bayes_error must not be above the least upstream error, {least:g}, got {bayes:g}")
    return bayes
