"""Minimise an objective over a law's parameters: every start and every bootstrap draw in one vectorised batch.

The problem is posed in units that make it well scaled (x over its geometric mean, y over its own), so a change of
the user's units changes nothing but the amplitude. `scan` eliminates the linear parameters on a grid of
exponents (variable projection: Golub and Pereyra 1973); `polish` is a damped Gauss-Newton method with bounds.
"""

from dataclasses import dataclass, replace

import numpy as np

from .laws import Law
from .objectives import Objective

__all__ = ["Problem", "Solution", "polish", "scan"]

_MAX_ITERATIONS = 300
# The objective is quadratic at its minimum: a step that promises this share of it moves no parameter by more than the
# square root of that, in standard errors.
_NEAR_DECREASE = 1e-12  # so near, rounding hides whether the objective falls: steps are taken on trust
_LAST_DECREASE = 1e-24
_GOOD_ENOUGH = 1e-4
_MAX_NEAR_STEPS = 8  # each gains a digit at least
_ROUNDING = 2e-15  # residuals of data that lie on the law, relative to y
_SINGULAR = 1e-15  # added to a diagonal of ones: below it a direction is rounding
_START_DAMPING = 1e-3
_MAX_DAMPING = 1e12  # no step, however short, lowers the objective: it is at its minimum to rounding


@dataclass(frozen=True)
class Problem:
    """A law to be fitted to y at x, in scaled units.

    Attributes:
        x: shape (n,), positive.
        y: shape (n,) or (batch, n).
        weights: how often each point counts, shape (batch, n).
        residual_scale: standard deviation of each residual up to a common factor, shape (n,); ones without weights.
        lower, upper: bounds of the parameters, shape (num_params,).
    """

    law: Law
    objective: Objective
    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    residual_scale: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def rows(self, index: np.ndarray) -> "Problem":
        """The same problem for some members of the batch."""
        y = self.y[index] if self.y.ndim == 2 else self.y
        return replace(self, y=y, weights=self.weights[index])

    def residuals(self, theta: np.ndarray) -> np.ndarray:
        """f(x) - y, or of their logarithms, over its scale, shape (batch, n)."""
        fitted = self.law.value(theta, self.x)
        if not self.objective.log:
            return (fitted - self.y) / self.residual_scale
        with np.errstate(divide="ignore", invalid="ignore"):
            return (np.log(fitted) - np.log(self.y)) / self.residual_scale

    def value(self, theta: np.ndarray) -> np.ndarray:
        """The objective, shape (batch,); inf where the law is not defined."""
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.sum(
                np.where(self.weights > 0, self.weights * self.objective.rho(self.residuals(theta)), 0), axis=-1
            )
        return np.where(np.isnan(total), np.inf, total)

    def residual_jacobian(self, theta: np.ndarray) -> np.ndarray:
        """d residual / d theta, shape (batch, n, num_params)."""
        jacobian = self.law.jacobian(theta, self.x)
        if self.objective.log:
            jacobian = jacobian / self.law.value(theta, self.x)[..., None]
        return jacobian / self.residual_scale[:, None]


@dataclass(frozen=True)
class Solution:
    """Parameters (batch, num_params) in scaled units, the objective (batch,), which members converged, and which are
    near enough for a bootstrap draw (a Huber objective has kinks, at which the last digits take long)."""

    theta: np.ndarray
    value: np.ndarray
    converged: np.ndarray
    near: np.ndarray


def scan(problem: Problem, num_starts: int) -> np.ndarray:
    """Starts for `polish`: the best local minima along a grid of exponents, shape (batch, num_starts, num_params).

    Amplitude and offset are those that minimise the weighted squares of y - f, relative to y for a log objective.
    """
    exponents = np.unique(np.clip(problem.law.scan(problem.x), problem.lower[1], problem.upper[1]))
    y = np.broadcast_to(problem.y, problem.weights.shape)
    scale = problem.residual_scale * (y if problem.objective.log else 1.0)
    weights = problem.weights / scale**2
    with np.errstate(all="ignore"):  # where a power over- or underflows there is no start
        theta, squares = _best_linear(problem, exponents, y, weights)
    squares = np.where(np.isfinite(squares), squares, np.inf)
    order = np.argsort(_local_minima_first(squares), axis=1, kind="stable")[:, :num_starts]
    return np.take_along_axis(theta, order[..., None], axis=1)


def polish(problem: Problem, theta: np.ndarray) -> Solution:
    """Damped Gauss-Newton with bounds from `theta`, shape (batch, num_params), each member on its own.

    Beyond a Huber objective's delta the curvature is 0 and the weights of iteratively reweighted least squares, which
    always lower the objective, serve as the damping.
    """
    theta = np.clip(theta, problem.lower, problem.upper)
    value = problem.value(theta)
    floor = _ROUNDING**2 * np.sum(problem.weights / problem.residual_scale**2, axis=1)
    damping = np.full(len(theta), _START_DAMPING)
    converged, num_near = np.zeros(len(theta), dtype=bool), np.zeros(len(theta), dtype=int)
    promised = np.full(len(theta), np.inf)
    active = np.flatnonzero(np.isfinite(value))
    for _ in range(_MAX_ITERATIONS):
        if active.size == 0:
            break
        part = problem.rows(active)
        step, predicted = _step(part, theta[active], damping[active])
        trial = np.clip(theta[active] + step, part.lower, part.upper)
        trial_value = part.value(trial)
        near = (predicted <= _NEAR_DECREASE * value[active]) & (damping[active] <= _START_DAMPING)
        better = (trial_value < value[active]) | (near & np.isfinite(trial_value))
        accepted = active[better]
        theta[accepted], value[accepted] = trial[better], trial_value[better]
        damping[active] *= np.where(better, 0.1, 10.0)
        num_near[active] += near
        at_minimum = (predicted <= _LAST_DECREASE * value[active]) | (value[active] <= floor[active])
        at_minimum |= num_near[active] >= _MAX_NEAR_STEPS
        stuck = damping[active] > _MAX_DAMPING
        converged[active] = at_minimum | (stuck & np.isfinite(predicted))
        promised[active] = predicted
        active = active[~(at_minimum | stuck)]
    return Solution(theta, value, converged, promised <= _GOOD_ENOUGH * value)


# Scan ---------------------------------------------------------------------------------------------------------


def _best_linear(
    problem: Problem, exponents: np.ndarray, y: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Parameters (batch, g, num_params) with the best amplitude and offset for each exponent, and their squares."""
    lower, upper = problem.lower, problem.upper
    power = problem.law.basis(exponents, problem.x).T  # (n, g)
    power_power, power_y = weights @ power**2, (weights * y) @ power
    total, total_power = weights.sum(axis=1, keepdims=True), weights @ power
    total_y, total_y2 = (np.sum(weights * y**k, axis=1, keepdims=True) for k in (1, 2))
    offset = np.zeros_like(power_y)
    if problem.law.has_offset:
        offset = (power_power * total_y - total_power * power_y) / (total * power_power - total_power**2)
        offset = np.clip(np.nan_to_num(offset), lower[2], upper[2])
    amplitude = np.clip((power_y - offset * total_power) / power_power, lower[0], upper[0])
    squares = (
        total_y2 + amplitude**2 * power_power + offset**2 * total
        - 2 * (amplitude * power_y + offset * total_y - amplitude * offset * total_power)
    )  # fmt: skip
    theta = [amplitude, np.broadcast_to(exponents, amplitude.shape), offset]
    return np.stack(theta[: len(lower)], axis=-1), squares


def _local_minima_first(squares: np.ndarray) -> np.ndarray:
    """Sort keys along the grid: local minima by their squares, then the rest."""
    padded = np.pad(squares, ((0, 0), (1, 1)), constant_values=np.inf)
    is_minimum = (squares <= padded[:, :-2]) & (squares <= padded[:, 2:])
    worst = np.max(squares, axis=1, keepdims=True, where=np.isfinite(squares), initial=0.0)
    return np.where(is_minimum, squares, squares + worst + 1.0)


# Polish -------------------------------------------------------------------------------------------------------


def _step(problem: Problem, theta: np.ndarray, damping: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A step towards the minimum, shape (batch, p), and how much a quadratic model says that it gains, (batch,)."""
    weights, counted = problem.weights, problem.weights > 0
    residuals = np.where(counted, problem.residuals(theta), 0.0)
    jacobian = np.where(counted[..., None], problem.residual_jacobian(theta), 0.0)
    reweighted = weights * problem.objective.slope_over_residual(residuals)
    gradient = np.einsum("bn,bn,bnp->bp", reweighted, residuals, jacobian)
    newton = _gram(weights * problem.objective.curvature(residuals), jacobian)
    majorant = newton if problem.objective.delta is None else _gram(reweighted, jacobian)
    free = ~(((theta <= problem.lower) & (gradient >= 0)) | ((theta >= problem.upper) & (gradient <= 0)))
    diagonal = np.maximum(np.einsum("bpp->bp", majorant), np.finfo(float).tiny)
    hessian = newton + damping[:, None, None] * (majorant if problem.objective.delta is not None else 0.0)
    hessian = hessian + (damping[:, None] * diagonal)[..., None] * np.eye(theta.shape[1])
    return _solve_free(hessian, gradient, diagonal, free)


def _gram(weights: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
    return np.swapaxes(jacobian, 1, 2) @ (weights[..., None] * jacobian)


def _solve_free(
    hessian: np.ndarray, gradient: np.ndarray, diagonal: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve for the free parameters, scaled by the diagonal; the others do not move."""
    scale = 1 / np.sqrt(diagonal)
    identity = np.eye(free.shape[1])
    both = free[:, :, None] & free[:, None, :]
    scaled = np.where(both, hessian * scale[:, :, None] * scale[:, None, :], identity)
    # A singular direction moves by its gradient, at the scale of the diagonal.
    scaled = scaled + _SINGULAR * identity
    pull = np.where(free, gradient * scale, 0.0)
    move = -np.linalg.solve(scaled, pull[..., None])[..., 0]
    return move * scale, -np.sum(move * pull, axis=1) / 2
