"""One fit of several groups of points (tasks, families) that have some parameters in common."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError, issue
from ..groups import number_groups
from ..inputs import numbers
from ..laws import Law
from ..laws.grouped import grouped_law
from ..notebook_view import NotebookView
from ..prediction import Prediction, no_warning_beyond, warn_beyond
from .fit import Fit
from .fit_law import finished, fit_points, objective_of
from .points import check_points, pose
from .search import Minimum
from .solver import polish

__all__ = ["GroupLaw", "GroupedFit", "fit_groups"]

_MOST_STARTS = 8  # values of the shared parameters that are tried, each from one group's own fit


@dataclass(frozen=True, repr=False, eq=False)
class GroupedFit(NotebookView):
    """A law fitted to several groups at once. Made by `fit_law(..., groups=, shared=)`.

    Attributes:
        joint: the fit of all points; its x has the group's number, from 1, as a second column.
        labels: of the groups, in the order of those numbers.
        law: of each group.
        shared: parameters that the groups have in common.
    """

    joint: Fit
    labels: tuple[Any, ...]
    law: Law
    shared: tuple[str, ...]

    @property
    def params(self) -> dict[Any, Any]:
        """The shared parameters by name, and for each label a dict of its own."""
        values = self.joint.params
        own = {
            label: {name: values[self._name(name, label)] for name in self.law.params if name not in self.shared}
            for label in self.labels
        }
        return {name: values[name] for name in self.shared} | own

    @property
    def warnings(self) -> tuple[Any, ...]:
        return self.joint.warnings

    def interval(self, name: str, group: Any = None, level: float = 0.95) -> tuple[float, float]:
        """Interval of a shared parameter, or of a group's own; see `Fit.interval`."""
        return self.joint.interval(self._name(name, group), level)

    def predict(
        self, x: ArrayLike, group: Any, level: float | None = None, kind: str = "confidence"
    ) -> np.ndarray | Prediction:
        """The law of one group at x; see `Fit.predict`."""
        x = numbers("x", x)
        number = self._number(group)
        at = np.stack([x, np.full(x.shape, number)], axis=-1)
        if not self.law.increasing:
            warn_beyond(x, self.joint.x[self.joint.x[:, 1] == number, 0])
        with no_warning_beyond():  # the points of all groups
            if level is None:
                return self.joint.predict(at)
            return replace(self.joint.predict(at, level, kind), x=x)

    def solve_for_x(self, y: ArrayLike, group: Any) -> np.ndarray:
        """x at which the law of one group takes the value y; see `Fit.solve_for_x`."""
        theta = np.array([self.joint.params[self._name(name, group)] for name in self.law.params])
        return self.law.inverse(theta, np.ravel(y)).reshape(np.shape(y))

    def of_group(self, group: Any) -> "GroupLaw":
        """The law of one group, in the form of a fit."""
        return GroupLaw(self, group, self._number(group))

    def _number(self, group: Any) -> int:
        if group not in self.labels:
            raise ValueError(f"group must be one of {self.labels}, got {group!r}")
        return self.labels.index(group) + 1

    def _name(self, name: str, group: Any) -> str:
        self.law.index(name)
        return name if name in self.shared else f"{name}[{self._number(group)}]"

    def summary(self) -> str:
        """The joint fit, with the groups' numbers explained."""
        groups = ", ".join(f"[{k}] {label}" for k, label in enumerate(self.labels, start=1))
        return f"groups: {groups}; shared: {', '.join(self.shared) or 'nothing'}\n{self.joint.summary()}"

    def __repr__(self) -> str:
        return self.summary()


@dataclass(frozen=True, repr=False, eq=False)
class GroupLaw(NotebookView):
    """One group's law of a joint fit. Made by `GroupedFit.of_group`.

    Attributes:
        whole: the fit of all groups.
        label, number: the group, and its number in the joint fit, from 1.
    """

    whole: GroupedFit
    label: Any
    number: int

    @property
    def law(self) -> Law:
        return self.whole.law

    def __repr__(self) -> str:
        params = ", ".join(f"{name} = {value:.6g}" for name, value in self.params.items())
        return f"{self.law.name}: {self.law.formula}   (group {self.label} of {len(self.whole.labels)})\n  {params}"

    @property
    def params(self) -> dict[str, float]:
        """All of the law, shared or not, in its order."""
        values = self.whole.joint.params
        return {name: values[self.whole._name(name, self.label)] for name in self.law.params}

    @property
    def x(self) -> np.ndarray:
        """Of the group's points, shape (n,)."""
        return self.whole.joint.x[self.whole.joint.x[:, 1] == self.number, 0]

    @property
    def y(self) -> np.ndarray:
        """Of the group's points, shape (n,)."""
        return self.whole.joint.y[self.whole.joint.x[:, 1] == self.number]

    @property
    def residual_std(self) -> float:
        """Of all groups' points."""
        return self.whole.joint.residual_std

    @property
    def warnings(self) -> tuple[Any, ...]:
        """Of the joint fit."""
        return self.whole.warnings

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """See `Fit.interval`."""
        return self.whole.interval(name, self.label, level)

    def predict(self, x: ArrayLike, level: float | None = None, kind: str = "confidence") -> Any:
        """See `Fit.predict`."""
        return self.whole.predict(x, self.label, level, kind)

    def solve_for_x(self, y: ArrayLike) -> np.ndarray:
        """See `Fit.solve_for_x`."""
        return self.whole.solve_for_x(y, self.label)


def fit_groups(
    law: Law, x: ArrayLike, y: ArrayLike, groups: ArrayLike, shared: tuple[str, ...],
    per_point: Mapping[str, Any], options: Mapping[str, Any],
) -> GroupedFit:  # fmt: skip
    """`fit_law` for several groups: from each group's own fit, then all together.

    Raises:
        ValueError: a label is missing, there is one group only, or a shared parameter is unknown.
        FitError: the points of all groups cannot determine the law.
    """
    labels, places = _number_groups(groups, np.size(y))
    for name in shared:
        law.index(name)
    clash = [label for label in labels if label in shared]
    if clash:
        raise ValueError(f"a group must not be named like a shared parameter, got {clash[0]!r}")
    if law.link is not None:
        raise ValueError(f"groups= needs a law of positive values, got the line {law.name!r}")
    if np.shape(x) != np.shape(y):
        raise ValueError(f"x and y must be equally long, got shapes {np.shape(x)} and {np.shape(y)}")
    joint_law = grouped_law(law, len(labels), shared)
    if law.num_inputs != 1:
        raise ValueError(f"groups= needs a law of one input, got {law.name!r}")
    rule = objective_of(law, options)
    at = np.column_stack([numbers("x", x), places])
    bounds, fixed = (_of_each(joint_law, options[key]) for key in ("bounds", "fixed"))
    points = check_points(joint_law, rule, at, y, per_point, len(fixed))
    # A shared amplitude is one number in the user's units only: then the units are one, as for a bounded one.
    unscaled = {name: (0.0, np.inf) for name in law.mixed if name in shared}
    problem, x_unit, y_unit = pose(joint_law, rule, points, unscaled | bounds, fixed)
    candidates = _starts(law, points, per_point, places, shared, options)
    starts = joint_law.in_units(candidates, 1 / x_unit, 1 / y_unit)
    solution = polish(problem.repeated(len(starts)), starts)
    best = int(np.argmin(solution.value))
    if not np.isfinite(solution.value[best]):
        raise FitError(f"no minimum found for {law.name!r} with shared {shared}")
    theta, value, has_ended = solution.theta[best], float(solution.value[best]), bool(solution.converged[best])
    minimum = Minimum(theta, value, has_ended, others=theta[None][:0])
    fit = finished(problem, points, x_unit, y_unit, minimum, fixed)
    issue(*fit.warnings)
    return GroupedFit(fit, labels, law, shared)


def _number_groups(groups: ArrayLike, n: int) -> tuple[tuple[Any, ...], np.ndarray]:
    """Labels in the order in which they come, and each point's number from 1."""
    labels, place, is_null = number_groups(groups, n)
    if is_null.any():
        raise ValueError(f"groups must not be null; row {np.flatnonzero(is_null)[0]} is ({is_null.sum()} such)")
    if len(labels) < 2:
        raise ValueError(f"groups must have two labels or more, got {labels}")
    return tuple(labels), place + 1.0


def _of_each(joint: Law, values: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a parameter of the law is said of it in every group."""
    own = {name.split("[")[0] for name in joint.params}
    unknown = [name for name in values if name not in own]
    if unknown:
        raise ValueError(f"{joint.name!r} has the parameters {tuple(sorted(own))}, got {unknown[0]!r}")
    return {name: values[name.split("[")[0]] for name in joint.params if name.split("[")[0] in values}


def _starts(
    law: Law, points: Any, per_point: Mapping[str, Any], places: np.ndarray, shared: tuple[str, ...],
    options: Mapping[str, Any],
) -> np.ndarray:  # fmt: skip
    """Joint parameters in the user's units: each group's own shared ones, with the others fitted to them."""

    def params_of(group: float | None, fixed: Mapping[str, float]) -> dict[str, float] | None:
        rows = np.arange(len(places)) if group is None else np.flatnonzero(places == group)
        each = {k: None if v is None else np.broadcast_to(v, places.shape)[rows] for k, v in per_point.items()}
        try:
            held = {**options["fixed"], **fixed}
            return fit_points(law, points.x[rows, 0], points.y[rows], each, {**options, "fixed": held}).params
        except FitError:
            return None

    own = [params_of(group, {}) for group in (None, *np.unique(places))]
    candidates = [params for params in own if params is not None][:_MOST_STARTS]
    starts = []
    for candidate in candidates:
        held = {name: candidate[name] for name in shared}
        each = [params_of(group, held) or candidate for group in np.unique(places)]
        starts.append([held[n] for n in shared] + [p[n] for p in each for n in law.params if n not in shared])
    if not starts:
        raise FitError(f"{law.name!r} can be fitted neither to one group nor to all points together")
    return np.array(starts)
