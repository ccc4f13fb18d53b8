"""The cost of one family of models over that of another at equal error: the result, its text, its contradictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import FitWarning, warning_lines
from ..notebook_view import NotebookView
from .family_costs import FamilyRuns
from .fit import FrontierFit

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CostRatio"]


@dataclass(frozen=True, repr=False, eq=False)
class CostRatio(NotebookView):
    """The cost of a rival family over that of a reference at equal error. Made by `cost_ratio`.

    Attributes:
        reference, rival: runs of the two families.
        reference_law, rival_law: from `fit_frontier`, or None where a family has none.
        table: a row a target and method: `target_error`, `method` ("interpolation" or "law"), `reference_cost`,
            `rival_cost`, `ratio`, `low`, `high`, and `extrapolated`: whether a cost lies beyond the family's runs.
        left_out: a row a target and method without a ratio: `target_error`, `method`, `reason`.
        level: of the intervals.
        warnings: what a reader must know of the two laws, by family.
        families: all labels of the runs, sorted, also of those that are not compared.
    """

    reference: FamilyRuns
    rival: FamilyRuns
    reference_law: FrontierFit | None
    rival_law: FrontierFit | None
    table: pd.DataFrame
    left_out: pd.DataFrame
    level: float
    warnings: tuple[FitWarning, ...] = ()
    families: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.summary()

    @property
    def contradictions(self) -> list[str]:
        """Where the intervals of the two methods do not overlap, or the law's excludes its own ratio."""
        found: list[str] = []
        others: dict[Any, Any] = {}
        for row in self.table[self.table["method"] == "interpolation"].itertuples():
            others[row.target_error] = row
        laws: Any = self.table[self.table["method"] == "law"].itertuples()
        for row in laws:
            at, other = f"at {row.target_error:.4g}", others.get(row.target_error)
            if not row.low <= row.ratio <= row.high:
                found.append(f"{at} the law's interval {_ends(row)} excludes its own ratio {row.ratio:.3g}")
            if other is not None and (other.low > row.high or other.high < row.low):
                both = f"interpolation {_ends(other)} and law {_ends(row)}"
                found.append(f"{at} the methods disagree: {both} do not overlap")
        return found

    def summary(self) -> str:
        """Both methods side by side, a line a target, and what was left out."""
        head = (
            f"cost of {self.rival.name} over that of {self.reference.name} at equal error, {self.level:.0%} intervals"
        )
        lines = [head, f"{'error':>8}  {'by interpolation':28}  by law"]
        for target, rows in self.table.groupby("target_error", sort=False):
            found = {row.method: _cell(row) for row in rows.itertuples()}
            lines.append(f"{target:>8.4g}  {found.get('interpolation', '-'):28}  {found.get('law', '-')}")
        if self.table["extrapolated"].any():
            lines.append("  * beyond the runs of a family")
        families = [f"{runs.selected.size} of {runs.x.size} {runs.name}" for runs in (self.reference, self.rival)]
        lines.append(f"  runs on the frontier: {', '.join(families)}")
        lines += [f"  note: {note}" for note in self.contradictions]
        for row in self.left_out.itertuples():
            lines.append(f"  left out ({row.method}) {row.target_error:.4g}: {row.reason}")
        return "\n".join([*lines, *warning_lines(self.warnings)])


def _cell(row: Any) -> str:
    return f"{row.ratio:.3g} {_ends(row)}{'*' if row.extrapolated else ''}"


def _ends(row: Any) -> str:
    return f"[{row.low:.3g}, {row.high:.3g}]"
