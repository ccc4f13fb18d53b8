"""`scaling fit`: a law on chosen points, with what it predicts."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from ..attempt import attempt
from ..errors import issue
from ..fitting.fit import Fit
from ..fitting.fit_law import fit_law
from ..fitting.grouped import GroupLaw
from ..frames import column_of
from ..laws import Law
from ..plain import plain
from ..selection.rules import check_selection, select
from ..selection.usable import UsableRuns, usable_runs
from .answer import Answer, draw_groups
from .base import Asked, groups_of, kind_lines, takes, warnings_of
from .fitted import INTERVALS, FittedLaw, fitted_law, never_reached
from .values import check_targets, named_law, named_numbers, named_ranges, numbers

__all__ = ["fit"]

_DRAWN = 10  # times the largest x, as far as a figure goes unless a prediction is asked beyond
_LAST = ("warnings", "reason")  # columns
_Found = tuple[dict[str, FittedLaw], list[dict[str, Any]], dict[str, Any]]
_FixOption = typer.Option(help="A parameter that is known: c=0.05.")
_BoundOption = typer.Option(help="Ends of a parameter: c=0:0.2.")
_SharedOption = typer.Option(help="With --by: a parameter that all groups have in common.")
_AtOption = typer.Option(help="Predict at this x, with intervals; with --x2 N,D.")
_TargetOption = typer.Option(help="Where the law reaches this error; inf: never.")


@dataclass(frozen=True, kw_only=True)
class FitAsked(Asked):
    """The options of `scaling fit`."""

    goes_with = Asked.goes_with | {"draws": ("interval", "target")}

    law: Annotated[str, typer.Option(help="The law's name.")] = "saturating_power"
    x2: Annotated[str | None, typer.Option(help="Second column of x, of the law additive.")] = None
    select: Annotated[str, typer.Option(help="Runs to fit: all, pareto or convex_hull.")] = "all"
    objective: Annotated[str | None, typer.Option(help="What is minimised; default log_least_squares.")] = None
    delta: Annotated[float | None, typer.Option(help="Threshold of a Huber objective.")] = None
    fix: Annotated[list[str], _FixOption] = field(default_factory=list)
    bound: Annotated[list[str], _BoundOption] = field(default_factory=list)
    shared: Annotated[list[str], _SharedOption] = field(default_factory=list)
    interval: Annotated[str, typer.Option(help=f"Of the parameters: {', '.join(INTERVALS)}.")] = "delta"
    at: Annotated[list[str], _AtOption] = field(default_factory=list)
    target: Annotated[list[float], _TargetOption] = field(default_factory=list)
    y_std: Annotated[str | None, typer.Option(help="Column of y's standard deviations.")] = None
    num_eval: Annotated[str | None, typer.Option(help="Column of the images of each error; for binomial.")] = None
    counts: Annotated[str | None, typer.Option(help="Column of how often each row counts.")] = None
    draws: Annotated[int, typer.Option(min=1, help="Of a bootstrap.")] = 2000

    @property
    def chosen_law(self) -> Law:
        law = named_law(self.law)
        if (law.num_inputs == 2) != (self.x2 is not None):
            need = "has two inputs: name the second with --x2" if law.num_inputs == 2 else "has one input, no --x2"
            raise ValueError(f"the law {law.name} {need}")
        return law

    @property
    def x_label(self) -> str:
        return self.x if self.x2 is None else f"{self.x} and {self.x2}"

    def points(self) -> UsableRuns:
        """Rows with a usable y and x, or both x."""
        usable = self.usable()
        if self.x2 is None:
            return usable
        second = usable_runs(usable.frame, self.x2, self.error_column)
        return UsableRuns(second.frame, usable.num_left_out | second.num_left_out)

    def x_of(self, runs: pd.DataFrame) -> np.ndarray:
        """Shape (n,), or (n, 2) of a law of two inputs."""
        first = column_of(runs, self.x)
        return first if self.x2 is None else np.column_stack([first, column_of(runs, self.x2)])

    def options(self, runs: pd.DataFrame) -> dict[str, Any]:
        """Of `fit_law`, with the columns of these runs."""
        columns = {"y_std": self.y_std, "num_eval": self.num_eval, "counts": self.counts}
        return {
            "objective": self.objective,
            "delta": self.delta,
            "fixed": named_numbers("--fix", self.fix),
            "bounds": named_ranges("--bound", self.bound),
            **{name: None if column is None else column_of(runs, column) for name, column in columns.items()},
        }


@takes(FitAsked)
def fit(asked: FitAsked) -> Answer:
    """Fit a law to runs, all or those of each group; predict with it."""
    law = asked.chosen_law
    _check(asked, law)
    at = numbers("--at", asked.at, law.num_inputs)
    if np.any(np.asarray(at) <= 0) or np.any(np.isinf(at)):
        raise ValueError(f"--at must be positive and finite, got {', '.join(asked.at)}")
    usable = asked.points()
    check_targets(asked.target, usable.frame[asked.error_column])
    groups = {name: _selected(asked, runs) for name, runs in groups_of(usable.frame, asked.by).items()}
    fits, rows, written = (_joint if asked.shared else _each)(asked, law, groups)
    predictions = []
    for name, each in fits.items():
        with warnings_of(name if asked.by else None):
            found = (*each.predictions(at), *each.targets(asked.target))
            predictions += [{"group": name, **row} for row in found]
    return Answer(
        _table(asked, rows, ["num_points", *(name + end for name in law.params for end in ("", "_low", "_high"))]),
        title=f"{law.name}: {law.formula}; {asked.error_column} against {asked.x_label}",
        notes=[*_notes(asked, usable, groups), *(kind_lines(row["warnings"] for row in rows) if asked.by else ())],
        values=_values(asked, law, usable, groups) | {"fits": written},
        predictions=_table(asked, predictions, []) if predictions else None,
        draw=draw_groups({name: lambda ax, each=each: _draw(asked, each, ax) for name, each in fits.items()}),
        no=not fits or never_reached(predictions, asked.x),
    )  # fmt: skip


def _check(asked: FitAsked, law: Law) -> None:
    """What can be told before anything is read."""
    check_selection(asked.select)
    if asked.select != "all" and (law.increasing or law.num_inputs != 1):
        raise ValueError(f"--select {asked.select} goes with a law that falls with one x, got {law.name}")
    if asked.interval not in INTERVALS:
        raise ValueError(f"--interval must be one of {', '.join(INTERVALS)}, got {asked.interval!r}")
    if asked.shared and asked.by is None:
        raise ValueError("--shared needs --by, the column of the groups")
    if asked.shared and asked.interval != "delta":
        raise ValueError(f"--shared has intervals of the delta method only, got --interval {asked.interval}")
    if asked.target and law.num_inputs != 1:
        raise ValueError(f"--target needs a law of one input, got {law.name}")
    if asked.figure and (law.num_inputs > 1 or law.link is not None):
        raise ValueError(f"--figure draws laws of one positive variable, got {law.name}")
    for name in (*asked.shared, *named_numbers("--fix", asked.fix), *named_ranges("--bound", asked.bound)):
        law.index(name)


def _selected(asked: FitAsked, runs: pd.DataFrame) -> pd.DataFrame:
    if asked.select == "all":
        return runs
    return runs.iloc[select(column_of(runs, asked.x), column_of(runs, asked.error_column), asked.select)]


def _each(asked: FitAsked, law: Law, groups: dict[str, pd.DataFrame]) -> _Found:
    """A fit a group, a row each, also of those that have none, and the fits as plain values."""
    fits, rows, written = {}, [], {}
    for name, runs in groups.items():
        y, options = column_of(runs, asked.error_column), asked.options(runs)

        def fitted(runs: pd.DataFrame = runs, y: np.ndarray = y, options: dict[str, Any] = options) -> FittedLaw:
            return _with_intervals(asked, fit_law(law, asked.x_of(runs), y, **options), runs)

        found, kinds, reason = attempt(fitted)
        columns: dict[str, Any] = {}
        if found is not None:
            fits[name], columns = found, found.columns()
            if asked.by is None:  # of groups the table has the kinds
                issue(*found.fit.warnings, *(found.draws.warnings if found.draws else ()))
            written[name] = plain(found.fit, asked.level)
        rows.append({"group": name, "num_points": len(runs), **columns, "warnings": kinds, "reason": reason})
    return fits, rows, written


def _joint(asked: FitAsked, law: Law, groups: dict[str, pd.DataFrame]) -> _Found:
    """One fit of all groups, a row a group."""
    runs = pd.concat(groups.values(), ignore_index=True)
    labels = np.repeat(np.array(list(groups), dtype=object), [len(group) for group in groups.values()])
    y, options = column_of(runs, asked.error_column), asked.options(runs)
    whole, kinds, reason = attempt(
        lambda: fit_law(law, asked.x_of(runs), y, groups=labels, shared=asked.shared, **options)
    )  # fmt: skip
    fits = {} if whole is None else {
        name: _with_intervals(asked, whole.of_group(name), group) for name, group in groups.items()
    }  # fmt: skip
    rows = [
        {"group": name, "num_points": len(group), **(fits[name].columns() if fits else {}), "warnings": kinds,
         "reason": reason}
        for name, group in groups.items()
    ]  # fmt: skip
    return fits, rows, {} if whole is None else {"joint": plain(whole, asked.level)}


def _with_intervals(asked: FitAsked, result: Fit | GroupLaw, runs: pd.DataFrame) -> FittedLaw:
    return fitted_law(result, asked.interval, asked.level, asked.draws, asked.rng, runs, asked.x, asked.error_column)


def _table(asked: FitAsked, rows: list[dict[str, Any]], first: list[str]) -> pd.DataFrame:
    """Rows with the same columns in one order, whatever could be fitted; the group's only where there are groups."""
    names = list(dict.fromkeys([*first, *(name for row in rows for name in row if name not in ("group", *_LAST))]))
    last = [name for name in _LAST if any(name in row for row in rows)]
    return pd.DataFrame(rows, columns=[*(["group"] if asked.by else []), *names, *last])


def _notes(asked: FitAsked, usable: UsableRuns, groups: dict[str, pd.DataFrame]) -> list[str]:
    """What the rows do not say: which runs, and what the intervals contain."""
    num, kept = len(usable.frame), sum(map(len, groups.values()))
    notes = [] if asked.select == "all" else [f"{kept} of {num} runs selected: {asked.select}"]
    if usable.left_out:
        notes.append(f"left out: {usable.left_out}")
    if asked.select != "all":
        notes.append("the intervals take the selected runs for given; those of `scaling frontier` do not")
    return notes


def _values(asked: FitAsked, law: Law, usable: UsableRuns, groups: dict[str, pd.DataFrame]) -> dict[str, Any]:
    return {
        "law": law.name, "formula": law.formula, "x": asked.x_label, "y": asked.error_column, "select": asked.select,
        "level": asked.level, "interval": asked.interval, "left_out": usable.num_left_out,
        "selected": {name: runs["run_id"].tolist() for name, runs in groups.items()},
    }  # fmt: skip


def _draw(asked: FitAsked, each: FittedLaw, ax: Any) -> None:
    from ..plots import plot_fit

    known, far = each.fit.x, max(map(float, asked.at), default=0.0)
    up_to = far if not each.fit.law.increasing and far > _DRAWN * known.max() else None
    plot_fit(each.fit, level=asked.level, up_to=up_to, ax=ax, x_label=asked.x, y_label=asked.error_column)
