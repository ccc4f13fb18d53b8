"""`scaling transfer`."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import pandas as pd
import typer

from ..inputs import check_columns
from ..plain import plain
from ..transfer import TransferFit, compare_scalings, fit_transfer
from ..transfer.task_columns import choose_tasks
from ..usable import UsableRuns, usable_runs
from .answer import Answer, draw_groups
from .base import Asked, takes
from .selected import as_table, colours, fit_options, groups_and_all, notes_of, param_columns, predictions, tell

__all__ = ["transfer"]


@takes(Asked)
def transfer(
    asked: Asked,
    upstream: Annotated[str, typer.Option(help="Column of the upstream error.")] = "upstream_error",
    select: Annotated[
        str,
        typer.Option(
            help="Models the law is fitted to: stochastic, the lower edge in error of all models, is the one to predict"
            " with; convex_hull is the published convention, biased upwards; pareto; all."
        ),
    ] = "stochastic",
    anchors: Annotated[
        list[str] | None, typer.Option(help="With a hull: chance, flat_right or both (repeated); default none.")
    ] = None,
    chance: Annotated[
        str | None, typer.Option(help="With --anchors chance: accuracies of a guess, UPSTREAM:DOWNSTREAM.")
    ] = None,
    hull_points: Annotated[
        str, typer.Option(help="With convex_hull, what of it is fitted: vertices, near or sampled.")
    ] = "vertices",
    window: Annotated[str, typer.Option(help="Upstream accuracies fitted, FROM:TO; the paper's is 0:0.45.")] = "0:1",
    bayes_error: Annotated[float, typer.Option(help="Upstream error that no model can go below.")] = 0.0,
    objective: Annotated[
        str | None, typer.Option(help="Criterion of the fit, not of stochastic; default least_squares.")
    ] = None,
    intervals: Annotated[
        str | None, typer.Option(help="simulated_world or case_bootstrap, not of stochastic; default as models allow.")
    ] = None,
    draws: Annotated[int, typer.Option(min=1, help="Draws that the intervals are read off.")] = 1000,
    at: Annotated[
        list[float] | None, typer.Option(help="Also the downstream accuracy at this upstream one; may be repeated.")
    ] = None,
    scalings: Annotated[
        bool, typer.Option("--scalings", help="A line on each scale of the accuracies instead of the law.")
    ] = False,
    beside: Annotated[
        bool, typer.Option("--beside", help="Draw the law on the convex hull (or beside it the edge) as well.")
    ] = False,
) -> Answer:
    """Downstream against upstream accuracy, and the law that it follows, of each task."""
    records = asked.read()
    found, parts = _tasks(records, upstream, None if asked.y is asked.task is None else [asked.error_column])
    cells = _cells(found, parts, asked.by)
    if scalings:
        return _scalings(cells, upstream, parts, asked.level)
    given = {"objective": objective, "intervals": intervals, "draws": draws}
    shape = {
        "anchors": _anchors(anchors), "chance": _pair("chance", chance), "hull_points": hull_points,
        "window": _pair("window", window), "upstream_bayes_error": bayes_error,
    }  # fmt: skip

    def fitted(name: str, selection: str, **given: Any) -> TransferFit:
        _, column, rows = cells[name]
        options = fit_options(rows, asked.rng, selection=selection, **given)
        kept = shape if selection == select else {k: shape[k] for k in ("window", "upstream_bayes_error")}
        return fit_transfer(1 - rows[upstream], 1 - rows[column], **kept, **options)

    rows, fits = [], {}
    for name, (labels, _, members) in cells.items():
        fit, told = tell(lambda name=name: fitted(name, select, **given))
        if fit is not None:
            fits[name] = fit
        rows.append({**labels, "num_models": len(members), **_columns(fit, asked.level), **told})
    said = [row for name, fit in fits.items() for row in _predictions(name, fit, asked.level, at or [])]

    def draw(name: str, ax: Any) -> Any:
        from ..plots import plot_transfer
        from ..plots.style import task_title

        other = "stochastic" if select == "convex_hull" else "convex_hull"
        second = tell(lambda: fitted(name, other, objective=None, intervals=None, draws=draws))[0] if beside else None
        _, column, models = cells[name]
        options = {"groups": colours(models, asked.by), "level": asked.level, "task": task_title(column)}
        return plot_transfer(fits[name], beside=second, ax=ax, **options)

    return Answer(
        as_table(rows),
        title=f"k e^alpha + e_IR, {select}: downstream against {upstream}",
        notes=_left_out(parts) + notes_of(None, fits),
        values={
            "fits": {name: plain(fit, asked.level) for name, fit in fits.items()},
            "left_out": {column: usable.num_left_out for column, usable in parts.items()},
        },
        predictions=pd.DataFrame(said) if said else None,
        draw=draw_groups({name: partial(draw, name) for name in fits}),
        no=not fits,
    )


Cell = tuple[dict[str, Any], str, pd.DataFrame]  # the row's labels, the column of the error, the models


def _tasks(
    records: pd.DataFrame, upstream: str, columns: list[str] | None
) -> tuple[list[tuple[str, int | None, str]], dict[str, UsableRuns]]:
    """The tasks and their models; of all tasks those that these records have values of."""
    check_columns(records, upstream)
    found, parts, first = choose_tasks(records, columns), {}, None
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


def _scalings(cells: Mapping[str, Cell], upstream: str, parts: Mapping[str, UsableRuns], level: float) -> Answer:
    tables, failed = {}, []
    for name, (labels, column, rows) in cells.items():
        compare = lambda rows=rows, column=column: compare_scalings(  # noqa: E731
            1 - rows[upstream], 1 - rows[column], names=rows["run_id"].tolist(), level=level
        )
        table, told = tell(compare)
        if table is not None:
            tables[name] = (labels, table)
        else:
            failed.append(labels | told)
    each = [table.rename_axis("scaling").reset_index().assign(**labels) for labels, table in tables.values()]
    table = pd.concat([*each, pd.DataFrame(failed)], ignore_index=True)
    first = ["task", "num_shots", "column", "group"]

    def draw(name: str, ax: Any) -> Any:
        from ..plots import plot_scalings

        return plot_scalings(tables[name][1], ax=ax)

    return Answer(
        table[[*first, *(name for name in table if name not in first)]],
        title=f"a line on each scale: downstream against {upstream}",
        notes=_left_out(parts),
        values={"left_out": {column: usable.num_left_out for column, usable in parts.items()}},
        draw=draw_groups({name: partial(draw, name) for name in tables}),
        no=not tables,
    )


def _left_out(parts: Mapping[str, UsableRuns]) -> list[str]:
    return [f"{column}: left out: {usable.left_out}" for column, usable in parts.items() if usable.num_left_out]


def _anchors(given: Sequence[str] | None) -> str | tuple[str, ...]:
    return tuple(given) if given else "none"


def _pair(option: str, given: str | None) -> tuple[float, float] | None:
    if given is None:
        return None
    try:
        low, high = (float(end) for end in given.split(":"))
    except ValueError:
        raise ValueError(
            f"--{option} must be two numbers with a colon between, such as 0.1:0.45; got {given!r}"
        ) from None
    return low, high
