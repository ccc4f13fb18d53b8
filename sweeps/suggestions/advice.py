"""What `sweeps suggest` finds for each group of runs: the prediction now, and the cells to train next."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from scaling import FitError

from .candidates import Cell, grid_cells
from .present_fit import PresentFit, fit_present
from .suggest import Suggestions, suggest

__all__ = ["Advice", "Question", "advise_groups"]

COMPUTE = "compute_flops"

_FEWER = "; --select all fits a law to fewer runs"
# From `tests/benchmarks/suggest_simulation.py`: the width after cells chosen so over that after a plain grid of the
# same compute, the median of simulated worlds for up to 20 cells.
_NO_BETTER = {
    "stochastic": "no narrower (0.93 to 1.02 of its width)",
    "pareto": "wider (1.15 to 1.23 times its width)",
    "convex_hull": "as of pareto points, which were simulated, wider (1.15 to 1.23 times its width)",
}
_NO_GAIN = (
    "on a frontier these cells are no better than a plain grid: in simulated worlds the interval after them was"
    " {} than after a grid of the same compute. They are where --select all fits, of runs that are each tuned"
    " (0.65 to 0.91)"
)
_WIDE = 1.0  # in log error, a factor of e: beyond it the draws are far from normal


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes:
        target: the x whose prediction is to become narrower.
        x, y, law, selection: columns, name of the law, and which runs it is fitted to, of `SELECTIONS`.
        budget: FLOPs of all picks together; None: as many as the runs took.
        max_flops: of one cell; None: the budget.
        count: the most picks.
        level: of the intervals.
        seed: of the draws.
    """

    target: float
    x: str
    y: str
    law: str = "saturating_power"
    selection: str = "stochastic"
    budget: float | None = None
    max_flops: float | None = None
    count: int = 20
    level: float = 0.95
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Advice:
    """Suggestions for one law.

    Attributes:
        name: of the group of runs.
        question: what was asked.
        cells: the candidates, to whose rows the picks point.
        budget: FLOPs of all picks together.
        note: why there is no pick, else "".
    """

    name: str
    question: Question
    present: PresentFit
    suggestions: Suggestions
    cells: Sequence[Cell]
    budget: float
    note: str

    def rows(self) -> list[dict[str, Any]]:
        """A row a pick, as plain values."""
        rows, spent, seen = [], 0.0, set()
        for rank, pick in enumerate(self.suggestions.picks, start=1):
            spent += pick.flops
            cell, is_again = self.cells[pick.cell], pick.cell in seen
            seen.add(pick.cell)
            numbers = {
                "flops": pick.flops, "cumulative_flops": spent, "low": pick.low, "high": pick.high,
                "reduction": pick.reduction, "reduction_per_flop": pick.reduction_per_flop,
            }  # fmt: skip
            rows.append({"rank": rank, **cell.columns, "another_seed": is_again, **numbers})
        return rows

    def to_dict(self) -> dict[str, Any]:
        """For JSON; an open end of an interval is null."""
        found = self.suggestions
        now = {name: _finite(getattr(found, name)) for name in ("target", "value", "low", "high", "level")}
        rows = [{name: _finite(value) for name, value in row.items()} for row in self.rows()]
        asked = {name: getattr(self.question, name) for name in ("x", "y", "law", "selection", "seed")}
        known = {"num_runs": self.present.x.size, "noise_std": self.present.noise_std, "budget": self.budget}
        notes = {"note": self.note, "warnings": self.warnings()}
        return {"group": self.name} | asked | known | now | {"width_left": found.width_left, "cells": rows} | notes

    def warnings(self) -> list[str]:
        """Of the fit, and of what the choice is worth."""
        found = [str(warning) for warning in self.present.warnings]
        if self.present.selection in _NO_BETTER and self.suggestions.picks:
            found.insert(0, _NO_GAIN.format(_NO_BETTER[self.present.selection]))
        if np.log(self.suggestions.high / self.suggestions.low) > _WIDE:
            found.append("the interval now is so wide that what is expected of it is a guess: train a few, ask again")
        return found


def advise_groups(
    runs: pd.DataFrame, question: Question, cells: Sequence[Cell] | None, by: str | None
) -> tuple[list[Advice], dict[str, str]]:
    """Advice for each group of runs that has a law, and for each other one why not.

    Args:
        runs: that a law can be fitted to.
        question: what is asked.
        cells: the candidates; None: computes on a grid, from the least of the runs.
        by: column of the groups' names, of which each has a law of its own; None: one law.

    Raises:
        ValueError: no group has a law, or an argument is wrong.
    """
    if cells is None and question.x != COMPUTE:
        raise ValueError(
            f"--x must be {COMPUTE} without --spec, since a cell of a grid costs its x, got {question.x!r}"
        )
    advice, reasons = [], {}
    for name, group in _groups(runs, by, cells is not None).items():
        own = cells if by is None or cells is None else [cell for cell in cells if cell.family == name]
        try:
            advice.append(_advise(name, group, question, own))
        except FitError as error:
            reasons[name] = str(error) + ("" if question.selection == "all" else _FEWER)
    if not advice:
        raise FitError("no law: " + "; ".join(f"{name}: {reason}" for name, reason in reasons.items()))
    return advice, reasons


def _groups(runs: pd.DataFrame, by: str | None, has_spec: bool) -> dict[str, pd.DataFrame]:
    if by is None:
        return {"all runs": runs}
    if by not in runs or runs[by].isna().any():
        raise ValueError(f"--by must be a column that all runs have, got {by!r}")
    if has_spec and by != "model_family":
        raise ValueError(f"--by must be model_family where --spec gives the cells, got {by!r}")
    return {str(name): group for name, group in runs.groupby(by, sort=True)}


def _advise(name: str, runs: pd.DataFrame, question: Question, cells: Sequence[Cell] | None) -> Advice:
    asked = question
    present = fit_present(runs, asked.x, asked.y, law=asked.law, selection=asked.selection, seed=asked.seed)
    budget = asked.budget or _spent(runs)
    most, least = asked.max_flops or budget, float(present.x.min())
    cells = grid_cells(least, most) if cells is None else cells
    cells = [cell for cell in cells if cell.x >= least and cell.flops <= most]
    at, flops = (np.array([getattr(cell, field) for cell in cells], dtype=float) for field in ("x", "flops"))
    options = {"noise_std": present.noise_at(at), "budget": budget, "count": asked.count, "level": asked.level}
    found = suggest(present.draws, asked.target, at, flops, **options)
    if not np.isfinite([found.low, found.high]).all() or found.low <= 0:
        raise FitError(f"the fit leaves {asked.y} at {asked.target:.3g} open: from {found.low:.3g} to {found.high:.3g}")
    return Advice(name, asked, present, found, tuple(cells), budget, "" if found.picks else _why_none(flops, budget))


def _spent(runs: pd.DataFrame) -> float:
    spent = float(runs[COMPUTE].sum()) if COMPUTE in runs else 0.0
    if not spent > 0:
        raise ValueError(f"--budget is needed: the records have no {COMPUTE}, of which it is the sum unless given")
    return spent


def _why_none(flops: np.ndarray, budget: float) -> str:
    if not flops.size:
        return "there is no cell to suggest: the records hold them all, or they lie outside the limits"
    if flops.min() > budget:
        return f"there is no cell to suggest: the cheapest takes {flops.min():.2e} FLOPs, the budget is {budget:.2e}"
    return "there is no cell to suggest: none would narrow the interval by a thousandth"


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
