"""The cost at which a family of models reaches an error, by two methods, with draws of it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import FitError, FitWarning
from ..groups import number_groups
from ..intervals.bootstrap import case_weights
from ..selection.hulls import pareto_frontier
from ..selection.rules import drawn_selection
from .fit import FrontierFit, fit_frontier
from .interpolation import frontier_costs

__all__ = ["Costs", "FamilyRuns", "fit_family", "interpolated_costs", "law_costs"]


@dataclass(frozen=True, repr=False, eq=False)
class FamilyRuns:
    """Runs of one family.

    Attributes:
        name: of the family.
        x, y: cost and error of its runs, shape (n,).
        noise: standard deviation of each y, 0 where not given, shape (n,).
        groups: a label a run, or None.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    noise: np.ndarray
    groups: np.ndarray | None

    @property
    def num_units(self) -> int:
        """Runs, or groups of them, that are drawn again."""
        return self.x.size if self.groups is None else len(number_groups(self.groups, self.x.size)[0])

    @property
    def selected(self) -> np.ndarray:
        """Indices of the runs on the Pareto frontier, x ascending."""
        return pareto_frontier(self.x, self.y)


@dataclass(frozen=True, repr=False, eq=False)
class Costs:
    """Log cost at each target, between `low` and `high` (t,), and its draws, `draw_low` and `draw_high` (d, t).

    Both are one where a frontier or law tells the cost; else the cost is only known to lie between them.
    """

    low: np.ndarray
    high: np.ndarray
    draw_low: np.ndarray
    draw_high: np.ndarray


def interpolated_costs(runs: FamilyRuns, targets: np.ndarray, num_draws: int, rng: np.random.Generator) -> Costs:
    """On the Pareto frontier, and on those of runs drawn again with their noise."""
    everyone = np.ones((1, runs.x.size), dtype=np.int64)
    low, high = frontier_costs(runs.x, runs.y, drawn_selection(runs.x, runs.y, everyone, "pareto"), targets)
    if runs.num_units < 2:  # one unit says nothing of others
        shape = (num_draws, targets.size)
        return Costs(low[0], high[0], np.full(shape, -np.inf), np.full(shape, np.inf))
    counts = case_weights(runs.x.size, num_draws, rng, runs.groups)
    y = runs.y + runs.noise * rng.standard_normal(counts.shape)
    drawn = frontier_costs(runs.x, y, drawn_selection(runs.x, y, counts, "pareto"), targets)
    return Costs(low[0], high[0], *drawn)


def law_costs(front: FrontierFit, targets: np.ndarray, rng: np.random.Generator) -> Costs:
    """Where the law and its draws reach the targets, inf where never; a draw without a fit says nothing."""
    with np.errstate(all="ignore"):  # a steep draw overflows far below the runs, and one that never falls there is inf
        value, draws = np.log(front.solve_for_x(targets)), np.log(front.bootstrap.solve_for_x(targets))
    failed = np.full((front.bootstrap.num_failed, targets.size), np.inf)
    low = np.concatenate([draws, -failed])
    order = rng.permutation(len(low))  # so that failed draws of two families fall on any of the other's
    return Costs(value, value, low[order], np.concatenate([draws, failed])[order])


def fit_family(runs: FamilyRuns, **options: Any) -> tuple[FrontierFit | None, tuple[FitWarning, ...]]:
    """The law of its frontier, None where there is none; and what is to be warned of, with the family's name."""
    if runs.num_units < 2:
        return None, (FitWarning("no_law", f"{runs.name} has no law: it is of one group, or one run"),)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            front = fit_frontier(runs.x, runs.y, groups=runs.groups, **options)
        except FitError as error:
            return None, (FitWarning("no_law", f"{runs.name} has no law: {error}"),)
    known = {note.kind: note for note in (warning.message for warning in caught) if isinstance(note, FitWarning)}
    return front, tuple(FitWarning(kind, f"{runs.name}: {note}") for kind, note in known.items())
