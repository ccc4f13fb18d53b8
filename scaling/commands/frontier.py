"""`scaling frontier`."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from ..attempt import attempt
from ..frontier import FrontierFit, fit_frontier
from ..plain import plain
from .answer import Answer, draw_groups
from .base import Asked, takes
from .fitted import never_reached
from .selected import as_table, colours, fit_options, groups_and_all, notes_of, param_columns, predictions, tell
from .values import check_targets, named_law

__all__ = ["frontier"]

_SHOWN = (
    "run_id", "step", "model_family", "model_variant", "width", "depth", "mlp_dim", "patch_size", "num_params",
    "train_examples", "images_seen",
)  # fmt: skip


_SelectOption = typer.Option(
    help="Runs the law is fitted to: stochastic, the lower edge of all runs, is the one to predict with, for even the"
    " best runs lie above the true frontier; pareto and convex_hull are the published conventions, biased upwards; all."
)
_ObjectiveOption = typer.Option(help="Criterion of the fit, not of stochastic; default log_least_squares.")
_IntervalsOption = typer.Option(
    help="simulated_world or case_bootstrap, not of stochastic; default the first, where runs are not of one trunk."
)
_BesideOption = typer.Option("--beside", help="Draw the published convention (pareto) as well, or beside it the edge.")
_AtOption = typer.Option(help="Also the error at this x; may be repeated.")
_TargetOption = typer.Option(help="Also the x of this error; inf: never; may be repeated.")


@dataclass(frozen=True, kw_only=True)
class FrontierAsked(Asked):
    """The options of `scaling frontier`."""

    law: Annotated[str, typer.Option(help="The law's name.")] = "saturating_power"
    select: Annotated[str, _SelectOption] = "stochastic"
    hull_axes: Annotated[str, typer.Option(help="With convex_hull: linear or log axes.")] = "linear"
    objective: Annotated[str | None, _ObjectiveOption] = None
    intervals: Annotated[str | None, _IntervalsOption] = None
    draws: Annotated[int, typer.Option(min=1, help="Draws that the intervals are read off.")] = 1000
    at: Annotated[list[float], _AtOption] = field(default_factory=list)
    target: Annotated[list[float], _TargetOption] = field(default_factory=list)
    runs: Annotated[bool, typer.Option("--runs", help="The table of the runs on the frontier instead.")] = False
    beside: Annotated[bool, _BesideOption] = False

    def fit(self, runs: pd.DataFrame) -> FrontierFit:
        how: dict[str, Any] = {"objective": self.objective, "intervals": self.intervals, "draws": self.draws}
        options = fit_options(runs, self.rng, selection=self.select, **how)
        return fit_frontier(
            runs[self.x], runs[self.error_column], law=named_law(self.law), hull_axes=self.hull_axes, **options
        )

    def fit_beside(self, runs: pd.DataFrame) -> FrontierFit | None:
        """As published, or the edge beside that; None where it cannot be had."""
        other = "stochastic" if self.select == "pareto" else "pareto"
        plain_options: dict[str, Any] = {"hull_axes": "linear", "objective": None, "intervals": None}
        return attempt(lambda: replace(self, select=other, **plain_options).fit(runs))[0]

    def draw(self, fit: FrontierFit, runs: pd.DataFrame, ax: Any) -> Any:
        from ..plots import plot_frontier
        from ..plots.words import column_label

        second = self.fit_beside(runs) if self.beside else None
        labels: dict[str, Any] = {"x_label": column_label(self.x), "y_label": column_label(self.error_column)}
        return plot_frontier(fit, beside=second, groups=colours(runs, self.by), level=self.level, ax=ax, **labels)


@takes(FrontierAsked)
def frontier(asked: FrontierAsked) -> Answer:
    """The best error at each compute, and the law that it follows, of all runs and of each group."""
    usable, y = asked.usable(), asked.error_column
    check_targets(asked.target, usable.frame[y])
    groups = groups_and_all(usable.frame, asked.by)
    rows, fits = [], {}
    for name, runs in groups.items():
        fit, told = tell(lambda runs=runs: asked.fit(runs))
        if fit is not None:
            fits[name] = fit
        rows.append({"group": name, "num_runs": len(runs), **_columns(fit, asked.level), **told})
    said = [row for name, fit in fits.items() for row in _predictions(name, fit, asked)]
    best = {name: groups[name].iloc[fit.selected] for name, fit in fits.items()}
    values = {name: plain(fit, asked.level) | {"run_ids": best[name]["run_id"].tolist()} for name, fit in fits.items()}
    return Answer(
        _runs_table(best, asked.x, y) if asked.runs else as_table(rows),
        title=f"{asked.law}, {asked.select}: {y} against {asked.x}",
        notes=notes_of(usable, fits),
        values={"fits": values, "left_out": usable.num_left_out},
        predictions=pd.DataFrame(said) if said else None,
        draw=draw_groups({name: partial(asked.draw, fit, groups[name]) for name, fit in fits.items()}),
        no=not fits or never_reached(said, asked.x),
    )


def _columns(fit: FrontierFit | None, level: float) -> dict[str, Any]:
    """Of a row: the law with intervals."""
    if fit is None:
        return {}
    columns = {"num_selected": fit.selected.size, **param_columns(fit, level)}
    return columns | {"irreducible_error": float(fit.fit.limit), "intervals": fit.intervals}


def _predictions(name: str, fit: FrontierFit, asked: FrontierAsked) -> list[dict[str, Any]]:
    rows = []
    if asked.at:
        band = fit.predict(asked.at, asked.level)
        rows += predictions(name, asked.error_column, asked.at, (band.median, band.low, band.high))
    if asked.target:
        rows += predictions(name, asked.x, asked.target, fit.solve_for_x(asked.target, asked.level))
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
