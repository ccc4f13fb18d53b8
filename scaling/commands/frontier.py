"""`scaling frontier`."""

from functools import partial
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from ..frontier import FrontierFit, fit_frontier
from ..plain import plain
from .answer import Answer, draw_groups
from .base import Asked, takes
from .selected import as_table, colours, fit_options, groups_and_all, notes_of, param_columns, predictions, tell

__all__ = ["frontier"]

_SHOWN = (
    "run_id", "step", "model_family", "model_variant", "width", "depth", "mlp_dim", "patch_size", "num_params",
    "train_examples", "images_seen",
)  # fmt: skip


@takes(Asked)
def frontier(
    asked: Asked,
    law: Annotated[str, typer.Option(help="The law's name.")] = "saturating_power",
    select: Annotated[
        str,
        typer.Option(
            help="Runs the law is fitted to: stochastic, the lower edge of all runs, is the one to predict with, for"
            " even the best runs lie above the true frontier; pareto and convex_hull are the published conventions,"
            " biased upwards; all."
        ),
    ] = "stochastic",
    hull_axes: Annotated[str, typer.Option(help="With convex_hull: linear or log axes.")] = "linear",
    objective: Annotated[
        str | None, typer.Option(help="Criterion of the fit, not of stochastic; default log_least_squares.")
    ] = None,
    intervals: Annotated[
        str | None,
        typer.Option(help="simulated_world or case_bootstrap, not of stochastic; default as the runs allow."),
    ] = None,
    draws: Annotated[int, typer.Option(min=1, help="Draws that the intervals are read off.")] = 1000,
    at: Annotated[list[float] | None, typer.Option(help="Also the error at this x; may be repeated.")] = None,
    target: Annotated[list[float] | None, typer.Option(help="Also the x of this error; may be repeated.")] = None,
    runs: Annotated[bool, typer.Option("--runs", help="The table of the runs on the frontier instead.")] = False,
    beside: Annotated[
        bool, typer.Option("--beside", help="Draw the published convention, pareto (or beside it the edge), as well.")
    ] = False,
) -> Answer:
    """The best error at each compute, and the law that it follows, of all runs and of each group."""
    usable, y = asked.usable(), asked.error_column
    groups = groups_and_all(usable.frame, asked.by)
    given = {"objective": objective, "intervals": intervals, "draws": draws}

    def fitted(rows: pd.DataFrame, selection: str, **given: Any) -> FrontierFit:
        options = fit_options(rows, asked.rng, selection=selection, **given)
        axes = hull_axes if selection == select else "linear"
        return fit_frontier(rows[asked.x], rows[y], law=law, hull_axes=axes, **options)

    rows, fits = [], {}
    for name, members in groups.items():
        fit, told = tell(lambda members=members: fitted(members, select, **given))
        if fit is not None:
            fits[name] = fit
        rows.append({"group": name, "num_runs": len(members), **_columns(fit, asked.level), **told})
    said = [row for name, fit in fits.items() for row in _predictions(name, fit, asked, at or [], target or [])]
    reached = [row["median"] for row in said if row["quantity"] == asked.x]

    def draw(name: str, ax: Any) -> Any:
        from ..plots import plot_frontier
        from ..plots.style import column_label

        other = "stochastic" if select == "pareto" else "pareto"
        second = tell(lambda: fitted(groups[name], other, objective=None, intervals=None, draws=draws))[0]
        options = {"x_label": column_label(asked.x), "y_label": column_label(y), "level": asked.level, "ax": ax}
        return plot_frontier(
            fits[name], beside=second if beside else None, groups=colours(groups[name], asked.by), **options
        )

    on_frontier = {name: groups[name].iloc[fit.selected] for name, fit in fits.items()}
    values = {
        name: plain(fit, asked.level) | {"run_ids": on_frontier[name]["run_id"].tolist()} for name, fit in fits.items()
    }
    return Answer(
        _runs_table(on_frontier, asked.x, y) if runs else as_table(rows),
        title=f"{law}, {select}: {y} against {asked.x}",
        notes=notes_of(usable, fits),
        values={"fits": values, "left_out": usable.num_left_out},
        predictions=pd.DataFrame(said) if said else None,
        draw=draw_groups({name: partial(draw, name) for name in fits}),
        no=not fits or bool(reached and np.isinf(reached).all()),
    )


def _columns(fit: FrontierFit | None, level: float) -> dict[str, Any]:
    """Of a row: the law with intervals."""
    if fit is None:
        return {}
    columns = {"num_selected": fit.selected.size, **param_columns(fit, level)}
    return columns | {"irreducible_error": float(fit.fit.limit), "intervals": fit.intervals}


def _predictions(
    name: str, fit: FrontierFit, asked: Asked, at: list[float], targets: list[float]
) -> list[dict[str, Any]]:
    rows = []
    if at:
        band = fit.predict(at, asked.level)
        rows += predictions(name, asked.error_column, at, (band.median, band.low, band.high))
    if targets:
        rows += predictions(name, asked.x, targets, fit.solve_for_x(targets, asked.level))
    return rows


def _runs_table(on_frontier: dict[str, pd.DataFrame], x: str, y: str) -> pd.DataFrame:
    parts = [
        rows[list(dict.fromkeys([*(n for n in _SHOWN if n in rows), x, y]))].assign(group=name)
        for name, rows in on_frontier.items()
    ]
    if not parts:
        return pd.DataFrame({"group": np.array([], dtype=object)})
    table = pd.concat(parts, ignore_index=True)
    return table[["group", *(name for name in table if name != "group")]]
