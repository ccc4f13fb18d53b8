"""Advice in words: the prediction now and then, a table of cells, and what is assumed."""

import math
import textwrap
from typing import Any

from ..words import plural
from .advice import Advice

__all__ = ["advice_text"]

_ASSUMPTIONS = """\
How: {num_draws} draws of the fit say how the law at each cell and at the target vary together. In log error a cell \
takes Cov(target, cell)^2 / (Var(cell) + noise^2) off the variance of the prediction, each after those before it \
(Bayesian c-optimal design, Chaloner and Verdinelli 1995); `variance` is that share of the present one, of all \
runs of a row; --json has them one by one.
Assumed: the law is right, also at the target; a cell falls on {falls}, with noise of {noise:.1%}, \
the root mean square of the runs' log errors about it; it costs what it would alone, though branches of a trunk share \
steps."""
_SEEDS = "Runs of one row are that cell once and again with other seeds."
_FALLS = {"all": "the law", "frontier": "the frontier, whatever its shape"}
_WIDTH = 80
_TOLD_IF_DIFFERENT = ("recipe", "lr", "seed")


def advice_text(advice: Advice) -> str:
    """The prediction now and then, a table, the assumptions and the warnings of the fit."""
    head = [_head(advice), _prediction(advice)]
    notes = [_wrapped(f"warning: {line}") for line in advice.warnings()]
    if advice.note:
        return "\n".join([*head, _wrapped(advice.note), *notes])
    falls = _FALLS["all" if advice.present.selection == "all" else "frontier"]
    num_draws = len(advice.present.draws.theta)
    basis = _ASSUMPTIONS.format(num_draws=num_draws, falls=falls, noise=advice.present.noise_std)
    picked = [pick.cell for pick in advice.suggestions.picks]
    seeds = [_SEEDS] if len(set(picked)) < len(picked) else []
    told = [_wrapped(line) for line in (*seeds, *basis.splitlines())]
    return "\n".join([*head, "", *_picked(advice), "", *told, *notes])


def _head(advice: Advice) -> str:
    at, asked = advice.present.x, advice.question
    rule = "" if advice.present.selection == "all" else f", {advice.present.selection}"
    return _wrapped(f"{advice.name}: {asked.law} of {at.size} runs{rule}, {asked.x} {at.min():.2e} to {at.max():.2e}")


def _prediction(advice: Advice) -> str:
    found = advice.suggestions
    beyond = math.log10(found.target / advice.present.x.max())
    where = f", {beyond:.1f} decades above the runs" if beyond > 0 else ""
    lines = [f"{advice.question.y} at {found.target:.2e}{where}"]
    lines += [f"  now       {found.value:.4g}, {found.level:.0%} interval {found.low:.4g} to {found.high:.4g}"]
    if found.picks:
        last = found.picks[-1]
        lines += [
            f"  expected  {last.low:.4g} to {last.high:.4g}, {found.width_left:.2f} of the width in log error",
            f"  after     {plural(len(found.picks), 'run')} of {found.flops:.2e} FLOPs (budget {advice.budget:.2e})",
        ]
    return "\n".join(lines)


def _picked(advice: Advice) -> list[str]:
    """A row a cell that is picked; a recipe, rate or seed that all candidates have is left out."""
    found: dict[int, dict[str, Any]] = {}
    for pick in advice.suggestions.picks:
        row = found.setdefault(pick.cell, {"runs": 0, "flops": 0.0, "reduction": 0.0})
        row["runs"] += 1
        row["flops"] += pick.flops
        row["reduction"] += pick.reduction
    names = [name for name in advice.cells[0].columns if _is_told(advice, name)]
    return _table(
        [{"runs": row["runs"]} | {n: advice.cells[cell].columns[n] for n in names} | row
         for cell, row in found.items()]
    )  # fmt: skip


def _is_told(advice: Advice, name: str) -> bool:
    if name not in _TOLD_IF_DIFFERENT:
        return name != "run_id"
    return len({cell.columns[name] for cell in advice.cells}) > 1


def _wrapped(line: str) -> str:
    return textwrap.fill(line, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


_NUMBERS = {"flops": ("FLOPs", ".2e"), "reduction": ("variance", ".1%")}


def _table(rows: list[dict[str, Any]]) -> list[str]:
    """Columns aligned to the right."""
    lines = [[_NUMBERS.get(name, (name,))[0] for name in rows[0]]]
    lines += [[format(value, _NUMBERS[name][1]) if name in _NUMBERS else str(value) for name, value in row.items()]
              for row in rows]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in lines]
