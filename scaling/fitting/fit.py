"""A law fitted to points: frozen, with what it does not know."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError, FitWarning
from ..inputs import check_inside, check_positive, numbers
from ..laws import Law
from ..notebook_view import NotebookView
from ..prediction import Prediction, check_level, warn_beyond
from ..quantiles import normal_quantile, student_quantile
from .covariance import Covariance, parameter_covariance
from .delta_method import delta_interval
from .objective import Objective
from .problem import Problem

__all__ = ["Fit"]

_COMPLEX_STEP = 1e-30  # a derivative by complex step has no cancellation, so any tiny step will do
_AT_BOUND = 1e-9  # of a parameter's size that matters


@dataclass(frozen=True, repr=False, eq=False)
class Fit(NotebookView):
    """A law fitted to points. Made by `fit_law`.

    Attributes:
        problem: the scaled problem; `theta` are its parameters, shape (num_params,).
        x, y: the points in the user's units, shape (n,); x has shape (n, 2) for the law of two inputs.
        x_unit, y_unit: the user's units over the scaled ones.
        objective_value: the objective at its minimum, in the user's units.
        warnings: what a reader must know.
    """

    problem: Problem
    theta: np.ndarray
    x: np.ndarray
    y: np.ndarray
    x_unit: Any
    y_unit: float
    objective_value: float
    warnings: tuple[FitWarning, ...] = ()

    @property
    def law(self) -> Law:
        return self.problem.law

    @property
    def objective(self) -> Objective:
        return self.problem.objective

    @cached_property
    def params(self) -> dict[str, float]:
        """Parameters in the user's units, at full precision."""
        with np.errstate(all="ignore"):  # an amplitude at x = 1 may lie beyond a double's range
            values = self.law.in_units(self.theta, self.x_unit, self.y_unit)
        return {name: float(value) for name, value in zip(self.law.params, values, strict=True)}

    @cached_property
    def at_bound(self) -> dict[str, float]:
        """Parameters that sit at a bound, with the bound in the user's units."""
        lower, upper, size = self.problem.lower, self.problem.upper, _AT_BOUND * self.sizes
        at = (self.theta <= lower + size) | (self.theta >= upper - size)
        return {name: self.params[name] for name, is_at in zip(self.law.params, at, strict=True) if is_at}

    @cached_property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Bounds of each parameter in the user's units."""
        unit = self.law.bound_units(self.x_unit, self.y_unit)
        pairs = np.stack([self.problem.lower * unit, self.problem.upper * unit], axis=1).tolist()
        return {name: (low, high) for name, (low, high) in zip(self.law.params, pairs, strict=True)}

    @cached_property
    def sizes(self) -> np.ndarray:
        """A size of each parameter in scaled units that changes the law by as much as the least y, at most 1."""
        with np.errstate(all="ignore"):
            effects = np.nan_to_num(np.max(np.abs(self.law.jacobian(self.theta, self.problem.x)), axis=0))
        smallest_y = float(np.min(np.abs(self.problem.y[self.problem.y != 0])))
        return np.minimum(np.divide(smallest_y, effects, out=np.ones_like(effects), where=effects > 0), 1.0)

    @property
    def num_points(self) -> float:
        """Points, each counted as often as its `counts` says."""
        return float(np.sum(self.problem.weights))

    @property
    def num_free(self) -> int:
        """Parameters that the data determine: those not at a bound."""
        return len(self.law.params) - len(self.at_bound)

    @property
    def degrees_of_freedom(self) -> float:
        return self.num_points - self.num_free

    @property
    def residuals(self) -> np.ndarray:
        """y - f(x) on the objective's scale (its logarithm, a line's transform), over `y_std` if given; shape (n,)."""
        return -self.problem.residuals(self.theta[None])[0]

    @property
    def residual_std(self) -> float:
        """Standard deviation of the residuals with n - (free parameters) degrees of freedom; nan where that is 0."""
        if self.degrees_of_freedom <= 0:
            return np.nan
        return float(np.sqrt(self.problem.weights[0] @ self.residuals**2 / self.degrees_of_freedom))

    @cached_property
    def covariance(self) -> np.ndarray:
        """Covariance of the parameters in the user's units, shape (num_params, num_params).

        s^2 (J'J)^-1 for least squares; for a Huber objective with sum(psi^2) / mean(psi')^2 for s^2 (Huber 1981,
        section 7.6, without its correction K for few points); for `binomial` s^2 is at least 1. Rows of a
        parameter at its bound, and of one that the data do not identify, are nan: `profile_interval` has theirs.
        """
        change = self._units_jacobian()[:, self.is_free]
        with np.errstate(over="ignore", invalid="ignore"):
            covariance = self.free_covariance.of(change)
        covariance[~self.is_free] = covariance[:, ~self.is_free] = np.nan
        return covariance

    @property
    def is_free(self) -> np.ndarray:
        return np.array([name not in self.at_bound for name in self.law.params])

    @cached_property
    def free_covariance(self) -> Covariance:
        """Of the free parameters in scaled units."""
        root = np.sqrt(self.problem.weights[0])[:, None]
        with np.errstate(all="ignore"):
            jacobian = root * self.problem.residual_jacobian(self.theta[None])[0][:, self.is_free]
        return parameter_covariance(jacobian, self.error_variance)

    @cached_property
    def error_variance(self) -> float:
        """s^2, or for a Huber objective sum(psi^2) / (n - p) / mean(psi')^2; nan where no degree of freedom is left."""
        rule, weights = self.problem.criterion, self.problem.weights[0]
        if self.degrees_of_freedom <= 0:
            return np.nan
        if rule.delta is None:
            return max(self.residual_std**2, 1.0) if rule.is_binomial else self.residual_std**2
        near = float(weights @ rule.curvature(self.residuals)) / self.num_points
        psi = self.residuals * rule.slope_over_residual(self.residuals)
        return float(weights @ psi**2 / self.degrees_of_freedom / near**2) if near > 0 else np.nan

    def _units_jacobian(self) -> np.ndarray:
        """d (params in the user's units) / d theta by complex step, shape (num_params, num_params)."""
        steps = self.theta + 1j * _COMPLEX_STEP * np.eye(self.theta.size)
        with np.errstate(all="ignore"):
            return np.imag(self.law.in_units(steps, self.x_unit, self.y_unit)).T / _COMPLEX_STEP

    @property
    def standard_errors(self) -> dict[str, float]:
        """Standard error of each parameter; nan for one at its bound or not identified."""
        with np.errstate(invalid="ignore"):
            errors = np.sqrt(np.diag(self.covariance))
        return {name: float(error) for name, error in zip(self.law.params, errors, strict=True)}

    @property
    def aic(self) -> float:
        """Akaike's criterion of a normal (or lognormal) error on y, comparable between objectives on the same y."""
        return self._deviance() + 2 * (self.num_free + 1)

    @property
    def aicc(self) -> float:
        """Akaike's criterion corrected for few points (Hurvich and Tsai 1989); inf with too few."""
        k = self.num_free + 1
        left = self.num_points - k - 1
        return self.aic + 2 * k * (k + 1) / left if left > 0 else np.inf

    @property
    def bic(self) -> float:
        """The Bayesian (Schwarz) criterion, as `aic`."""
        return self._deviance() + np.log(self.num_points) * (self.num_free + 1)

    def _deviance(self) -> float:
        rule, weights = self.problem.criterion, self.problem.weights[0]
        if self.objective.delta is not None or rule.is_binomial:
            raise ValueError(f"aic and bic need a least-squares objective, got {self.objective.name!r}")
        slope = rule.link.slope(self.problem.y) / self.y_unit  # the density is of y, whatever the residual's scale
        with np.errstate(divide="ignore"):
            log_variance = np.log(weights @ self.residuals**2 / self.num_points)
        jacobian = float(weights @ np.log(self.problem.residual_scale / slope))
        return float(self.num_points * (log_variance + np.log(2 * np.pi) + 1) + 2 * jacobian)

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Interval of a parameter: the delta method with Student's t, cut at its bounds.

        Raises:
            ValueError: the law has no such parameter, or the level is outside (0, 1).
            FitError: it sits at its bound or is not identified: `profile_interval` has an interval.
        """
        check_level(level)
        self.law.index(name)
        error = self.standard_errors[name]
        low, high = self.bounds[name]
        if low == high:
            raise FitError(f"{name} is fixed at {low:g}: it has no interval")
        if not self.degrees_of_freedom > 0:
            raise FitError(f"no interval: {self.why_no_interval}")
        if not np.isfinite(error):
            raise FitError(f"{name} has no standard error ({self.why_no_interval}): use profile_interval")
        half = self.student_quantile(level) * error
        return max(self.params[name] - half, low), min(self.params[name] + half, high)

    def student_quantile(self, level: float) -> float:
        """Half the width of a central interval, in standard errors: Student's, or of known binomial variance normal."""
        if self.objective.is_binomial and self.residual_std <= 1:  # the variance is that of counts: known
            return normal_quantile(level)
        return student_quantile(level, self.degrees_of_freedom)

    @property
    def why_no_interval(self) -> str:
        return "; ".join(str(warning) for warning in self.warnings) or "the objective is flat at its minimum"

    def __repr__(self) -> str:
        return self.summary()

    @overload
    def predict(self, x: ArrayLike, level: None = None, kind: str = "confidence") -> np.ndarray: ...
    @overload
    def predict(self, x: ArrayLike, level: float, kind: str = "confidence") -> Prediction: ...
    def predict(self, x: ArrayLike, level: float | None = None, kind: str = "confidence") -> np.ndarray | Prediction:
        """The law at x: an ndarray, or with a `level` a `Prediction`.

        The interval is the delta method with Student's t, in log y for a log objective. At .95 it covers the truth at
        ten times the largest x in .947 to .951 of simulations (`tests/scaling/test_coverage.py`). Where the points
        do not tell the value it is open: from 0 (or -inf) to inf. Where every y lies in [0, 1] so does it.

        Args:
            x: positive values, any shape; (..., 2) for the law of two inputs.
            level: probability of the interval, such as 0.95.
            kind: "confidence" for the curve, "prediction" for one new point.

        Raises:
            ValueError: x is not positive, an unknown kind or a level outside (0, 1).
            FitError: there is no interval (no degree of freedom is left).

        Warns:
            FitWarning: `extrapolation` more than a decade beyond the points.
        """
        x = numbers("x", x)
        check_positive("x", x) if self.law.link is None else check_inside("x", x)
        scaled, shape = self.scaled(x)
        self._warn_of_extrapolation(x)
        if level is None:
            return (self.law.value(self.theta, scaled) * self.y_unit).reshape(shape)
        ends = [(v * self.y_unit).reshape(shape) for v in delta_interval(self, scaled, level, kind)]
        return Prediction(x, *self.cut(*ends), level=level, kind=kind)

    def scaled(self, x: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
        """x in scaled units with one axis of points, and the shape of y at x.

        Raises:
            ValueError: x of a law of two inputs does not end in an axis of 2.
        """
        inputs = self.law.num_inputs
        if inputs == 1:
            return x.ravel() / self.x_unit, x.shape
        if x.ndim == 0 or x.shape[-1] != inputs:
            raise ValueError(f"x of {self.law.name!r} must have shape (..., {inputs}), got {x.shape}")
        return x.reshape(-1, inputs) / self.x_unit, x.shape[:-1]

    def _warn_of_extrapolation(self, x: np.ndarray) -> None:
        if not self.law.increasing:
            at = x.reshape(-1, self.law.num_inputs).T
            columns = zip(self.law.inputs, self.law.is_amount, at, np.atleast_2d(self.x.T), strict=True)
            for name, is_amount, asked, known in columns:
                if is_amount:
                    warn_beyond(asked, known, name)

    def cut(self, median: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The ends of a band held in [0, 1] where every y lies there, above 0 where every y does."""
        if np.all(self.y >= 0):
            low = np.maximum(low, np.minimum(0.0, median))
            if np.all(self.y <= 1):
                high = np.where(median > 1, high, np.minimum(high, 1.0))  # of a law above 1 nothing is cut
        return median, low, high

    @property
    def limit(self) -> float:
        """What a law that falls with x falls to at infinite x: its irreducible error, 0 of one without."""
        return float(self.law.limit(self.theta) * self.y_unit)

    def solve_for_x(self, y: ArrayLike) -> np.ndarray:
        """x at which the law takes the value y; inf where it never does (0 for a law that grows with x).

        >>> from scaling import fit_law
        >>> float(fit_law("power", [1, 10, 100], [1, 0.1, 0.01]).solve_for_x(0.001).round(6))
        1000.0
        """
        y = numbers("y", y)
        if np.isnan(y).any():
            raise ValueError("y must be numbers, got nan")
        return (self.law.inverse(self.theta, y.ravel() / self.y_unit) * self.x_unit).reshape(y.shape)

    def summary(self) -> str:
        """The fit in a few lines: formula, parameters with standard errors, goodness, warnings, and what to report."""
        from .fit_text import fit_summary

        return fit_summary(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values at full precision, for JSON; `Fit.from_dict` makes the same fit of it."""
        from .fit_text import fit_to_dict

        return fit_to_dict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Fit:
        """The fit that `to_dict` wrote.

        Raises:
            ValueError: a field is missing, or the points are not those of the hash.
        """
        from .fit_text import fit_from_dict

        return fit_from_dict(values)
