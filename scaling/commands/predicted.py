"""What a prediction rests on: the laws of one group of runs, each fitted when it is asked for."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import pandas as pd
import typer

from ..chained import Chain, chain
from ..frontier import FrontierFit, fit_frontier
from ..plain import plain
from ..selection.usable import UsableRuns, trainings, usable_runs
from ..transfer import TransferFit, fit_transfer
from .base import Asked, UpstreamAsked
from .values import named_law

__all__ = ["PredictAsked", "PredictionLaws"]

_AtOption = typer.Option(help="Compute to predict at, such as 1e22.")
_TargetOption = typer.Option(help="Error whose compute is wanted: of the task, else upstream.")
_AccuracyOption = typer.Option(help="Downstream accuracy whose compute is wanted.")
_UpstreamAccuracyOption = typer.Option(help="Upstream accuracy to predict the task at.")


@dataclass(frozen=True, kw_only=True)
class PredictAsked(UpstreamAsked):
    """The options of `scaling predict`."""

    goes_with = Asked.goes_with

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
class PredictionLaws:
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

    @property
    def saturations(self) -> list[str]:
        """What is reached at infinite compute, and with no upstream error."""
        asked, lines = self.asked, []
        level = f"{asked.level:.0%} interval"
        if asked.downstream and self.trans.stochastic and any(note.kind == "poor_fit" for note in self.trans.warnings):
            return [f"{asked.accuracy}: no saturation is to be read, the models contradict the law (poor_fit)"]
        if asked.downstream and asked.needs_compute:
            low, high = self.both.saturation_interval(asked.level)
            lines.append(
                f"{asked.accuracy} at infinite {asked.x}: {self.both.saturation:.4f}, {level} {low:.4f} to {high:.4f}"
            )
        elif asked.downstream:
            low, high = self.trans.saturation_interval(asked.level)
            lines.append(
                f"{asked.accuracy} at no upstream error: {self.trans.saturation:.4f}, {level} {low:.4f} to {high:.4f}"
            )
        return lines

    def written(self) -> dict[str, Any]:
        """Both laws with the runs that they were fitted to."""
        asked = self.asked
        written: dict[str, Any] = {"left_out": self.left_out}
        for column, law in self.fitted.items():
            runs = self.compute_runs if isinstance(law, FrontierFit) else self.task_runs
            written[column] = plain(law, asked.level) | {"selected": runs.frame["run_id"].iloc[law.selected].tolist()}
        if asked.downstream and asked.needs_compute:
            ends = list(self.both.saturation_interval(asked.level))
            written |= {"saturation": self.both.saturation, "saturation_interval": ends}
        return written

    def draw(self, ax: Any) -> None:
        from .. import plots

        asked = self.asked
        if asked.downstream is None:
            plots.plot_frontier(self.front, level=asked.level, ax=ax, x_label=asked.x, y_label=asked.upstream)
        elif asked.needs_compute:
            accuracies = asked.downstream_targets
            target = self.both.solve_for_compute(accuracies[0], asked.level) if accuracies else None
            task = asked.accuracy.removesuffix("_accuracy")
            plots.plot_chain(self.both, target=target, level=asked.level, ax=ax, x_label=asked.x, task=task)
        else:
            plots.plot_transfer(self.trans, level=asked.level, ax=ax, task=asked.accuracy.removesuffix("_accuracy"))
