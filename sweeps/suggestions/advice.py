"""What `sweeps suggest` says of a group of runs: the prediction now, the cells to train next, and what is assumed."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from scaling import FitError

from .candidates import Cell, grid_cells
from .present_fit import PresentFit, fit_present
from .suggest import Suggestions, suggest

__all__ = ["ASSUMPTIONS", "Advice", "Question", "advise_groups"]

COMPUTE = "compute_flops"

ASSUMPTIONS = """\
How: {num_draws} draws of the fit say how the law at each cell and at the target vary together. In log error a cell \
takes Cov(target, cell)^2 / (Var(cell) + noise^2) off the variance of the prediction, each after those before it \
(Bayesian c-optimal design, Chaloner and Verdinelli 1995); `variance` is that share of the present one, of all \
runs (seeds) of a row; --json has them one by one.
Assumed: the law is right, also at the target; a cell falls on {falls}, with noise of {noise:.1%}, \
the root mean square of the runs' log errors about it; it costs what it would alone, though branches of a trunk share \
steps."""
_FALLS = {"all": "the law", "frontier": "the frontier, whatever its shape"}
_WIDTH = 80
_TOLD_IF_DIFFERENT = ("recipe", "lr", "seed")
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
        notes = {"note": self.note, "warnings": self._warnings()}
        return {"group": self.name} | asked | known | now | {"width_left": found.width_left, "cells": rows} | notes

    def text(self) -> str:
        """The prediction now and then, a table, the assumptions and the warnings of the fit."""
        head = [self._head(), self._prediction()]
        notes = [_wrapped(f"warning: {line}") for line in self._warnings()]
        if self.note:
            return "\n".join([*head, _wrapped(self.note), *notes])
        falls = _FALLS["all" if self.present.selection == "all" else "frontier"]
        num_draws = len(self.present.draws.theta)
        basis = ASSUMPTIONS.format(num_draws=num_draws, falls=falls, noise=self.present.noise_std)
        told = [_wrapped(line) for line in basis.splitlines()]
        return "\n".join([*head, "", *self._picked(), "", *told, *notes])

    def _head(self) -> str:
        at, asked = self.present.x, self.question
        rule = "" if self.present.selection == "all" else f", {self.present.selection}"
        lines = f"{self.name}: {asked.law} of {at.size} runs{rule}, {asked.x} {at.min():.2e} to {at.max():.2e}"
        return _wrapped(lines)

    def _prediction(self) -> str:
        found = self.suggestions
        beyond = math.log10(found.target / self.present.x.max())
        where = f", {beyond:.1f} decades above the runs" if beyond > 0 else ""
        lines = [f"{self.question.y} at {found.target:.2e}{where}"]
        lines += [f"  now       {found.value:.4g}, {found.level:.0%} interval {found.low:.4g} to {found.high:.4g}"]
        if found.picks:
            last, num = found.picks[-1], len(found.picks)
            lines += [
                f"  expected  {last.low:.4g} to {last.high:.4g}, {found.width_left:.2f} of the width in log error",
                f"  after     {num} cell{'s' * (num > 1)} of {found.flops:.2e} FLOPs (budget {self.budget:.2e})",
            ]
        return "\n".join(lines)

    def _picked(self) -> list[str]:
        """A row a cell that is picked; a recipe, rate or seed that all candidates have is left out."""
        found: dict[int, dict[str, Any]] = {}
        for pick in self.suggestions.picks:
            row = found.setdefault(pick.cell, {"runs": 0, "flops": 0.0, "reduction": 0.0})
            row["runs"] += 1
            row["flops"] += pick.flops
            row["reduction"] += pick.reduction
        names = [name for name in self.cells[0].columns if self._is_told(name)]
        return _table(
            [{"runs": row["runs"]} | {n: self.cells[cell].columns[n] for n in names} | row
             for cell, row in found.items()]
        )  # fmt: skip

    def _is_told(self, name: str) -> bool:
        if name not in _TOLD_IF_DIFFERENT:
            return name != "run_id"
        return len({cell.columns[name] for cell in self.cells}) > 1

    def _warnings(self) -> list[str]:
        found = [str(warning) for warning in self.present.warnings]
        if self.present.selection in _NO_BETTER and self.suggestions.picks:
            found.insert(0, _NO_GAIN.format(_NO_BETTER[self.present.selection]))
        if np.log(self.suggestions.high / self.suggestions.low) > _WIDE:
            found.append("the interval now is so wide that what is expected of it is a guess: train a few, ask again")
        return found


def _wrapped(line: str) -> str:
    return textwrap.fill(line, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


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


_NUMBERS = {"flops": ("FLOPs", ".2e"), "reduction": ("variance", ".1%")}


def _table(rows: list[dict[str, Any]]) -> list[str]:
    """Columns aligned to the right."""
    lines = [[_NUMBERS.get(name, (name,))[0] for name in rows[0]]]
    lines += [[format(value, _NUMBERS[name][1]) if name in _NUMBERS else str(value) for name, value in row.items()]
              for row in rows]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in lines]


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
