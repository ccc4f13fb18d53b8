"""A law fitted to points: frozen, with what it does not know."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from .errors import FitError, FitWarning
from .laws import Law
from .objectives import Objective
from .prediction import Prediction, check_kind, check_level
from .solver import Problem

__all__ = ["Fit", "check_positive", "residual_unit"]

_COMPLEX_STEP = 1e-30  # a derivative by complex step has no cancellation, so any tiny step will do
_AT_BOUND = 1e-9  # of a parameter's size that matters
_SINGULAR = 1e-12  # smallest eigenvalue of the correlation of the Jacobian's columns below which they are collinear


@dataclass(frozen=True, repr=False)
class Fit:
    """A law fitted to points. Made by `fit_law`.

    Attributes:
        problem: the scaled problem; `theta` are its parameters, shape (num_params,).
        x, y: the points in the user's units, shape (n,).
        x_unit, y_unit: the user's units over the scaled ones.
        objective_value: the objective at its minimum.
        warnings: what a reader must know.
    """

    problem: Problem
    theta: np.ndarray
    x: np.ndarray
    y: np.ndarray
    x_unit: float
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
        values = self.law.in_units(self.theta, self.x_unit, self.y_unit)
        return {name: float(value) for name, value in zip(self.law.params, values, strict=True)}

    @cached_property
    def at_bound(self) -> dict[str, float]:
        """Parameters that sit at a bound, with the bound in the user's units."""
        lower, upper, size = self.problem.lower, self.problem.upper, _AT_BOUND * self._smallest_that_matters
        at = (self.theta <= lower + size) | (self.theta >= upper - size)
        return {name: self.params[name] for name, is_at in zip(self.law.params, at, strict=True) if is_at}

    @property
    def _smallest_that_matters(self) -> np.ndarray:
        """A size of each parameter, in scaled units, at which it is as large as the data: shape (num_params,)."""
        smallest_y = float(np.min(np.abs(self.problem.y[self.problem.y != 0])))
        with np.errstate(divide="ignore"):
            amplitude = smallest_y / np.max(self.law.basis(self.theta[1:2], self.problem.x))
        return np.array([amplitude, 1 / np.ptp(np.log(self.x)), smallest_y])[: self.theta.size]

    @property
    def num_free(self) -> int:
        """Parameters that the data determine: those not at a bound."""
        return len(self.law.params) - len(self.at_bound)

    @property
    def residuals(self) -> np.ndarray:
        """y - f(x), or log y - log f(x) for a log objective, in units of `y_std` where one was given; shape (n,)."""
        return -self.problem.residuals(self.theta[None])[0]

    @property
    def residual_std(self) -> float:
        """Standard deviation of the residuals with n - (free parameters) degrees of freedom; nan where that is 0."""
        degrees = self.x.size - self.num_free
        return float(np.sqrt(np.sum(self.residuals**2) / degrees)) if degrees > 0 else np.nan

    @cached_property
    def covariance(self) -> np.ndarray:
        """Covariance of the parameters in the user's units, shape (num_params, num_params).

        s^2 (J'J)^-1 for least squares; for a Huber objective with the factor of Huber 1981, section 7.6. Rows of a
        parameter at its bound, and of one that the data do not identify, are nan: their intervals come from
        `bootstrap_fit`.
        """
        change = _units_jacobian(self)[:, self._is_free]
        with np.errstate(over="ignore", invalid="ignore"):
            covariance = change @ self._free_covariance @ change.T
        covariance[~self._is_free] = covariance[:, ~self._is_free] = np.nan
        return covariance

    @property
    def _is_free(self) -> np.ndarray:
        return np.array([name not in self.at_bound for name in self.law.params])

    @cached_property
    def _free_covariance(self) -> np.ndarray:
        """Of the free parameters in scaled units, shape (num_free, num_free); nan where the data do not tell."""
        if self.num_free == 0:
            return np.empty((0, 0))
        jacobian = self.problem.residual_jacobian(self.theta[None])[0][:, self._is_free]
        if self.x.size <= self.num_free or _smallest_eigenvalue(jacobian) < _SINGULAR:
            return np.full((self.num_free, self.num_free), np.nan)
        return self._error_variance * np.linalg.inv(jacobian.T @ jacobian)

    @property
    def _error_variance(self) -> float:
        """s^2, or for a Huber objective sum(psi^2) / (n - p) / mean(psi')^2."""
        if self.objective.delta is None:
            return self.residual_std**2
        near = self.objective.curvature(self.residuals).mean()
        psi = self.residuals * self.objective.slope_over_residual(self.residuals)
        return float(np.sum(psi**2) / (self.x.size - self.num_free) / near**2) if near > 0 else np.nan

    @property
    def standard_errors(self) -> dict[str, float]:
        """Standard error of each parameter; nan for one at its bound."""
        with np.errstate(invalid="ignore"):
            errors = np.sqrt(np.diag(self.covariance))
        return {name: float(error) for name, error in zip(self.law.params, errors, strict=True)}

    @property
    def aic(self) -> float:
        """Akaike's criterion of a normal (or lognormal) error on y, comparable between objectives on the same y."""
        return self._deviance() + 2 * (self.num_free + 1)

    @property
    def bic(self) -> float:
        """The Bayesian (Schwarz) criterion, as `aic`."""
        return self._deviance() + np.log(self.x.size) * (self.num_free + 1)

    def _deviance(self) -> float:
        if self.objective.delta is not None:
            raise ValueError(f"aic and bic need a least-squares objective, got {self.objective.name!r}")
        scale = self.problem.residual_scale * (self.y if self.objective.log else self.y_unit)
        with np.errstate(divide="ignore"):
            log_variance = np.log(np.mean(self.residuals**2))
        return float(self.x.size * (log_variance + np.log(2 * np.pi) + 1) + 2 * np.sum(np.log(scale)))

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Interval of a parameter: the delta method with Student's t, cut at the law's bounds.

        Raises:
            ValueError: the law has no such parameter, or the level is outside (0, 1).
            FitError: it sits at its bound or is not identified: `bootstrap_fit` has an interval.
        """
        check_level(level)
        index = self.law.index(name)
        error = self.standard_errors[name]
        if not np.isfinite(error):
            raise FitError(f"{name} has no standard error ({self._why_no_interval()}): use bootstrap_fit")
        half = self._student_quantile(level) * error
        low, high = max(self.params[name] - half, self.law.lower[index]), self.params[name] + half
        return low, min(high, self.law.upper[index])

    def _student_quantile(self, level: float) -> float:
        """Half the width of a central interval, in standard errors."""
        from scipy.special import stdtrit  # here, because it would double the time of the import

        return float(stdtrit(self.x.size - self.num_free, (1 + level) / 2))

    def _why_no_interval(self) -> str:
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
        ten times the largest x in .944 to .956 of simulations (`tests/scaling/test_bootstrap.py`).

        Args:
            x: positive values, any shape.
            level: probability of the interval, such as 0.95.
            kind: "confidence" for the curve, "prediction" for one new point.

        Raises:
            ValueError: x is not positive, an unknown kind or a level outside (0, 1).
            FitError: there is no interval (a parameter is not identified, no degree of freedom left).
        """
        x = check_positive("x", np.asarray(x, dtype=float))
        scaled = x.ravel() / self.x_unit
        median = self.law.value(self.theta, scaled) * self.y_unit
        if level is None:
            return median.reshape(x.shape)
        check_level(level)
        check_kind(kind)
        low, high = self._delta_interval(scaled, median, level, kind)
        return Prediction(x, *(v.reshape(x.shape) for v in (median, low, high)), level=level, kind=kind)

    def _delta_interval(
        self, scaled: np.ndarray, median: np.ndarray, level: float, kind: str
    ) -> tuple[np.ndarray, np.ndarray]:
        if not np.all(np.isfinite(self._free_covariance)):
            raise FitError(f"no interval: {self._why_no_interval()}")
        unit = median[:, None] if self.objective.log else np.full((median.size, 1), self.y_unit)
        gradient = self.law.jacobian(self.theta, scaled)[:, self._is_free] * (self.y_unit / unit)
        variance = np.einsum("np,pq,nq->n", gradient, self._free_covariance, gradient)
        if kind == "prediction":
            # One new point has the spread of a typical one of those fitted.
            variance = variance + (self.residual_std * np.exp(np.mean(np.log(self.problem.residual_scale)))) ** 2
        half = self._student_quantile(level) * np.sqrt(variance)
        if self.objective.log:
            return median * np.exp(-half), median * np.exp(half)
        return median - half * self.y_unit, median + half * self.y_unit

    def solve_for_x(self, y: ArrayLike) -> np.ndarray:
        """x at which the law takes the value y; inf where it never does (0 for a law that grows with x).

        >>> from scaling import fit_law
        >>> float(fit_law("power", [1, 10, 100], [1, 0.1, 0.01]).solve_for_x(0.001).round(6))
        1000.0
        """
        y = np.asarray(y, dtype=float)
        return (self.law.inverse(self.theta, y.ravel() / self.y_unit) * self.x_unit).reshape(y.shape)

    def summary(self) -> str:
        """The fit in a few lines: formula, parameters with standard errors, goodness, warnings."""
        lines = [f"{self.law.name}: {self.law.formula}   (n = {self.x.size}, objective {self.objective.name})"]
        for name, error in self.standard_errors.items():
            index = self.law.index(name)
            is_fixed = self.problem.lower[index] == self.problem.upper[index]
            bound = "fixed" if is_fixed else "at its bound"
            note = bound if name in self.at_bound else f"+- {error:.3g} (standard error)"
            lines.append(f"  {name:>6} = {self.params[name]:<12.6g} {note}")
        middle = float(np.exp(np.mean(np.log(self.x))))
        offset = self.params[self.law.params[2]] if self.law.has_offset else 0.0
        lines.append(f"  amplitude at the geometric mean of x, {middle:.4g}: {self.predict(middle) - offset:.6g}")
        lines.append(f"  residual standard deviation {self.residual_std:.3g}")
        lines += [f"  warning ({w.kind}): {w}" for w in self.warnings]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values at full precision, for JSON."""
        return {
            "law": self.law.name,
            "formula": self.law.formula,
            "objective": self.objective.name,
            "delta": self.objective.delta,
            "params": dict(self.params),
            "standard_errors": {k: None if np.isnan(v) else v for k, v in self.standard_errors.items()},
            "at_bound": self.at_bound,
            "objective_value": self.objective_value,
            "num_points": int(self.x.size),
            "x_range": [float(self.x.min()), float(self.x.max())],
            "warnings": {w.kind: str(w) for w in self.warnings},
        }


def check_positive(name: str, values: np.ndarray) -> np.ndarray:
    bad = np.flatnonzero(~(values.ravel() > 0) | ~np.isfinite(values.ravel()))
    if bad.size:
        raise ValueError(
            f"{name} must be positive and finite; row {bad[0]} is {values.ravel()[bad[0]]} ({bad.size} such)"
        )
    return values


def residual_unit(objective: Objective, y_unit: float) -> float:
    """What scaled residuals are divided by to be in the user's unit of y, or of log y: a Huber delta's unit."""
    return 1.0 if objective.log else 1 / y_unit


def _smallest_eigenvalue(jacobian: np.ndarray) -> float:
    """Of the correlation of the columns, in [0, 1]: 0 where they are collinear."""
    norms = np.linalg.norm(jacobian, axis=0)
    if not np.all(np.isfinite(norms)) or np.any(norms == 0):
        return 0.0
    return float(np.linalg.eigvalsh((jacobian / norms).T @ (jacobian / norms))[0])


def _units_jacobian(fit: Fit) -> np.ndarray:
    """d (params in the user's units) / d theta by complex step, shape (num_params, num_params)."""
    steps = fit.theta + 1j * _COMPLEX_STEP * np.eye(fit.theta.size)
    return np.imag(fit.law.in_units(steps, fit.x_unit, fit.y_unit)).T / _COMPLEX_STEP
