"""The law on the frontier of many runs, in a time that does not grow with them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..ensemble.comparison import compare_laws
from ..errors import FitError
from ..fitting.fit import Fit
from ..fitting.fit_law import fit_law
from ..frontier import CostRatio, FrontierFit, cost_ratio, fit_frontier
from ..selection.hulls import pareto_frontier
from ..selection.usable import UsableRuns, usable_runs
from .asked import Asked, numbers_of
from .noted import Note, Notes, either, noted

__all__ = ["MOST_FITTED", "Edge", "find_edge", "sampled"]

MOST_FITTED = 20_000  # runs that a law is fitted to: a million take 80 s, and the interval of 20,000 is narrow already
_MOST_OF_GROUP = 2_000
_MOST_COMPARED = 1_000  # runs of a family in a ratio of costs, whose frontiers are drawn again a thousand times
_MOST_GROUPS = 8  # with a law of their own
_FACTOR = 10.0  # how far beyond the runs an error is told
_LAWS = ("power", "saturating_power", "shifted_power", "double_saturating_power")


@dataclass(frozen=True, eq=False)
class Edge:
    """What is known of the error at the best of each compute.

    Attributes:
        usable: the rows that a law can be fitted to, None where there are none.
        x, y: theirs, shape (n,).
        best: rows on the Pareto frontier.
        fitted: rows that the law was fitted to.
        front: the law, None where `reason` says why.
        convention: the law on the Pareto points.
        table: a row a law: all runs, the published convention, each group.
        ratio: cost of a second family over that of a first.
        laws: of `compare_laws` on the Pareto points.
        reason, ratio_reason, laws_reason: why there is none.
        notes: warnings.
        num_groups_left: groups without a law of their own.
    """

    usable: UsableRuns | None
    x: np.ndarray
    y: np.ndarray
    best: np.ndarray
    fitted: np.ndarray
    front: FrontierFit | None
    convention: Fit | None
    table: pd.DataFrame
    ratio: CostRatio | None
    laws: pd.DataFrame | None
    reason: str
    ratio_reason: str
    laws_reason: str
    notes: tuple[Note, ...]
    num_groups_left: int = 0

    @property
    def far(self) -> float:
        """The x at which an error is told: ten times the largest."""
        return _FACTOR * float(self.x.max())

    @property
    def samples(self) -> list[str]:
        """A sentence a table whose numbers are of a random sample of the runs."""
        said = []
        if self.fitted.size < self.x.size:
            said.append(f"The law of all runs is fitted to {self.fitted.size:,} of {self.x.size:,} runs")
        groups = self.table.iloc[2:]
        if len(groups) and (groups["runs"] > _MOST_OF_GROUP).any():
            said.append(f"Laws of groups are fitted to at most {_MOST_OF_GROUP:,} runs each")
        if self.ratio is not None:
            pair = groups["group"].isin([self.ratio.rival.name, self.ratio.reference.name])
            if (groups["runs"][pair] > _MOST_COMPARED).any():
                said.append(f"The ratio of costs is of at most {_MOST_COMPARED:,} runs of each of the two")
        return said


def sampled(num: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """All row numbers, or so many of them at random, ascending."""
    return np.arange(num) if num <= most else np.sort(rng.choice(num, most, replace=False))


def find_edge(frame: pd.DataFrame, asked: Asked) -> Edge:
    """Fit what can be fitted."""
    notes = Notes()
    usable, reason = notes.of("runs", lambda: usable_runs(frame, asked.x, asked.y))
    if usable is None:
        return _no_edge(reason, notes)
    x, y = numbers_of(usable.frame, asked.x), numbers_of(usable.frame, asked.y)
    best, fitted = pareto_frontier(x, y), sampled(x.size, MOST_FITTED, asked.rng)
    front, reason = notes.of("all runs", lambda: _law_of(x[fitted], y[fitted], asked))
    convention, why = notes.of("Pareto points", lambda: fit_law(asked.law, x[best], y[best]))
    far = _FACTOR * float(x.max())
    rows = [_row("all runs", x, y, fitted.size, front, reason, far, asked.level)]
    rows.append(_convention_row(x, y, best, convention, why, far))
    groups, num_left = _groups(usable.frame, asked.by)
    if len(groups) > 1 or num_left:
        for name, at in groups.items():
            some = at[sampled(at.size, _MOST_OF_GROUP, asked.rng)]
            law, why = notes.of(name, lambda some=some: _law_of(x[some], y[some], asked))
            rows.append(_row(name, x[at], y[at], some.size, law, why, far, asked.level))
    ratio, ratio_reason, found = noted("ratio of costs", lambda: _ratio(x, y, groups, asked))
    notes += [note for note in found if note.kind not in ("few_points", "under_one_decade")]
    compared = list(dict.fromkeys((asked.law, *_LAWS)))
    laws, laws_reason = notes.of("comparison of laws", lambda: compare_laws(x[best], y[best], compared))
    return Edge(
        usable, x, y, best, fitted, front, convention, pd.DataFrame(rows), ratio, laws,
        reason, ratio_reason, laws_reason, tuple(notes), num_left,
    )  # fmt: skip


def _no_edge(reason: str, notes: list[Note]) -> Edge:
    none, rows = np.empty(0), np.empty(0, dtype=np.int64)
    why = (reason, reason, reason)
    return Edge(None, none, none, rows, rows, None, None, pd.DataFrame(), None, None, *why, tuple(notes))


def _law_of(x: np.ndarray, y: np.ndarray, asked: Asked) -> FrontierFit:
    """Of all runs, and of too few for that on the Pareto points."""

    def law_of(selection: str) -> FrontierFit:
        return fit_frontier(x, y, law=asked.law, selection=selection, rng=asked.rng)

    if x.size > _MOST_OF_GROUP:
        return law_of("stochastic")
    return either(lambda: law_of("stochastic"), lambda: law_of("pareto"), "Pareto points")


def _row(
    name: str,
    x: np.ndarray,
    y: np.ndarray,
    num_fitted: int,
    front: FrontierFit | None,
    why: str,
    far: float,
    level: float,
) -> dict[str, object]:
    row: dict[str, object] = {"group": name, "runs": x.size, "best error": float(y.min()), "fitted to": num_fitted}
    if front is None:
        return {**row, "reason": why}
    kinds = ", ".join(sorted({warning.kind for warning in front.warnings}))
    for param, value in front.params.items():
        low, high = front.interval(param, level)
        row |= {param: value, f"{param} low": low, f"{param} high": high}
    _, reason, _ = noted(name, lambda: row.update(_ends("error at 10x", front, far, level)))
    return {**row, "selection": front.selection, "warnings": kinds, "reason": reason}


def _ends(name: str, front: FrontierFit, at: float, level: float) -> dict[str, float]:
    band = front.predict([at], level)
    return {name: float(band.median[0]), f"{name} low": float(band.low[0]), f"{name} high": float(band.high[0])}


def _convention_row(
    x: np.ndarray, y: np.ndarray, best: np.ndarray, fit: Fit | None, why: str, far: float
) -> dict[str, object]:
    row = {"group": "Pareto points (published convention)", "runs": x.size, "best error": float(y.min())}
    row |= {"fitted to": best.size, "reason": why}
    if fit is None:
        return row
    told, _, _ = noted("", lambda: float(fit.predict([far])[0]))
    kinds = ", ".join(sorted({warning.kind for warning in fit.warnings}))
    return {**row, **fit.params, "error at 10x": told, "selection": "pareto", "warnings": kinds}


def _groups(frame: pd.DataFrame, by: str | None) -> tuple[dict[str, np.ndarray], int]:
    """Rows of each of the largest groups, and how many groups are not among them."""
    if by is None:
        return {}, 0
    found = frame.groupby(frame[by].astype(str).where(frame[by].notna()), sort=True).indices
    named = sorted(found, key=lambda name: (-len(found[name]), name))
    return {str(name): np.asarray(found[name]) for name in named[:_MOST_GROUPS]}, max(len(named) - _MOST_GROUPS, 0)


def _ratio(x: np.ndarray, y: np.ndarray, groups: dict[str, np.ndarray], asked: Asked) -> CostRatio:
    """Of ResNets over ViTs where both are there, else of the second largest group over the largest."""
    if len(groups) < 2:
        raise FitError("there are no two families to compare")
    known = {name.lower(): name for name in groups}
    pair = [known[name] for name in ("vit", "resnet") if name in known]
    pair = pair if len(pair) == 2 else list(groups)[:2]
    rows = [groups[name][sampled(groups[name].size, _MOST_COMPARED, asked.rng)] for name in pair]
    at, labels = np.concatenate(rows), np.repeat(np.array(pair, dtype=object), [len(part) for part in rows])
    return cost_ratio(
        x[at], y[at], labels, reference=pair[0], rival=pair[1], law=asked.law, level=asked.level, rng=asked.rng
    )
