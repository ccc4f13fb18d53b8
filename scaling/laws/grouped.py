"""One law for several groups of points, with some parameters in common."""

from typing import Any

import numpy as np

from .base import GROUP, Law

__all__ = ["grouped_law"]


def grouped_law(base: Law, num_groups: int, shared: tuple[str, ...]) -> Law:
    """The law of x with a second column, the group's number from 1; own parameters are named `b[2]`.

    In `params` the shared ones come first, then those of each group.
    """
    own = [name for name in base.params if name not in shared]
    names = (*shared, *(f"{name}[{g}]" for g in range(1, num_groups + 1) for name in own))
    places = np.array([_places(base, names, shared, g) for g in range(1, num_groups + 1)])

    def value(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        out = np.empty((*theta.shape[:-1], len(x)))
        for g, member in _members(x):
            out[..., member] = base.value(theta[..., places[g]], x[member, 0])
        return out

    def jacobian(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        out = np.zeros((*theta.shape[:-1], len(x), len(names)))
        for g, member in _members(x):
            part = base.jacobian(theta[..., places[g]], x[member, 0])
            out[..., member[:, None], places[g]] = part
        return out

    def in_units(theta: np.ndarray, x_unit: Any, y_unit: float) -> np.ndarray:
        out = np.empty_like(theta)
        for place in places:
            out[..., place] = base.in_units(theta[..., place], np.ravel(x_unit)[0], y_unit)
        return out

    def inverse(theta: np.ndarray, y: np.ndarray) -> np.ndarray:
        raise ValueError("solve_for_x of a grouped fit needs the group: use GroupedFit.solve_for_x(y, group)")

    def everywhere(which: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if name.split("[")[0] in which)

    of_base = [base.index(name.split("[")[0]) for name in names]
    return Law(
        base.name, base.formula, base.source, names,
        lower=tuple(base.lower[i] for i in of_base), upper=tuple(base.upper[i] for i in of_base),
        value=value, jacobian=jacobian, inverse=inverse, in_units=in_units,
        grid=None, basis=None, linear=(), nonlinear=base.nonlinear * num_groups,
        mixed=everywhere(base.mixed), rate=everywhere((base.rate,))[0], span=base.span,
        increasing=base.increasing, inputs=("x", GROUP), in_log=everywhere(base.in_log), link=base.link,
        maker=(_remake, (base.name, num_groups, shared)),
    )  # fmt: skip


def _places(base: Law, names: tuple[str, ...], shared: tuple[str, ...], g: int) -> list[int]:
    return [names.index(name if name in shared else f"{name}[{g}]") for name in base.params]


def _members(x: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Place in the table of groups, and the rows that belong to it."""
    numbers = np.rint(x[:, 1]).astype(int)
    return [(int(g) - 1, np.flatnonzero(numbers == g)) for g in np.unique(numbers)]


def _remake(name: str, num_groups: int, shared: tuple[str, ...]) -> Law:
    from . import find_law

    return grouped_law(find_law(name), num_groups, shared)
