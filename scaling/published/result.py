"""What a published estimator returns, and the checks of what it is given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError
from ..inputs import check_whole, numbers, paired
from ..laws import find_law

__all__ = ["PublishedFit", "check_curve", "check_pairs", "law_value", "least_of_grid", "straight_line"]


@dataclass(frozen=True, repr=False)
class PublishedFit:
    """A law fitted by the procedure of a paper.

    Attributes:
        estimator: name in `PUBLISHED_ESTIMATORS`.
        law: name of the law.
        params: parameters under the names and signs of that law, in the user's units, at full precision.
        objective_value: the paper's objective where the procedure stopped.
        num_iterations: rounds or iterations of the start that was kept.
        num_starts: how many starts were tried.
        converged: whether the procedure's own stop rule was met; False where a limit on the rounds ended it.
        note: how it differs from `fit_law`.
        source: paper, and what of it.
    """

    estimator: str
    law: str
    params: Mapping[str, float]
    objective_value: float
    num_iterations: int
    num_starts: int
    converged: bool
    note: str
    source: str

    def predict(self, x: ArrayLike) -> np.ndarray:
        """The law at x: positive values of any shape, for `additive` of shape (..., 2) = N, D.

        Raises:
            ValueError: x is not positive and finite, or has not the shape that the law takes.
        """
        x = numbers("x", x)
        if self.law == "additive" and (x.ndim == 0 or x.shape[-1] != 2):
            raise ValueError(f"x must have the shape (..., 2) = N, D for 'additive', got {x.shape}")
        _check_values("x", x.reshape(-1, 2) if self.law == "additive" else x.ravel())
        return law_value(self.law, self.params, x)

    def log_rmse(self, x: ArrayLike, y: ArrayLike) -> float:
        """sqrt(mean (log f(x) - log y)^2): the score of Alabdulmohsin 2022, and RMSLE of Caballero 2022."""
        return float(np.sqrt(np.mean(self._squared_log_errors(x, y))))

    def _squared_log_errors(self, x: ArrayLike, y: ArrayLike) -> np.ndarray:
        y = numbers("y", y)
        predicted = self.predict(x)
        if predicted.shape != y.shape:
            raise ValueError(f"y must have one value for each x, got shapes {y.shape} and {np.shape(x)}")
        _check_values("y", y.ravel())
        _check_values("the predicted y", predicted.ravel())
        return (np.log(predicted) - np.log(y)) ** 2

    def __repr__(self) -> str:
        ended = "converged" if self.converged else "NOT converged"
        params = ", ".join(f"{name} = {value:.6g}" for name, value in self.params.items())
        return (
            f"{self.estimator} ({self.law}): {params}\n"
            f"  objective {self.objective_value:.6g}, {ended} after {self.num_iterations} iterations,"
            f" {self.num_starts} start{'s' if self.num_starts > 1 else ''}\n"
            f"  {self.note}\n  {self.source}"
        )


def law_value(law: str, params: Mapping[str, float], x: np.ndarray) -> np.ndarray:
    """The law of that name at x, of any shape ((..., 2) for `additive`), with parameters by name."""
    found = find_law(law)
    theta = np.array([params[name] for name in found.params])
    if found.num_inputs == 1:
        return found.value(theta, x.ravel()).reshape(x.shape)
    return found.value(theta, x.reshape(-1, found.num_inputs)).reshape(x.shape[:-1])


def straight_line(u: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """Intercept and slope of the least-squares line of v on u."""
    centred = u - u.mean()
    slope = float(centred @ v / (centred @ centred))
    return float(v.mean() - slope * u.mean()), slope


def least_of_grid(
    grid: np.ndarray, objective: Callable[[np.ndarray], np.ndarray], num_starts: int | None
) -> np.ndarray:
    """The points (num_starts, p) of a grid (g, p) with the least objective (g,), the first of equals; None takes all.

    Raises:
        ValueError: num_starts is not from 1 to g.
    """
    if num_starts is None:
        return grid
    check_whole("num_starts", num_starts, 1)
    if num_starts > len(grid):
        raise ValueError(f"num_starts must be None or from 1 to {len(grid)}, got {num_starts}")
    return grid[np.argsort(objective(grid), kind="stable")[:num_starts]]


def check_curve(estimator: str, x: ArrayLike, y: ArrayLike, min_points: int) -> tuple[np.ndarray, np.ndarray]:
    """x and y as float64 of shape (n,).

    Raises:
        ValueError: their shapes differ, or a row is not positive and finite.
        FitError: fewer rows than `min_points`, or all x or all y equal.
    """
    return _checked(estimator, *paired(x, y), min_points)


def check_pairs(estimator: str, x: ArrayLike, y: ArrayLike, min_points: int) -> tuple[np.ndarray, np.ndarray]:
    """x of shape (n, 2) and y of shape (n,), as float64. Raises: as `check_curve`."""
    x, y = numbers("x", x), numbers("y", y)
    if x.ndim != 2 or x.shape[1] != 2 or y.shape != x.shape[:1]:
        raise ValueError(f"x must have the shape (n, 2) = N, D and y (n,), got {x.shape} and {y.shape}")
    return _checked(estimator, x, y, min_points)


def _checked(estimator: str, x: np.ndarray, y: np.ndarray, min_points: int) -> tuple[np.ndarray, np.ndarray]:
    _check_values("x", x)
    _check_values("y", y)
    if len(y) < min_points:
        raise FitError(f"{estimator!r} needs at least {min_points} points, got {len(y)}")
    for name, column in (("x", x), ("N", x[:, :1]), ("D", x[:, 1:])) if x.ndim == 2 else (("x", x), ("y", y)):
        if np.all(column == column[0]):
            raise FitError(f"all {name} are equal ({np.ravel(column)[0]:g}): {estimator!r} cannot be had from them")
    return x, y


def _check_values(name: str, values: np.ndarray) -> None:
    """Every value, of rows of one or of two, must be positive and finite."""
    rows = values.reshape(len(values), -1) if values.size else values.reshape(0, 1)
    bad = np.flatnonzero(~np.all((rows > 0) & np.isfinite(rows), axis=1))
    if bad.size:
        value = values[bad[0]].tolist()
        raise ValueError(f"{name} must be positive and finite; row {bad[0]} is {value} ({bad.size} such)")
