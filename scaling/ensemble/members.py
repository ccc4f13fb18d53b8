"""Members of an ensemble: each law fitted to all points, and to those nearest to where it will be asked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import FitError
from ..fitting.objectives import find_objective
from ..fitting.points import check_points, pose
from ..fitting.problem import Problem
from ..fitting.scan import scan
from ..fitting.solver import polish
from ..laws import Law

__all__ = ["REACHES", "Key", "Member", "fit_members"]

Key = tuple[str, float]  # of a member: its law's name and its reach

# A member is fitted to the points with x at least its largest over this. Which points are trusted changes an
# extrapolation more than which law: early points weigh as much in a fit as late ones, and say less of what follows.
REACHES = (np.inf, 8.0, 4.0)
# An ensemble needs the curve of each member, not the last digits of parameters that its points do not tell.
_HEAT_ITERATIONS = 10  # of every start
_LAST_ITERATIONS = 40  # of the best


@dataclass(frozen=True, eq=False)
class Member:
    """A law fitted to the points with x >= max(x) / reach, in scaled units.

    Attributes:
        noise: standard deviation of its residuals in log y, with n - p degrees of freedom.
    """

    law: Law
    reach: float
    theta: np.ndarray
    x_unit: Any
    y_unit: float
    noise: float

    @property
    def key(self) -> Key:
        return self.law.name, self.reach

    def log_value(self, x: np.ndarray) -> np.ndarray:
        """log y at x, shape of x (m,); -inf or inf where it leaves a double's range."""
        with np.errstate(all="ignore"):
            return np.log(self.law.value(self.theta[None], x / self.x_unit)[0] * self.y_unit)


def fit_members(x: np.ndarray, y: np.ndarray, laws: Sequence[Law]) -> list[Member]:
    """Every law at every reach that leaves it more points than parameters; one of those that have the same points.

    Args:
        x, y: positive, shape (n,), x ascending.

    Raises:
        FitError: no law has enough points.
    """
    members = []
    for law in laws:
        members += _fit_reaches(law, x, y)
    if not members:
        raise FitError(f"an ensemble needs more distinct x than parameters of a law, got {np.unique(x).size} x")
    return members


def _fit_reaches(law: Law, x: np.ndarray, y: np.ndarray) -> list[Member]:
    counted = {}
    for reach in REACHES:
        first = int(np.searchsorted(x, x[-1] / reach))
        if np.unique(x[first:]).size > len(law.params):
            counted.setdefault(first, reach)
    if not counted:
        return []
    weights = np.array([np.arange(x.size) >= first for first in counted], dtype=float)
    rule = find_objective("log_least_squares")
    problem, x_unit, y_unit = pose(law, rule, check_points(law, rule, x, y, {}), {}, {})
    problem = replace(problem, weights=weights)
    theta = _minimise(problem)
    members = []
    for row, (reach, at) in enumerate(zip(counted.values(), theta, strict=True)):
        squares = 2 * float(problem.rows(np.array([row])).value(at[None])[0])
        left = weights[row].sum() - len(law.params)
        if np.isfinite(squares):
            members.append(Member(law, reach, at, x_unit, y_unit, float(np.sqrt(squares / left))))
    return members


def _minimise(problem: Problem) -> np.ndarray:
    """The best parameters of each member of the batch, shape (batch, num_params)."""
    batch = len(problem.weights)
    with np.errstate(all="ignore"):  # a start may leave a double's range: it loses
        starts = scan(problem, problem.law.num_starts)
        num = starts.shape[1]
        heats = polish(
            problem.rows(np.repeat(np.arange(batch), num)), starts.reshape(batch * num, -1), _HEAT_ITERATIONS
        )
        best = np.argmin(heats.value.reshape(batch, num), axis=1)
        return polish(problem, heats.theta.reshape(batch, num, -1)[np.arange(batch), best], _LAST_ITERATIONS).theta
