"""A damped Gauss-Newton method with bounds: every start and every bootstrap draw in one vectorised batch."""

from dataclasses import dataclass, fields

import numpy as np

from .problem import Problem

__all__ = ["Solution", "polish"]

_MAX_ITERATIONS = 400
# The objective is quadratic at its minimum: a step that promises this share of it moves no parameter by more than the
# square root of that, in standard errors.
_NEAR_DECREASE = 1e-12  # so near, rounding hides whether the objective falls: steps are taken on trust
_LAST_DECREASE = 1e-17
_GOOD_ENOUGH = 1e-4
_MAX_NEAR_STEPS = 8  # each gains a digit at least
# A smooth objective whose steps gain this little, time and again, falls towards a limit at infinity, along a direction
# that the points do not tell.
_STALLED_DECREASE = 1e-6
_MAX_STALLED = 20
_ROUNDING = 1e-15  # residuals of data that lie on the law, relative to y
_SINGULAR = 1e-15  # added to a diagonal of ones: below it a direction is rounding
_START_DAMPING = 1e-4
_MAX_DAMPING = 1e12  # no step, however short, lowers the objective: it is at its minimum to rounding
_ACCELERATION_STEP = 0.1  # of a step, ahead of which the bend of the residuals is measured
_MOST_TURN = 0.75  # of a step: beyond it the second order says nothing
_TINY = float(np.finfo(float).tiny)
_LONGEST_LOG_STEP = 2.0  # of a parameter that is searched by factors
_SMALL_BATCH = 32  # up to here each step is solved by orthogonal factors, which keep twice the digits


@dataclass(frozen=True)
class Solution:
    """Parameters (batch, num_params) in scaled units, the objective (batch,), which members converged, and which are
    near enough for a bootstrap draw (a Huber objective has kinks, at which the last digits take long)."""

    theta: np.ndarray
    value: np.ndarray
    converged: np.ndarray
    near: np.ndarray


@np.errstate(all="ignore")  # a trial step may overflow: then it is refused
def polish(
    problem: Problem,
    theta: np.ndarray,
    max_iterations: int = _MAX_ITERATIONS,
    last_decrease: float = _LAST_DECREASE,
) -> Solution:
    """Damped Gauss-Newton with bounds from `theta`, shape (batch, num_params), each member on its own.

    Beyond a Huber objective's delta the curvature is 0 and the weights of iteratively reweighted least squares, which
    always lower the objective, serve as the damping. It ends where a step promises `last_decrease` of the objective.
    """
    theta = np.clip(theta, problem.lower, problem.upper)
    value = problem.value(theta)
    ended = Solution(theta, value, np.zeros(len(theta), dtype=bool), np.zeros(len(theta), dtype=bool))
    floor = _ROUNDING**2 * problem.total_weight
    going = _Going.started(problem, theta, value, floor)
    for _ in range(max_iterations):
        if going.place.size == 0:
            break
        has_ended, is_minimum = going.advance(last_decrease)
        if has_ended.any():
            going.write(ended, has_ended, is_minimum)
            going = going.without(has_ended)
    going.write(ended, np.ones(going.place.size, dtype=bool), np.zeros(going.place.size, dtype=bool))
    return ended


@dataclass
class _Going:
    """The members of a batch that have not come to their end; arrays of their number, `place` in the whole batch."""

    problem: Problem
    place: np.ndarray
    theta: np.ndarray
    value: np.ndarray
    floor: np.ndarray
    damping: np.ndarray
    promised: np.ndarray
    num_near: np.ndarray
    num_stalled: np.ndarray

    @classmethod
    def started(cls, problem: Problem, theta: np.ndarray, value: np.ndarray, floor: np.ndarray) -> "_Going":
        n = len(theta)
        whole = cls(
            problem, np.arange(n), theta.copy(), value.copy(), floor, np.full(n, _START_DAMPING), np.full(n, np.inf),
            np.zeros(n, dtype=int), np.zeros(n, dtype=int),
        )  # fmt: skip
        is_undefined = ~np.isfinite(value)
        return whole.without(is_undefined) if is_undefined.any() else whole

    def without(self, gone: np.ndarray) -> "_Going":
        left = np.flatnonzero(~gone)
        arrays = {f.name: getattr(self, f.name)[left] for f in fields(self) if f.name != "problem"}
        return _Going(problem=self.problem.rows(left), **arrays)

    def write(self, solution: Solution, which: np.ndarray, is_minimum: np.ndarray) -> None:
        """Into the arrays of the whole batch."""
        at = self.place[which]
        solution.theta[at], solution.value[at] = self.theta[which], self.value[which]
        solution.converged[at] = is_minimum[which]
        solution.near[at] = self.promised[which] <= _GOOD_ENOUGH * self.value[which]

    def advance(self, last_decrease: float) -> tuple[np.ndarray, np.ndarray]:
        """One step of each; which members have ended, and which of these at a minimum."""
        value, damping = self.value, self.damping
        trial, predicted = _step(self.problem, self.theta, damping)
        trial_value = self.problem.value(trial)
        near = (predicted <= _NEAR_DECREASE * value) & (damping <= _START_DAMPING)
        better = (trial_value < value) | (near & np.isfinite(trial_value))
        if self.problem.criterion.delta is None:
            stalls = trial_value > value * (1 - _STALLED_DECREASE)
            self.num_stalled = np.where(better, (self.num_stalled + 1) * stalls, self.num_stalled)
        self.num_near = self.num_near + near
        is_minimum = (predicted <= last_decrease * value) | (value <= self.floor) | (self.num_near >= _MAX_NEAR_STEPS)
        is_minimum |= self.num_stalled >= _MAX_STALLED
        self.theta = np.where(better[:, None], trial, self.theta)
        self.value = np.where(better, trial_value, value)
        self.damping = damping * np.where(better, 0.03, 10.0)
        self.promised = predicted
        stuck = self.damping > _MAX_DAMPING
        return is_minimum | stuck, is_minimum | (stuck & np.isfinite(predicted))


def _step(problem: Problem, theta: np.ndarray, damping: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where a step towards the minimum leads, shape (batch, p), and what a quadratic model says it gains, (batch,)."""
    criterion, weights = problem.criterion, problem.weights
    residuals, jacobian = _linearised(problem, theta)
    reweighted = weights * criterion.slope_over_residual(residuals)
    slope = reweighted * residuals
    gradient = (slope[:, None, :] @ jacobian)[:, 0]
    free = ~(((theta <= problem.lower) & (gradient >= 0)) | ((theta >= problem.upper) & (gradient <= 0)))
    curvature = weights if criterion.delta is None else weights * criterion.curvature(residuals)
    if criterion.delta is not None:
        curvature = curvature + damping[:, None] * reweighted
    diagonal = (reweighted[:, None, :] @ jacobian**2)[:, 0]
    diagonal = np.where(free, np.maximum(diagonal, _TINY), 1.0)
    size = 1 / np.sqrt(diagonal)
    scaled = jacobian * (size * free)[:, None, :]
    move = _solve(scaled, curvature, slope, damping)
    predicted = -np.sum(move * gradient * size * free, axis=1) / 2
    if len(problem.law.nonlinear) > 1 and criterion.delta is None:
        # Geodesic acceleration (Transtrum and Sethna 2012) along the bend of a narrow valley.
        ahead = problem.residuals(_moved(problem, theta, _ACCELERATION_STEP * move * size))
        along = (scaled @ move[..., None])[..., 0]
        bend = 2 / _ACCELERATION_STEP * ((ahead - residuals) / _ACCELERATION_STEP - along)
        bend = np.where(np.isfinite(bend) & (weights > 0), bend, 0.0)
        turn = _solve(scaled, curvature, reweighted * bend, damping) / 2
        short = np.linalg.norm(turn, axis=1) <= _MOST_TURN * np.linalg.norm(move, axis=1)
        move = move + np.where(short[:, None], turn, 0.0)
    return _moved(problem, theta, np.where(free, move * size, 0.0)), predicted


def _linearised(problem: Problem, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Residuals (batch, n) and their Jacobian (batch, n, p) in the coordinates of the search, 0 where not counted."""
    fitted, jacobian = problem.law.linearised(theta, problem.x)
    residuals = problem.criterion.residual(fitted, problem.y, problem.residual_scale)
    jacobian = jacobian * problem.criterion.residual_slope(fitted, problem.residual_scale)[..., None]
    if problem.in_log.any():
        jacobian = jacobian * np.where(problem.in_log, theta, 1.0)[:, None, :]
    if not np.all(problem.weights > 0):
        counted = problem.weights > 0
        residuals, jacobian = np.where(counted, residuals, 0.0), np.where(counted[..., None], jacobian, 0.0)
    return residuals, jacobian


def _moved(problem: Problem, theta: np.ndarray, step: np.ndarray) -> np.ndarray:
    moved = theta + step
    if problem.in_log.any():
        factor = np.exp(np.clip(step, -_LONGEST_LOG_STEP, _LONGEST_LOG_STEP))
        moved = np.where(problem.in_log, theta * factor, moved)
    return np.clip(moved, problem.lower, problem.upper)


def _solve(scaled: np.ndarray, curvature: np.ndarray, slope: np.ndarray, damping: np.ndarray) -> np.ndarray:
    """(J'HJ + damping)^-1 J'(-slope), for a Jacobian whose columns have norm one: shape (batch, p)."""
    if len(scaled) <= _SMALL_BATCH:
        return _by_orthogonal_factors(scaled, curvature, slope, damping)
    hessian = np.swapaxes(scaled, 1, 2) @ (curvature[..., None] * scaled)
    # A fixed parameter's column is 0: its row is damping only, and it does not move.
    hessian = hessian + (damping[:, None, None] + _SINGULAR) * np.eye(scaled.shape[-1])
    pull = slope[:, None, :] @ scaled
    return -np.linalg.solve(hessian, np.swapaxes(pull, 1, 2))[..., 0]


def _by_orthogonal_factors(
    scaled: np.ndarray, curvature: np.ndarray, slope: np.ndarray, damping: np.ndarray
) -> np.ndarray:
    """The same by QR of J and the damping, which does not square the condition number."""
    batch, n, p = scaled.shape
    root = np.sqrt(curvature)
    target = np.divide(slope, root, out=np.zeros_like(slope), where=root > 0)
    rows = np.zeros((batch, n + p, p + 1))
    rows[:, :n, :p], rows[:, :n, p] = root[..., None] * scaled, target
    rows[:, n:, :p] = np.sqrt(damping + _SINGULAR**2)[:, None, None] * np.eye(p)
    factor = np.asarray(np.linalg.qr(rows, mode="r"))
    return -np.linalg.solve(factor[:, :p, :p], factor[:, :p, p:])[..., 0]
