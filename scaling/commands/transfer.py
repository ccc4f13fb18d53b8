"""`scaling transfer`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any

import pandas as pd
import typer

from ..attempt import attempt
from ..frames import check_columns
from ..plain import plain
from ..selection.usable import UsableRuns, usable_runs
from ..transfer import TransferFit, compare_scalings, fit_transfer
from ..transfer.task_columns import choose_tasks
from .answer import Answer, draw_groups
from .base import UpstreamAsked, takes
from .selected import as_table, colours, fit_options, groups_and_all, notes_of, param_columns, predictions, tell

__all__ = ["transfer"]


_SelectOption = typer.Option(
    help="Models the law is fitted to: stochastic, the lower edge in error of all models, is the one to predict with;"
    " convex_hull is the published convention, biased upwards; pareto; all."
)
_AnchorsOption = typer.Option(help="With a hull: chance, flat_right, or both (repeated); default none.")
_ChanceOption = typer.Option(help="With --anchors chance: accuracies of a guess, UPSTREAM:DOWNSTREAM.")
_HullOption = typer.Option(help="With convex_hull, what of it is fitted: vertices, near or sampled.")
_WindowOption = typer.Option(help="Upstream accuracies fitted, FROM:TO; the paper's is 0:0.45.")
_ObjectiveOption = typer.Option(help="Criterion of the fit, not of stochastic; default least_squares.")
_IntervalsOption = typer.Option(
    help="simulated_world or case_bootstrap, not of stochastic; default the first, where models are not of one trunk."
)
_AtOption = typer.Option(help="Also the downstream accuracy at this upstream one; may be repeated.")
_ScalingsOption = typer.Option("--scalings", help="A line on each scale of the accuracies instead of the law.")
_BesideOption = typer.Option("--beside", help="Draw the law on the convex hull as well, or beside it the edge.")


@dataclass(frozen=True, kw_only=True)
class TransferAsked(UpstreamAsked):
    """The options of `scaling transfer`."""

    goes_with = UpstreamAsked.goes_with | {"x": ()}
    silenced_by = dict.fromkeys(
        ["select", "anchors", "chance", "hull_points", "window", "bayes_error", "objective", "intervals", "draws", "at",
         "beside"],
        "scalings",
    )  # fmt: skip

    select: Annotated[str, _SelectOption] = "stochastic"
    anchors: Annotated[list[str], _AnchorsOption] = field(default_factory=list)
    chance: Annotated[str | None, _ChanceOption] = None
    hull_points: Annotated[str, _HullOption] = "vertices"
    window: Annotated[str, _WindowOption] = "0:1"
    bayes_error: Annotated[float, typer.Option(help="Upstream error that no model can go below.")] = 0.0
    objective: Annotated[str | None, _ObjectiveOption] = None
    intervals: Annotated[str | None, _IntervalsOption] = None
    draws: Annotated[int, typer.Option(min=1, help="Draws that the intervals are read off.")] = 1000
    at: Annotated[list[float], _AtOption] = field(default_factory=list)
    scalings: Annotated[bool, _ScalingsOption] = False
    beside: Annotated[bool, _BesideOption] = False

    def fit(self, models: pd.DataFrame, column: str) -> TransferFit:
        how: dict[str, Any] = {"objective": self.objective, "intervals": self.intervals, "draws": self.draws}
        options = fit_options(models, self.rng, selection=self.select, **how)
        return fit_transfer(
            1 - models[self.upstream], 1 - models[column], anchors=tuple(self.anchors) or "none",
            chance=_pair("--chance", self.chance), hull_points=self.hull_points,
            window=_pair("--window", self.window) or (0.0, 1.0), upstream_bayes_error=self.bayes_error, **options,
        )  # fmt: skip

    def fit_beside(self, models: pd.DataFrame, column: str) -> TransferFit | None:
        """As published, or the edge beside that; None where it cannot be had."""
        other = "stochastic" if self.select == "convex_hull" else "convex_hull"
        usual: dict[str, Any] = {
            "objective": None,
            "intervals": None,
            "anchors": [],
            "chance": None,
            "hull_points": "vertices",
        }
        return attempt(lambda: replace(self, select=other, **usual).fit(models, column))[0]

    def draw(self, fit: TransferFit, models: pd.DataFrame, column: str, ax: Any) -> Any:
        from ..plots import plot_transfer
        from ..plots.words import task_title

        second = self.fit_beside(models, column) if self.beside else None
        options: dict[str, Any] = {"groups": colours(models, self.by), "level": self.level, "task": task_title(column)}
        return plot_transfer(fit, beside=second, ax=ax, **options)


@takes(TransferAsked)
def transfer(asked: TransferAsked) -> Answer:
    """Downstream against upstream accuracy, and the law that it follows, of each task."""
    columns = None if asked.y is asked.task is None else [asked.error_column]
    found, parts = _tasks(asked.read(), asked.upstream, columns)
    cells = _cells(found, parts, asked.by)
    if asked.scalings:
        return _scalings(asked, cells, parts)
    rows, fits = [], {}
    for name, (labels, column, models) in cells.items():
        fit, told = tell(lambda models=models, column=column: asked.fit(models, column))
        if fit is not None:
            fits[name] = fit
        rows.append({**labels, "num_models": len(models), **_columns(fit, asked.level), **told})
    said = [row for name, fit in fits.items() for row in _predictions(name, fit, asked.level, asked.at)]
    draws = {name: partial(asked.draw, fit, cells[name][2], cells[name][1]) for name, fit in fits.items()}
    return Answer(
        as_table(rows),
        title=f"k e^alpha + e_IR, {asked.select}: downstream against {asked.upstream}",
        notes=_left_out(parts) + notes_of(None, fits),
        values={
            "fits": {
                name: plain(fit, asked.level) | {"run_ids": cells[name][2]["run_id"].iloc[fit.selected].tolist()}
                for name, fit in fits.items()
            },
            "left_out": {column: usable.num_left_out for column, usable in parts.items()},
        },
        predictions=pd.DataFrame(said) if said else None,
        draw=draw_groups(draws),
        no=not fits,
    )


Cell = tuple[dict[str, Any], str, pd.DataFrame]  # the row's labels, the column of the error, the models


def _tasks(
    records: pd.DataFrame, upstream: str, columns: list[str] | None
) -> tuple[list[tuple[str, int | None, str]], dict[str, UsableRuns]]:
    """The tasks and their models; of all tasks those that these records have values of."""
    check_columns(records, upstream)
    found, parts, first = choose_tasks(records, columns), {}, None
    if columns is None:  # of a data set's own upstream error, which may be that of a task
        found = [task for task in found if task[2] != upstream]
    for _, _, column in found:
        try:
            parts[column] = usable_runs(records, upstream, column)
        except ValueError as error:
            if columns is not None:
                raise
            first = first or error
    if first is not None and not parts:
        raise first
    return [each for each in found if each[2] in parts], parts


def _cells(
    found: Sequence[tuple[str, int | None, str]], parts: Mapping[str, UsableRuns], by: str | None
) -> dict[str, Cell]:
    """What each fit is of, by a name for notes and figures."""
    cells: dict[str, Cell] = {}
    for task, shots, column in found:
        groups = groups_and_all(parts[column].frame, by)
        for group, members in groups.items():
            name = column + ("" if by is None else f", {group}")
            labels = {"task": task, "num_shots": shots, "column": column, "group": group}
            cells[name] = (labels, column, members)
    return cells


def _columns(fit: TransferFit | None, level: float) -> dict[str, Any]:
    if fit is None:
        return {}
    low, high = fit.saturation_interval(level)
    columns = {"num_selected": fit.selected.size, **param_columns(fit, level)}
    columns |= {"saturation": fit.saturation, "saturation_low": low, "saturation_high": high}
    return columns | {"intervals": fit.intervals}


def _predictions(name: str, fit: TransferFit, level: float, at: Sequence[float]) -> list[dict[str, Any]]:
    band = fit.predict(at, level)
    return predictions(name, "downstream_accuracy", at, (band.median, band.low, band.high)) if at else []


def _scalings(asked: TransferAsked, cells: Mapping[str, Cell], parts: Mapping[str, UsableRuns]) -> Answer:
    """A row a task and scale; of a task without a line its reason."""
    tables, rows = {}, []
    for name, (labels, column, models) in cells.items():
        table, told = tell(lambda models=models, column=column: _compared(asked, models, column))
        if table is None:
            rows.append(pd.DataFrame([labels | told]))
            continue
        tables[name] = table
        rows.append(table.rename_axis("scaling").reset_index().assign(**labels, **told))
    table = pd.concat(rows, ignore_index=True)
    first, last = ["task", "num_shots", "column", "group"], ["warnings", "reason"]
    return Answer(
        table[[*first, *(name for name in table if name not in first + last), *last]],
        title=f"a line on each scale: downstream against {asked.upstream}",
        notes=_left_out(parts),
        values={"left_out": {column: usable.num_left_out for column, usable in parts.items()}},
        draw=draw_groups({name: partial(_draw_scalings, table) for name, table in tables.items()}),
        no=not tables,
    )


def _compared(asked: TransferAsked, models: pd.DataFrame, column: str) -> pd.DataFrame:
    names = models["run_id"].astype(str).tolist()
    return compare_scalings(1 - models[asked.upstream], 1 - models[column], names=names, level=asked.level)


def _draw_scalings(table: pd.DataFrame, ax: Any) -> Any:
    from ..plots import plot_scalings

    return plot_scalings(table, ax=ax)


def _left_out(parts: Mapping[str, UsableRuns]) -> list[str]:
    return [f"{column}: left out: {usable.left_out}" for column, usable in parts.items() if usable.num_left_out]


def _pair(option: str, given: str | None) -> tuple[float, float] | None:
    if given is None:
        return None
    try:
        low, high = (float(end) for end in given.split(":"))
    except ValueError:
        raise ValueError(f"{option} must be two numbers as LOW:HIGH, such as 0.1:0.45; got {given!r}") from None
    return low, high
