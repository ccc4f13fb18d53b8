"""`scaling compare`: laws side by side, or families of models at equal error."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from ..attempt import attempt
from ..ensemble.comparison import compare_laws
from ..ensemble.holdout import HOLDOUTS
from ..ensemble.weighted import EnsembleFit, fit_ensemble
from ..frames import column_of, there_is
from ..frontier import CostRatio, cost_ratio
from ..plain import plain
from ..selection.rules import check_selection
from ..selection.usable import UsableRuns, trainings
from .answer import Answer, draw_groups
from .base import Asked, groups_of, kind_lines, takes, warnings_of
from .fitted import decades_beyond
from .values import named_law, number

__all__ = ["compare"]

_LawsOption = typer.Option(help="A law to compare; without, all that fall with x.")
_AtOption = typer.Option(help="Predict at this x by the weighted mean of laws.")
_RivalOption = typer.Option(help="The family compared with it; without, every other.")
_TargetOption = typer.Option(help="An error at which families are compared.")


@dataclass(frozen=True, kw_only=True)
class CompareAsked(Asked):
    """The options of `scaling compare`: --reference compares families, not laws."""

    goes_with = Asked.goes_with | dict.fromkeys(["rival", "target", "law", "select", "draws"], ("reference",))
    silenced_by = dict.fromkeys(["laws", "at", "holdout", "objective"], "reference")

    laws: Annotated[list[str], _LawsOption] = field(default_factory=list)
    holdout: Annotated[str, typer.Option(help=f"{', '.join(HOLDOUTS)}; also largest:5.")] = "above_share"
    objective: Annotated[str, typer.Option(help="log_least_squares or least_squares.")] = "log_least_squares"
    at: Annotated[list[float], _AtOption] = field(default_factory=list)
    reference: Annotated[str | None, typer.Option(help="Compare families of --by with this one instead.")] = None
    rival: Annotated[list[str], _RivalOption] = field(default_factory=list)
    target: Annotated[list[float], _TargetOption] = field(default_factory=list)
    law: Annotated[str, typer.Option(help="Of each family's frontier.")] = "saturating_power"
    select: Annotated[str, typer.Option(help="Of families: stochastic, pareto, convex_hull, all.")] = "pareto"
    draws: Annotated[int, typer.Option(min=1, help="Of the intervals of families.")] = 1000

    @property
    def held_out(self) -> str | tuple[str, float]:
        """As `compare_laws` takes it."""
        name, colon, value = self.holdout.partition(":")
        if name not in HOLDOUTS:
            raise ValueError(f"--holdout must be one of {', '.join(HOLDOUTS)}, or with :NUMBER, got {self.holdout!r}")
        return (name, number("--holdout", value)) if colon else name


@takes(CompareAsked)
def compare(asked: CompareAsked) -> Answer:
    """Compare laws by held-out error, or families by cost at equal error."""
    if asked.reference is None:
        return _laws(asked)
    return _families(asked)


# Laws ---------------------------------------------------------------------------------------------------------


def _laws(asked: CompareAsked) -> Answer:
    laws, held_out = [named_law(name) for name in asked.laws] or None, asked.held_out
    usable = asked.usable()
    tables, ensembles, reasons = {}, {}, {}
    for name, runs in groups_of(usable.frame, asked.by).items():
        x, y = column_of(runs, asked.x), column_of(runs, asked.error_column)
        table, _, why = attempt(lambda x=x, y=y: compare_laws(x, y, laws, held_out, asked.objective))
        if table is None:
            reasons[name] = why
            continue
        tables[name] = table.assign(warnings=table["warnings"].map(", ".join))
        if asked.at:
            mean, _, why = attempt(lambda x=x, y=y: fit_ensemble(x, y, laws))
            if mean is None:
                reasons[name] = why
            else:
                ensembles[name] = mean
    return Answer(
        _stacked(asked, tables),
        title=f"laws of {asked.error_column} against {asked.x}, held out: {asked.holdout}",
        notes=[*_left_out(usable), *_law_notes(asked, tables), *_reasons(asked, reasons)],
        values={
            "x": asked.x, "y": asked.error_column, "holdout": asked.holdout, "objective": asked.objective,
            "left_out": usable.num_left_out, "reasons": reasons,
            "ensembles": {name: plain(mean) for name, mean in ensembles.items()},
        },
        predictions=_predictions(asked, ensembles) if asked.at else None,
        draw=draw_groups({name: lambda ax, table=table: _draw_laws(table, ax) for name, table in tables.items()}),
        no=not any(table["heldout_log_rmse"][~table["is_baseline"]].notna().any() for table in tables.values()),
    )  # fmt: skip


def _stacked(asked: CompareAsked, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One table, with a column of groups where there are any."""
    if not tables:
        return pd.DataFrame(columns=["group", "law"])
    if asked.by is None:
        return next(iter(tables.values()))
    return pd.concat([table.assign(group=name)[["group", *table]] for name, table in tables.items()], ignore_index=True)


def _predictions(asked: CompareAsked, ensembles: Mapping[str, EnsembleFit]) -> pd.DataFrame:
    """The weighted mean of laws at each x, a row each."""
    rows = []
    for name, mean in ensembles.items():
        with warnings_of(name if asked.by else None):
            curve, new = (mean.predict(np.array(asked.at), asked.level, kind) for kind in ("confidence", "prediction"))
        rows += [
            {"group": name, "at": x, "quantity": asked.error_column, "median": curve.median[k], "low": curve.low[k],
             "high": curve.high[k], "prediction_low": new.low[k], "prediction_high": new.high[k],
             "decades_beyond": decades_beyond(x, mean.x)}
            for k, x in enumerate(asked.at)
        ]  # fmt: skip
    table = pd.DataFrame(rows)
    return table if asked.by or table.empty else table.drop(columns="group")


def _law_notes(asked: CompareAsked, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    notes = ["heldout_log_rmse: error of log predictions on runs that the law was not fitted to, best first"]
    if asked.at:
        notes.append("the predictions are those of a weighted mean of laws, each fitted to all and to the last runs")
    return notes + kind_lines(kinds for table in tables.values() for kinds in table["warnings"])


def _draw_laws(table: pd.DataFrame, ax: Any) -> None:
    from ..plots import plot_law_comparison

    plot_law_comparison(table, ax=ax)


# Families -----------------------------------------------------------------------------------------------------


def _families(asked: CompareAsked) -> Answer:
    if asked.by is None:
        raise ValueError("--reference needs --by, the column of the families, such as model_family")
    check_selection(asked.select, "stochastic")
    law, usable = named_law(asked.law), asked.usable()
    labels = usable.frame[_by(asked, usable)].astype(str)
    rivals = _rivals(asked, sorted(set(labels)))
    x, y = column_of(usable.frame, asked.x), column_of(usable.frame, asked.error_column)
    options = {
        "targets": asked.target or None, "law": law, "selection": asked.select, "level": asked.level,
        "num_draws": asked.draws, "reference": asked.reference,
        "groups": None if asked.select == "stochastic" else trainings(usable.frame),
    }  # fmt: skip
    ratios, reasons = {}, {}
    for rival in rivals:
        found, _, why = attempt(lambda r=rival: cost_ratio(x, y, labels, rival=r, rng=asked.rng, **options))
        if found is None:
            reasons[rival] = why
        else:
            ratios[rival] = found
    tables = [each.table.assign(reference=asked.reference, rival=name) for name, each in ratios.items()]
    first = ["reference", "rival"]
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=first)
    return Answer(
        table[[*first, *(name for name in table if name not in first)]],
        title=f"{asked.x} of each rival over that of {asked.reference} at equal {asked.error_column}, "
        f"{asked.level:.0%} intervals",
        notes=[*_left_out(usable), *_ratio_notes(ratios), *_reasons(asked, reasons)],
        values={
            "x": asked.x, "y": asked.error_column, "left_out": usable.num_left_out, "reasons": reasons,
            "comparisons": {name: plain(each, asked.level) for name, each in ratios.items()},
        },
        draw=draw_groups({name: lambda ax, each=each: _draw_ratio(asked, each, ax) for name, each in ratios.items()}),
        no=table.empty,
    )  # fmt: skip


def _by(asked: CompareAsked, usable: UsableRuns) -> str:
    groups_of(usable.frame, asked.by)  # its checks
    return asked.by or ""


def _rivals(asked: CompareAsked, names: list[str]) -> list[str]:
    """Those named, else all others.

    Raises:
        ValueError: a name that no run has, or no other family.
    """
    for option, name in [("--reference", asked.reference), *(("--rival", rival) for rival in asked.rival)]:
        if name not in names:
            raise ValueError(f"{option}: no run has {asked.by} {name!r}; {there_is(names)}")
    if rivals := list(dict.fromkeys(asked.rival)) or [name for name in names if name != asked.reference]:
        return rivals
    raise ValueError(f"--reference: all runs are of {asked.reference}, there is no rival")


def _ratio_notes(ratios: Mapping[str, CostRatio]) -> list[str]:
    """What was left out, where the methods contradict each other, and what the laws warn of."""
    notes = ["ratio above 1: the reference reaches the error with less; its interval has the choice of runs in it"]
    for name, each in ratios.items():
        notes += [f"{name}: {text}" for text in each.contradictions]
        out: Any = each.left_out.itertuples()
        notes += [f"{name}: left out ({row.method}) at {row.target_error:.4g}: {row.reason}" for row in out]
        told = [warning for warning in each.warnings if warning.kind != "unreached"]  # those are what is left out
        notes += [f"{name}: warning ({warning.kind}): {warning}" for warning in told]
    return notes


def _draw_ratio(asked: CompareAsked, ratios: CostRatio, ax: Any) -> None:
    from ..plots import plot_cost_ratio

    plot_cost_ratio(ratios, ax=ax, x_label=asked.x, y_label=asked.error_column)


# Both ---------------------------------------------------------------------------------------------------------


def _left_out(usable: UsableRuns) -> list[str]:
    return [f"left out: {usable.left_out}"] if usable.left_out else []


def _reasons(asked: CompareAsked, reasons: Mapping[str, str]) -> list[str]:
    return [f"{name}: {why}" if asked.by else why for name, why in reasons.items()]
