"""`scaling predict`: from compute to an error or a downstream accuracy, and back, with how sure that is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from ..chained import Chain, chain
from ..errors import FitError
from ..frontier import FrontierFit, fit_frontier
from ..plain import plain
from ..selection.rules import check_selection
from ..selection.usable import UsableRuns, trainings, usable_runs
from ..transfer import TransferFit, fit_transfer
from .answer import Answer, draw_groups
from .base import UpstreamAsked, groups_of, takes, warnings_of
from .fitted import decades_beyond
from .values import named_law

__all__ = ["predict"]

_COLUMNS = ("group", "given", "at", "quantity", "median", "low", "high", "decades_beyond", "probability_never")
_AtOption = typer.Option(help="Compute to predict at, such as 1e22.")
_TargetOption = typer.Option(help="Error whose compute is wanted: of the task, else upstream.")
_AccuracyOption = typer.Option(help="Downstream accuracy whose compute is wanted.")
_UpstreamAccuracyOption = typer.Option(help="Upstream accuracy to predict the task at.")


@dataclass(frozen=True, kw_only=True)
class PredictAsked(UpstreamAsked):
    """The options of `scaling predict`."""

    at: Annotated[list[float], _AtOption] = field(default_factory=list)
    upstream_accuracy: Annotated[list[float], _UpstreamAccuracyOption] = field(default_factory=list)
    target: Annotated[list[float], _TargetOption] = field(default_factory=list)
    downstream_accuracy: Annotated[list[float], _AccuracyOption] = field(default_factory=list)
    law: Annotated[str, typer.Option(help="Of upstream error against compute.")] = "saturating_power"
    select: Annotated[str, typer.Option(help="stochastic, pareto, convex_hull or all.")] = "stochastic"
    draws: Annotated[int, typer.Option(min=1, help="Of each law.")] = 1000

    @property
    def downstream(self) -> str | None:
        """Column of the downstream error, where there is one."""
        if self.task is self.y is None or self.error_column == self.upstream:
            return None
        return self.error_column

    @property
    def accuracy(self) -> str:
        """What the downstream accuracy is called."""
        return (self.downstream or "").removesuffix("_error") + "_accuracy"

    @property
    def needs_compute(self) -> bool:
        return bool(self.at or self.target or self.downstream_accuracy)

    @property
    def downstream_targets(self) -> list[float]:
        return [*self.downstream_accuracy, *(1 - error for error in self.target)]


@dataclass(frozen=True)
class _Laws:
    """What is fitted to the runs of one group, as far as it was asked for."""

    asked: PredictAsked
    runs: pd.DataFrame

    @cached_property
    def compute_runs(self) -> UsableRuns:
        return usable_runs(self.runs, self.asked.x, self.asked.upstream)

    @cached_property
    def task_runs(self) -> UsableRuns:
        return usable_runs(self.runs, self.asked.upstream, self.asked.downstream or "")

    @cached_property
    def front(self) -> FrontierFit:
        frame, law = self.compute_runs.frame, named_law(self.asked.law)
        x, y = (frame[name].to_numpy(dtype=float) for name in (self.asked.x, self.asked.upstream))
        return fit_frontier(x, y, law=law, **self._options(frame))

    @cached_property
    def trans(self) -> TransferFit:
        frame = self.task_runs.frame
        up, down = (1 - frame[name].to_numpy(dtype=float) for name in (self.asked.upstream, self.asked.downstream))
        return fit_transfer(up, down, **self._options(frame))

    @cached_property
    def both(self) -> Chain:
        return chain(self.front, self.trans, rng=self.asked.rng)

    def _options(self, frame: pd.DataFrame) -> dict[str, Any]:
        options = {"selection": self.asked.select, "num_draws": self.asked.draws, "rng": self.asked.rng}
        return options if self.asked.select == "stochastic" else options | {"groups": trainings(frame)}

    @property
    def fitted(self) -> dict[str, FrontierFit | TransferFit]:
        """The laws that the answer rests on, by the column that they are of."""
        laws: dict[str, FrontierFit | TransferFit] = {}
        if self.asked.needs_compute:
            laws[self.asked.upstream] = self.front
        if self.asked.downstream is not None:
            laws[self.asked.downstream] = self.trans
        return laws

    @property
    def left_out(self) -> dict[str, str]:
        told = {}
        if self.asked.needs_compute:
            told[self.asked.upstream] = self.compute_runs.left_out
        if self.asked.downstream is not None:
            told[self.asked.downstream] = self.task_runs.left_out
        return {name: text for name, text in told.items() if text}


@takes(PredictAsked)
def predict(asked: PredictAsked) -> Answer:
    """Predict an error, or with --task a downstream accuracy; find the compute."""
    _check(asked)
    rows, laws, reasons = [], {}, {}
    for name, runs in groups_of(asked.read(), asked.by).items():
        each = _Laws(asked, runs)
        try:
            with warnings_of(name if asked.by else None):
                rows += [{"group": name, **row} for row in _rows(each)]
            laws[name] = each
        except FitError as error:
            if asked.by is None:
                raise
            reasons[name] = str(error)
    if not laws:
        name, why = next(iter(reasons.items()))
        raise FitError(f"none of {len(reasons)} groups has a law; of {name}: {why}")
    shown = [name for name in _COLUMNS if any(name in row for row in rows) and (name != "group" or asked.by)]
    reached = [row["median"] for row in rows if row["quantity"] == asked.x]
    return Answer(
        pd.DataFrame(rows, columns=shown),
        title=_title(asked),
        notes=_notes(asked, laws, reasons),
        values={
            "level": asked.level, "select": asked.select, "reasons": reasons,
            "laws": {name: _written(each) for name, each in laws.items()},
        },
        draw=draw_groups({name: lambda ax, each=each: _draw(each, ax) for name, each in laws.items()}),
        no=bool(reached) and all(np.isinf(reached)),
    )  # fmt: skip


def _check(asked: PredictAsked) -> None:
    """What can be told before anything is read."""
    check_selection(asked.select, "stochastic")
    named_law(asked.law)
    if not (asked.needs_compute or asked.upstream_accuracy):
        raise ValueError("nothing is asked: give --at, --target, --downstream-accuracy or --upstream-accuracy")
    if asked.downstream is None and (asked.downstream_accuracy or asked.upstream_accuracy):
        raise ValueError("--downstream-accuracy and --upstream-accuracy need --task, or --y with a downstream error")
    is_fraction = (asked.downstream or asked.upstream).endswith("_error")  # a loss in nats may lie above 1
    for option, values in (("--target", asked.target), ("--downstream-accuracy", asked.downstream_accuracy)):
        for value in values:
            if not 0 < value < (1 if is_fraction else np.inf):
                percent = " (is this percent? divide by 100)" if value >= 1 else ""
                raise ValueError(f"{option} must lie between 0 and 1, got {value:g}{percent}")
    for value in asked.upstream_accuracy:
        if not 0 <= value < 1:
            raise ValueError(f"--upstream-accuracy must lie in [0, 1), got {value:g}")
    for value in asked.at:
        if not 0 < value < np.inf:
            raise ValueError(f"--at must be positive and finite, got {value:g}")


# Rows ---------------------------------------------------------------------------------------------------------


def _rows(laws: _Laws) -> list[dict[str, Any]]:
    asked = laws.asked
    rows = []
    if asked.at:
        rows += _bands(asked.x, asked.at, asked.upstream, laws.front.predict(asked.at, asked.level), laws.front.x)
    if asked.at and asked.downstream:
        rows += _bands(asked.x, asked.at, asked.accuracy, laws.both.predict(asked.at, asked.level), laws.front.x)
    if asked.upstream_accuracy:
        band, known = laws.trans.predict(asked.upstream_accuracy, asked.level), 1 - laws.trans.upstream
        given = asked.upstream.removesuffix("_error") + "_accuracy"
        found = _bands(given, asked.upstream_accuracy, asked.accuracy, band, known)
        for row in found:
            row["decades_beyond"] = decades_beyond(1 - row["at"], known)  # of the error
        rows += found
    if asked.downstream:
        return rows + [_downstream_target(laws, accuracy) for accuracy in asked.downstream_targets]
    return rows + [_upstream_target(laws, error) for error in asked.target]


def _bands(given: str, at: list[float], quantity: str, band: Any, known: np.ndarray) -> list[dict[str, Any]]:
    return [
        {"given": given, "at": x, "quantity": quantity, "median": float(middle), "low": float(low),
         "high": float(high), "decades_beyond": decades_beyond(x, known)}
        for x, middle, low, high in zip(at, band.median, band.low, band.high, strict=True)
    ]  # fmt: skip


def _downstream_target(laws: _Laws, accuracy: float) -> dict[str, Any]:
    target = laws.both.solve_for_compute(accuracy, laws.asked.level)
    return _target_row(
        laws, laws.asked.accuracy, accuracy, (target.compute, target.low, target.high), target.probability_never
    )


def _upstream_target(laws: _Laws, error: float) -> dict[str, Any]:
    value, low, high = (float(end) for end in laws.front.solve_for_x(error, laws.asked.level))
    never = float(np.mean(laws.front.bootstrap.limits >= error))
    return _target_row(laws, laws.asked.upstream, error, (value, low, high), never)


def _target_row(laws: _Laws, given: str, at: float, ends: tuple[float, ...], never: float) -> dict[str, Any]:
    value, low, high = ends
    return {
        "given": given, "at": at, "quantity": laws.asked.x, "median": value, "low": low, "high": high,
        "decades_beyond": decades_beyond(value, laws.front.x), "probability_never": never,
    }  # fmt: skip


# What is told beside them -------------------------------------------------------------------------------------


def _title(asked: PredictAsked) -> str:
    path = ([asked.x] if asked.needs_compute else []) + [asked.upstream]
    return " -> ".join([*path, *([asked.accuracy] if asked.downstream else [])]) + f", {asked.level:.0%} intervals"


def _notes(asked: PredictAsked, laws: Mapping[str, _Laws], reasons: Mapping[str, str]) -> list[str]:
    notes = []
    for name, each in laws.items():
        head = f"{name}: " if asked.by else ""
        for column, law in each.fitted.items():
            params = ", ".join(f"{param} = {value:.4g}" for param, value in law.params.items())
            rule = f"{law.selection}, intervals: {law.intervals}"
            notes.append(f"{head}{column}: {law.fit.law.name} {law.fit.law.formula}, {params} ({rule})")
        notes += [f"{head}{line}" for line in _saturations(each)]
        notes += [f"{head}left out of {column}: {text}" for column, text in each.left_out.items()]
    return [*notes, *(f"{name}: {why}" for name, why in reasons.items())]


def _saturations(laws: _Laws) -> list[str]:
    """What is reached at infinite compute, and with no upstream error."""
    asked, lines = laws.asked, []
    level = f"{asked.level:.0%} interval"
    if asked.downstream and laws.trans.stochastic and any(note.kind == "poor_fit" for note in laws.trans.warnings):
        return [f"{asked.accuracy}: no saturation is to be read, the models contradict the law (poor_fit)"]
    if asked.downstream and asked.needs_compute:
        low, high = laws.both.saturation_interval(asked.level)
        lines.append(
            f"{asked.accuracy} at infinite {asked.x}: {laws.both.saturation:.4f}, {level} {low:.4f} to {high:.4f}"
        )
    elif asked.downstream:
        low, high = laws.trans.saturation_interval(asked.level)
        lines.append(
            f"{asked.accuracy} at no upstream error: {laws.trans.saturation:.4f}, {level} {low:.4f} to {high:.4f}"
        )
    return lines


def _written(laws: _Laws) -> dict[str, Any]:
    """Both laws with the runs that they were fitted to."""
    asked = laws.asked
    written: dict[str, Any] = {"left_out": laws.left_out}
    for column, law in laws.fitted.items():
        runs = laws.compute_runs if isinstance(law, FrontierFit) else laws.task_runs
        written[column] = plain(law, asked.level) | {"selected": runs.frame["run_id"].iloc[law.selected].tolist()}
    if asked.downstream and asked.needs_compute:
        ends = list(laws.both.saturation_interval(asked.level))
        written |= {"saturation": laws.both.saturation, "saturation_interval": ends}
    return written


def _draw(laws: _Laws, ax: Any) -> None:
    from .. import plots

    asked = laws.asked
    if asked.downstream is None:
        plots.plot_frontier(laws.front, level=asked.level, ax=ax, x_label=asked.x, y_label=asked.upstream)
    elif asked.needs_compute:
        accuracies = asked.downstream_targets
        target = laws.both.solve_for_compute(accuracies[0], asked.level) if accuracies else None
        task = asked.accuracy.removesuffix("_accuracy")
        plots.plot_chain(laws.both, target=target, level=asked.level, ax=ax, x_label=asked.x, task=task)
    else:
        plots.plot_transfer(laws.trans, level=asked.level, ax=ax, task=asked.accuracy.removesuffix("_accuracy"))
