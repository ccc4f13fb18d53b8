"""Straight lines between accuracies on scaled axes: identity, -log(1 - p), logit, probit; and how they compare.

A line through all models says what the mean model does. What the best model does is said by the hull (`fit_transfer`),
or by a line through the models on the frontier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError, FitWarning, issue, warning_lines
from ..inputs import check_accuracies, check_choice, check_fractions, check_same_index, model_names
from ..laws import LAWS
from ..laws.base import Link
from ..prediction import Prediction, check_kind
from ..quantiles import student_quantile
from .correlations import is_constant
from .eval_images import corrected

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AXIS_SCALINGS", "AccuracyLine", "compare_scalings", "fit_line"]

_IDENTITY = Link("p", lambda p: p, np.ones_like, lambda z: z)
AXIS_SCALINGS: dict[str, Link] = {"identity": _IDENTITY} | {
    name: LAWS[f"{name}_linear"].link or _IDENTITY for name in ("log", "logit", "probit")
}
"""Scales by name, both accuracies on the same one: "identity", "log" (-log(1 - p)), "logit", "probit"."""

_LOW_ACCURACY = 0.15  # below it the logit stretches accuracies most: Abnar et al. 2021 (arXiv 2110.02095), Figure 14
_LEAST_CURVATURE_P = 1e-3  # below which the scatter counts as curved
_EXACT = 1e-12  # 1 - R2 below which the residuals are rounding
_MOST_NAMED = 5  # dropped models that a warning names


@dataclass(frozen=True, repr=False, eq=False)
class AccuracyLine:
    """T(downstream) = slope T(upstream) + intercept by least squares. Made by `fit_line`.

    Attributes:
        upstream, downstream: accuracies of the models used, corrected where `num_eval` was given, shape (n,).
        names: of these models.
        dropped: names of the models left out: an accuracy of 0 or 1 has no place on the scale.
        scaling: name of T, one of `AXIS_SCALINGS`.
        slope, intercept: of the line, on the scale.
        covariance: of (slope, intercept), shape (2, 2).
        residual_std: on the scale, with n - 2 degrees of freedom.
        r2: share of the variance of T(downstream) that the line explains.
        r2_accuracy: likewise of the downstream accuracy, by the line transformed back and cut to [0, 1]: comparable
            between scales.
        curvature_p: p value of the term in T(upstream)^2 that would be added (t test, models independent and alike in
            scatter); 1 of fewer than four models.
    """

    upstream: np.ndarray
    downstream: np.ndarray
    names: tuple[str, ...]
    dropped: tuple[str, ...]
    scaling: str
    slope: float
    intercept: float
    covariance: np.ndarray
    residual_std: float
    r2: float
    r2_accuracy: float
    curvature_p: float

    @property
    def warnings(self) -> tuple[FitWarning, ...]:
        """Models dropped, and a scatter that is curved."""
        found = []
        if self.dropped:
            found.append(FitWarning("dropped_points", _dropped_text(self.dropped)))
        if self.curvature_p < _LEAST_CURVATURE_P:
            message = (
                f"the scatter is curved on the scale {self.scaling!r} (p = {self.curvature_p:.1g}): a line foresees"
                " neither end, see compare_scalings"
            )
            found.append(FitWarning("poor_fit", message))
        return tuple(found)

    @property
    def link(self) -> Link:
        return AXIS_SCALINGS[self.scaling]

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Of "slope" or "intercept": Student's t, models independent and alike in scatter."""
        if name not in ("slope", "intercept"):
            raise ValueError(f"name must be 'slope' or 'intercept', got {name!r}")
        half = self.student_quantile(level) * np.sqrt(
            self.covariance[int(name == "intercept")][int(name == "intercept")]
        )
        return float(getattr(self, name) - half), float(getattr(self, name) + half)

    @overload
    def predict(self, upstream_accuracy: ArrayLike, level: None = None, kind: str = "confidence") -> np.ndarray: ...
    @overload
    def predict(self, upstream_accuracy: ArrayLike, level: float, kind: str = "confidence") -> Prediction: ...
    def predict(
        self, upstream_accuracy: ArrayLike, level: float | None = None, kind: str = "confidence"
    ) -> np.ndarray | Prediction:
        """Downstream accuracy, cut to [0, 1]; with a `level` a `Prediction` of the line or of a new model.

        Raises:
            ValueError: an accuracy outside [0, 1], or with no place on the scale; an unknown kind.
        """
        check_kind(kind)
        accuracy = check_fractions("upstream_accuracy", upstream_accuracy)
        z = _on_scale(self.link, accuracy)
        if not np.all(np.isfinite(z)):
            raise ValueError(f"an upstream_accuracy of 0 or 1 has no place on the scale {self.scaling!r}")
        middle = self.slope * z + self.intercept
        if level is None:
            return self._back(middle)
        half = self.student_quantile(level) * np.sqrt(
            self.variance_at(z) + (kind == "prediction") * self.residual_std**2
        )
        ends = (self._back(end) for end in (middle, middle - half, middle + half))
        return Prediction(accuracy, *ends, level=level, kind=kind)

    def variance_at(self, z: np.ndarray) -> np.ndarray:
        """Variance of the line itself at z = T(upstream), on the scale."""
        return z**2 * self.covariance[0, 0] + 2 * z * self.covariance[0, 1] + self.covariance[1, 1]

    def _back(self, z: np.ndarray) -> np.ndarray:
        return np.clip(self.link.backward(z), 0.0, 1.0)

    def student_quantile(self, level: float) -> float:
        """Half the width of a central interval, in standard errors of the line."""
        return student_quantile(level, self.upstream.size - 2)

    def shares_of_low(self, threshold: float = _LOW_ACCURACY) -> dict[str, float]:
        """What models with an accuracy below `threshold` (of either) weigh.

        Returns:
            `share`, theirs of the models; `leverage`, of the leverage, which the slope follows; `variance`, of the
            variance of T(downstream), which R2 follows. Far more than `share`: they drive the fit.
        """
        low = np.minimum(self.upstream, self.downstream) < threshold
        z, t = _on_scale(self.link, self.upstream), _on_scale(self.link, self.downstream)
        squares, spread = (z - z.mean()) ** 2, (t - t.mean()) ** 2
        leverage = (1 / z.size + squares / squares.sum()) / 2
        variance = spread[low].sum() / spread.sum()
        return {"share": float(low.mean()), "leverage": float(leverage[low].sum()), "variance": float(variance)}

    def summary(self, level: float = 0.95) -> str:
        """Line, R2 on both scales, what was dropped, and whether the scatter is curved."""
        lines = [f"T(downstream) = slope T(upstream) + intercept, T(p) = {self.link.name}, {len(self.names)} models"]
        for name in ("slope", "intercept"):
            low, high = self.interval(name, level)
            lines.append(f"  {name:>9} = {getattr(self, name):.4g}, {level:.0%} interval {low:.4g} to {high:.4g}")
        lines.append(f"  R2 {self.r2:.4f} on the scale, {self.r2_accuracy:.4f} in accuracy")
        return "\n".join(lines + warning_lines(self.warnings))

    def __repr__(self) -> str:
        return self.summary()


def fit_line(
    upstream_accuracy: ArrayLike,
    downstream_accuracy: ArrayLike,
    *,
    scaling: str = "logit",
    upstream_num_eval: ArrayLike | None = None,
    downstream_num_eval: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> AccuracyLine:
    """Fit a straight line between two accuracies of each model on a scale.

    Args:
        upstream_accuracy, downstream_accuracy: fractions, shape (n,).
        scaling: of both: "identity", "log" (-log(1 - p)), "logit" or "probit".
        upstream_num_eval, downstream_num_eval: evaluation images, one number or shape (n,). Where given, an accuracy
            becomes (correct + 1/2) / (images + 1), so that one of 0 or 1 has a place on every scale.
        names: of the models, for what is dropped; row numbers without.

    Raises:
        ValueError: bad input.
        FitError: fewer than three models are left, or all their upstream accuracies are equal.

    Warns:
        FitWarning: `dropped_points` names the models whose accuracy of 0 or 1 has no place on the scale; `poor_fit`
            where the scatter is curved on it (p < .001), so that the line and its bands miss both ends.

    Source: Kornblith et al. 2019 (arXiv 1805.08974), section 3, logit; Taori et al. 2020 (arXiv 2007.00644); Miller et
    al. 2021 (arXiv 2107.04649), probit and least squares; Abnar et al. 2021, Figure 14, the scales.

    >>> line = fit_line([0.2, 0.4, 0.6, 0.8], [0.1, 0.3, 0.4, 0.6], scaling="identity")
    >>> round(line.slope, 3), round(line.intercept, 3), round(line.r2, 4)
    (0.8, -0.05, 0.9846)
    """
    check_choice("scaling", scaling, AXIS_SCALINGS)
    models = _Models.of(upstream_accuracy, downstream_accuracy, upstream_num_eval, downstream_num_eval, names)
    line = _fit(models.placed_on(scaling), scaling)
    issue(*line.warnings)
    return line


def compare_scalings(
    upstream_accuracy: ArrayLike,
    downstream_accuracy: ArrayLike,
    *,
    upstream_num_eval: ArrayLike | None = None,
    downstream_num_eval: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """The line on each scale, through the same models: those that have a place on all.

    Args:
        upstream_accuracy, downstream_accuracy, upstream_num_eval, downstream_num_eval, names: as in `fit_line`.
        level: of the intervals of slope and intercept.

    Returns:
        A row a scaling: `r2` on the scale, `r2_accuracy` of the predictions transformed back (to compare by),
        `curvature_p`, see `AccuracyLine`; below .001 no line fits on that scale; `is_best`, of the highest
        `r2_accuracy`, `slope` and `intercept` with `_low` and `_high`, `num_models`, `num_dropped`, and what models
        with an accuracy below .15 weigh: `share_below_15pct`, of the models, `leverage_below_15pct`,
        `variance_below_15pct`, see `AccuracyLine.shares_of_low`.

    Raises: as `fit_line`.

    Warns:
        FitWarning: `dropped_points`.

    >>> table = compare_scalings([0.2, 0.4, 0.6, 0.8], [0.1, 0.25, 0.45, 0.7])
    >>> table.r2_accuracy.round(4).to_dict()
    {'identity': 0.9877, 'log': 0.9938, 'logit': 0.9999, 'probit': 0.9998}
    """
    import pandas as pd

    models = _Models.of(upstream_accuracy, downstream_accuracy, upstream_num_eval, downstream_num_eval, names)
    models = models.placed_on(*AXIS_SCALINGS)
    if models.dropped:
        issue(FitWarning("dropped_points", _dropped_text(models.dropped)))
    rows = {name: _row(_fit(models, name), level) for name in AXIS_SCALINGS}
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("scaling")
    table.insert(3, "is_best", table["r2_accuracy"] == table["r2_accuracy"].max())
    return table


# Models and fit -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Models:
    upstream: np.ndarray
    downstream: np.ndarray
    names: np.ndarray
    dropped: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, upstream: ArrayLike, downstream: ArrayLike, upstream_num: ArrayLike | None,
        downstream_num: ArrayLike | None, names: Sequence[str] | None,
    ) -> _Models:  # fmt: skip
        us, ds = check_accuracies(upstream, downstream, below_one=False)
        check_same_index(
            upstream_accuracy=upstream, upstream_num_eval=upstream_num, downstream_num_eval=downstream_num, names=names
        )
        labels = np.asarray(model_names(names, us.size), dtype=str)
        us = corrected("upstream_num_eval", us, upstream_num)
        return cls(us, corrected("downstream_num_eval", ds, downstream_num), labels)

    def placed_on(self, *scalings: str) -> _Models:
        """Those whose accuracies have a place on all the scales."""
        placed = np.ones(self.upstream.shape, dtype=bool)
        for link in (AXIS_SCALINGS[name] for name in scalings):
            placed &= np.isfinite(_on_scale(link, self.upstream)) & np.isfinite(_on_scale(link, self.downstream))
        dropped = tuple(self.names[~placed].tolist())
        return _Models(self.upstream[placed], self.downstream[placed], self.names[placed], dropped)


def _fit(models: _Models, scaling: str) -> AccuracyLine:
    link, n = AXIS_SCALINGS[scaling], models.upstream.size
    if n < 3:
        raise FitError(f"a line with an interval needs at least 3 models, got {n}")
    x, y = _on_scale(link, models.upstream), _on_scale(link, models.downstream)
    if is_constant(models.upstream):
        raise FitError(f"all upstream accuracies are equal ({models.upstream[0]:g}): no line goes through them")
    if is_constant(models.downstream):
        raise FitError(f"all downstream accuracies are equal ({models.downstream[0]:g}): R2 is not defined")
    basis = np.stack([x, np.ones(n)], axis=1)
    theta = np.linalg.lstsq(basis, y, rcond=None)[0]
    variance = float(np.sum((y - basis @ theta) ** 2)) / (n - 2)
    back = np.clip(link.backward(basis @ theta), 0.0, 1.0)
    return AccuracyLine(
        models.upstream, models.downstream, tuple(models.names.tolist()), models.dropped, scaling,
        slope=float(theta[0]), intercept=float(theta[1]), covariance=variance * np.linalg.inv(basis.T @ basis),
        residual_std=float(np.sqrt(variance)), r2=_r2(y, basis @ theta), r2_accuracy=_r2(models.downstream, back),
        curvature_p=_curvature_p(x, y - basis @ theta, y),
    )  # fmt: skip


def _curvature_p(x: np.ndarray, residuals: np.ndarray, y: np.ndarray) -> float:
    """Of a quadratic term beside the line: Student's t test of the residuals on the part of x^2 that no line has."""
    from scipy.special import stdtr

    squares, degrees_of_freedom = float(np.sum(residuals**2)), x.size - 3
    if degrees_of_freedom < 1 or squares < _EXACT * np.sum((y - y.mean()) ** 2):
        return 1.0
    basis = np.vander((x - x.mean()) / np.ptp(x), 3)  # the square first
    bend = basis[:, 0] - basis[:, 1:] @ np.linalg.lstsq(basis[:, 1:], basis[:, 0], rcond=None)[0]
    if np.sum(bend**2) < _EXACT * np.sum(basis[:, 0] ** 2):  # of two upstream accuracies
        return 1.0
    explained = float((bend @ residuals) ** 2 / np.sum(bend**2))
    t = np.sqrt(explained / max(squares - explained, _EXACT * squares) * degrees_of_freedom)
    return float(2 * stdtr(degrees_of_freedom, -t))


def _r2(y: np.ndarray, predicted: np.ndarray) -> float:
    """1 - residual over total sum of squares; below 0 where the mean predicts better."""
    return 1 - float(np.sum((y - predicted) ** 2)) / float(np.sum((y - y.mean()) ** 2))


def _row(line: AccuracyLine, level: float) -> dict[str, float]:
    row = {"r2": line.r2, "r2_accuracy": line.r2_accuracy, "curvature_p": line.curvature_p}
    for name in ("slope", "intercept"):
        low, high = line.interval(name, level)
        row |= {name: getattr(line, name), f"{name}_low": low, f"{name}_high": high}
    row |= {"num_models": len(line.names), "num_dropped": len(line.dropped)}
    return row | {f"{key}_below_15pct": value for key, value in line.shares_of_low().items()}


def _on_scale(link: Link, accuracy: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return link.forward(accuracy)


def _dropped_text(dropped: tuple[str, ...]) -> str:
    more = f" and {len(dropped) - _MOST_NAMED} more" if len(dropped) > _MOST_NAMED else ""
    named = ", ".join(dropped[:_MOST_NAMED])
    return f"{len(dropped)} models left out, an accuracy of 0 or 1 has no place on the scale: {named}{more}"
