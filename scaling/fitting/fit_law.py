"""Fit a law to points, from no starting values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from numpy.typing import ArrayLike

from ..errors import issue
from ..laws import Law, find_law
from .fit import Fit
from .identification import check_range, find_warnings
from .objective import Objective
from .objectives import find_objective
from .points import Points, check_points, pose
from .problem import Problem
from .search import Minimum, minimise

if TYPE_CHECKING:
    from .grouped import GroupedFit

__all__ = ["finished", "fit_law", "fit_points", "objective_of", "quiet_fit"]

_Bounds = Mapping[str, tuple[float, float]]


@overload
def fit_law(
    law: str | Law, x: ArrayLike, y: ArrayLike, *, objective: str | None = None, delta: float | None = None,
    y_std: ArrayLike | None = None, counts: ArrayLike | None = None, num_eval: ArrayLike | None = None,
    bounds: _Bounds | None = None, fixed: Mapping[str, float] | None = None, groups: None = None,
    shared: Sequence[str] = (),
) -> Fit: ...  # fmt: skip
@overload
def fit_law(
    law: str | Law, x: ArrayLike, y: ArrayLike, *, objective: str | None = None, delta: float | None = None,
    y_std: ArrayLike | None = None, counts: ArrayLike | None = None, num_eval: ArrayLike | None = None,
    bounds: _Bounds | None = None, fixed: Mapping[str, float] | None = None, groups: ArrayLike,
    shared: Sequence[str] = (),
) -> GroupedFit: ...  # fmt: skip
def fit_law(
    law: str | Law,
    x: ArrayLike,
    y: ArrayLike,
    *,
    objective: str | None = None,
    delta: float | None = None,
    y_std: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    num_eval: ArrayLike | None = None,
    bounds: _Bounds | None = None,
    fixed: Mapping[str, float] | None = None,
    groups: ArrayLike | None = None,
    shared: Sequence[str] = (),
) -> Fit | GroupedFit:
    """Fit a law to points: the global optimum, from no starting values, in any units.

    Args:
        law: a name in `scaling.LAWS`, or "broken_power_2" to "broken_power_9" for as many breaks.
        x: positive values, shape (n,), e.g. training compute in FLOPs; (n, 2) for "additive"; accuracies for a line.
        y: shape (n,): an error, a loss; positive for a log objective.
        objective: "log_least_squares" (default), "least_squares", "log_huber", "huber", "binomial"; the lines take
            "least_squares" (default) and "huber", on the transformed accuracies.
        delta: threshold of a Huber objective, in units of its residual (default 1e-3).
        y_std: standard deviation of each y, in units of y, up to a common factor; shape (n,).
        counts: how often each point counts, as if its row stood there as often; shape (n,).
        num_eval: for "binomial": images that each error rate was taken on; shape (n,) or one number.
        bounds: (lower, upper) for parameters by name, in the user's units, instead of the law's own.
        fixed: values of parameters that are known, by name.
        groups, shared: a label a point, and the parameters that all groups have in common: one fit of them all, a
            `GroupedFit`.

    Raises:
        ValueError: bad input: which argument, which rows, what is valid.
        FitError: the data cannot determine the law (fewer points than parameters, all x or all y equal).

    Warns:
        FitWarning: `at_bound`, `not_identified`, `under_one_decade`, `ridge`, `few_points`, `repeated_optimum`; also
            in `fit.warnings`.

    Source: variable projection (Golub and Pereyra 1973) on a scan, then Gauss-Newton.

    >>> fit = fit_law("saturating_power", [1e18, 1e19, 1e20, 1e21], [0.6, 0.381, 0.258, 0.189])
    >>> {name: round(value, 2) for name, value in fit.params.items() if name != "a"}
    {'b': 0.25, 'c': 0.1}
    """
    for name, values in (("bounds", bounds), ("fixed", fixed)):
        if not isinstance(values, Mapping | None):
            raise ValueError(f"{name} must be a dict by the names of parameters, got {values!r}")
    options: dict[str, Any] = {"objective": objective, "delta": delta, "bounds": bounds or {}, "fixed": fixed or {}}
    per_point = {"y_std": y_std, "counts": counts, "num_eval": num_eval}
    if groups is not None:
        from .grouped import fit_groups

        shared = (shared,) if isinstance(shared, str) else tuple(dict.fromkeys(shared))
        return fit_groups(find_law(law), x, y, groups, shared, per_point, options)
    if shared:
        raise ValueError(f"shared={list(shared)} needs groups=, a label a point")
    fit = fit_points(find_law(law), x, y, per_point, options)
    issue(*fit.warnings)
    return fit


def fit_points(law: Law, x: ArrayLike, y: ArrayLike, per_point: Mapping[str, Any], options: Mapping[str, Any]) -> Fit:
    """`fit_law` without its warnings said aloud: they are in the fit."""
    fixed: Mapping[str, float] = options["fixed"]
    rule = objective_of(law, options)
    points = check_points(law, rule, x, y, per_point, len(fixed))
    problem, x_unit, y_unit = pose(law, rule, points, options["bounds"], fixed)
    return finished(problem, points, x_unit, y_unit, minimise(problem), fixed)


def quiet_fit(law: Law, x: ArrayLike, y: ArrayLike, objective: str | None = None) -> Fit:
    """`fit_points` of equal points and the law's own bounds."""
    return fit_points(law, x, y, {}, {"objective": objective, "delta": None, "bounds": {}, "fixed": {}})


def objective_of(law: Law, options: Mapping[str, Any]) -> Objective:
    """The one asked for, or the law's default."""
    default = "log_least_squares" if law.link is None else "least_squares"
    return find_objective(default if options["objective"] is None else options["objective"], options["delta"])


def finished(
    problem: Problem, points: Points, x_unit: Any, y_unit: float, minimum: Minimum, fixed: Mapping[str, float]
) -> Fit:
    """The fit at a minimum, with its warnings; a FitError where its parameters cannot be said."""
    fit = Fit(problem, minimum.theta, points.x, points.y, x_unit, y_unit, minimum.value)
    check_range(fit)
    return replace(fit, warnings=find_warnings(fit, fixed, minimum))
