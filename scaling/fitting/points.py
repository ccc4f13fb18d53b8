"""The points of a fit: checked, weighted, and posed as a problem in scaled units."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError
from ..inputs import check_inside, check_positive, check_same_index, numbers
from ..laws import Law
from .objective import Objective
from .problem import Problem

__all__ = ["Points", "check_points", "pose"]


@dataclass(frozen=True)
class Points:
    """x (n,) or (n, 2), y (n,), how often each counts (n,), and what a residual's scale is made of, (n,) or None."""

    x: np.ndarray
    y: np.ndarray
    counts: np.ndarray
    y_std: np.ndarray | None
    num_eval: np.ndarray | None


def check_points(
    law: Law,
    objective: Objective,
    x: ArrayLike,
    y: ArrayLike,
    per_point: Mapping[str, ArrayLike | None],
    num_fixed: int = 0,
) -> Points:
    """The points as float64 arrays; `num_fixed` of the law's parameters need none.

    Raises:
        ValueError: a shape or a value is not valid: which, where.
        FitError: the points cannot determine the law.
    """
    if np.ma.is_masked(x) or np.ma.is_masked(y):
        raise ValueError("x and y must not be masked: leave the masked rows out (x[~mask], y[~mask])")
    check_same_index(x=x, y=y, **per_point)
    x, y = numbers("x", x), numbers("y", y)
    _check_shapes(law, x, y)
    _check_values(law, objective, x, y)
    counts = _per_point("counts", per_point.get("counts"), y)
    y_std = _per_point("y_std", per_point.get("y_std"), y)
    num_eval = _check_num_eval(objective, y, per_point)
    _check_enough(law, x, y, num_fixed)
    return Points(x, y, np.ones(y.size) if counts is None else counts, y_std, num_eval)


def pose(
    law: Law, objective: Objective, points: Points, bounds: Mapping[str, Any], fixed: Mapping[str, float]
) -> tuple[Problem, Any, float]:
    """The problem in scaled units, and the units of x and y."""
    lower, upper = _check_bounds(law, bounds, fixed)
    x_unit, y_unit = _units(law, objective, points, {*bounds, *fixed})
    unit = law.bound_units(x_unit, y_unit)
    scale = _residual_scale(law, objective, points, y_unit)
    problem = Problem(
        law, objective, points.x / x_unit, points.y / y_unit, points.counts[None], scale,
        lower / unit, upper / unit,
    )  # fmt: skip
    return problem, x_unit, y_unit


def _units(law: Law, objective: Objective, points: Points, bounded: set[str]) -> tuple[Any, float]:
    x_unit: Any = 1.0 if law.num_inputs == 1 else np.ones(law.num_inputs)
    if law.link is not None or bounded & set(law.mixed):
        return x_unit, 1.0
    middle = np.exp(np.mean(np.log(points.x), axis=0))
    x_unit = float(middle) if law.num_inputs == 1 else np.where(law.is_amount, middle, 1.0)
    if objective.is_binomial:
        return x_unit, 1.0
    y = points.y
    return x_unit, float(np.exp(np.mean(np.log(y)))) if np.all(y > 0) else float(np.abs(y).max())


def _residual_scale(law: Law, objective: Objective, points: Points, y_unit: float) -> np.ndarray:
    if points.num_eval is not None:
        return 1 / np.sqrt(points.num_eval)
    if points.y_std is None:
        unit = 1.0 if law.link is not None else objective.residual_unit(y_unit)
        return np.full(points.y.size, unit)
    if law.link is not None:
        return points.y_std * law.link.slope(points.y)
    return points.y_std / (points.y if objective.log else y_unit)


# Checks -------------------------------------------------------------------------------------------------------


def _check_shapes(law: Law, x: np.ndarray, y: np.ndarray) -> None:
    if law.num_inputs == 1:
        if x.ndim != 1 or x.shape != y.shape:
            raise ValueError(f"x and y must be one-dimensional and equally long, got shapes {x.shape} and {y.shape}")
    elif y.ndim != 1 or x.shape != (y.size, law.num_inputs):
        raise ValueError(
            f"{law.name!r} takes x of shape (n, {law.num_inputs}) and y of shape (n,), got {x.shape} and {y.shape}"
        )


def _check_values(law: Law, objective: Objective, x: np.ndarray, y: np.ndarray) -> None:
    if law.link is not None:
        if objective.log or objective.is_binomial:
            raise ValueError(
                f"{law.name!r} takes objective 'least_squares' or 'huber' on its own axes, got {objective.name!r}"
            )
        for name, values in (("x", x), ("y", y)):
            check_inside(f"{name} (an accuracy, for {law.name!r})", values)
        return
    check_positive("x", x)
    if objective.log:
        check_positive(f"y (for objective {objective.name!r})", y)
    elif not np.all(np.isfinite(y)):
        raise ValueError(f"y must be finite; row {np.flatnonzero(~np.isfinite(y))[0]} is not")


def _check_num_eval(
    objective: Objective, y: np.ndarray, per_point: Mapping[str, ArrayLike | None]
) -> np.ndarray | None:
    num_eval = per_point.get("num_eval")
    if not objective.is_binomial:
        if num_eval is not None:
            raise ValueError(f"num_eval goes with objective 'binomial', got {objective.name!r}")
        return None
    if num_eval is None or per_point.get("y_std") is not None:
        raise ValueError("objective 'binomial' needs num_eval, the images of each error rate, and no y_std")
    bad = np.flatnonzero(~((y >= 0) & (y <= 1)))
    if bad.size:
        raise ValueError(f"y (for objective 'binomial') must lie in [0, 1]; row {bad[0]} is {y[bad[0]]:g}")
    images = numbers("num_eval", num_eval)
    return _per_point("num_eval", np.full(y.shape, images) if images.ndim == 0 else images, y)


def _per_point(name: str, values: ArrayLike | None, y: np.ndarray) -> np.ndarray | None:
    if values is None:
        return None
    values = check_positive(name, numbers(name, values))
    if values.shape != y.shape:
        raise ValueError(f"{name} must have the shape of y, {y.shape}, got {values.shape}")
    return values


def _check_enough(law: Law, x: np.ndarray, y: np.ndarray, num_fixed: int) -> None:
    if y.size < max(len(law.params) - num_fixed, 1):
        free = f", {num_fixed} of them fixed" if num_fixed else ""
        raise FitError(f"{law.name!r} has {len(law.params)} parameters{free}, got {y.size} points")
    for name, column in zip(law.inputs, np.atleast_2d(x.T), strict=True):
        if np.ptp(np.log(column)) == 0:
            raise FitError(f"all {name} are equal ({column[0]:g}): they say nothing of how y changes with {name}")
    if np.ptp(y) == 0:
        raise FitError(f"all y are equal ({y[0]:g}): no law can be told from a constant")


def _check_bounds(law: Law, bounds: Mapping[str, Any], fixed: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    limits = {name: (low, high) for name, low, high in zip(law.params, law.lower, law.upper, strict=True)}
    for name, value in fixed.items():
        if not isinstance(value, int | float | np.number) or not abs(value) <= sys.float_info.max:
            raise ValueError(f"fixed {name} must be a finite number, got {value!r}")
    for name, pair in {**bounds, **{name: (value, value) for name, value in fixed.items()}}.items():
        law.index(name)
        if (
            np.shape(pair) != (2,)
            or not all(isinstance(end, int | float | np.number) for end in pair)
            or not pair[0] <= pair[1]
        ):
            raise ValueError(f"bounds of {name} must be (lower, upper), got {pair!r}")
        if name in fixed and name in bounds and not bounds[name][0] <= fixed[name] <= bounds[name][1]:
            raise ValueError(f"fixed {name} = {fixed[name]!r} lies outside its bounds {bounds[name]!r}")
        limits[name] = (float(pair[0]), float(pair[1]))
    lower, upper = np.array(list(limits.values())).T
    return lower, upper
