"""What a sweep says: both laws fitted to its records, downstream accuracies predicted, as a text and two figures."""

import math
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from scaling import FitWarning, FrontierFit, TransferFit, fit_frontier, fit_transfer, read_evals, read_records
from scaling.plots import plot_frontier, plot_transfer

from .data.datasets import DATASETS
from .paths import SweepPaths, write_text

__all__ = ["Summary", "summarise", "write_summary"]

_LEVEL = 0.95
_DPI = 150
_ALL = "all runs"
_BETTER = 0.75  # the better model's share of the least error, where no law gives one
_EXTRAPOLATED_COMPUTE = 10.0  # the better upstream model: that of ten times the largest compute
_NEAR_ZERO, _NEAR_SMALLEST = 0.05, 0.8  # as shares of the smallest error: an interval of c that says nothing
# Spread about a law over the luck of the test images from which on the law is said not to fit. Seeds add about as much
# again, and a frontier's steps from model to model some more.
_MISFIT = 4.0
_NEAR_CHANCE = 0.95  # runs whose error is above this share of a guess's bend the law, which has no such plateau


@dataclass(frozen=True)
class Frontier:
    """The frontier of a group of runs: its fit, or why there is none; `runs` are those that learned anything."""

    name: str
    runs: pd.DataFrame
    fit: FrontierFit | None
    reason: str


@dataclass(frozen=True)
class Task:
    """A downstream task and the models evaluated on it: its fit, or why there is none."""

    name: str
    num_shots: int
    chance: float
    is_control: bool
    runs: pd.DataFrame
    accuracy: pd.Series
    fit: TransferFit | None
    reason: str


@dataclass(frozen=True)
class Summary:
    """Both laws of a sweep: frontiers of all runs and of each family, and downstream tasks."""

    name: str
    runs: pd.DataFrame
    num_other: int  # runs in the folder that are of another spec
    finished: pd.DataFrame
    num_near_chance: int
    frontiers: list[Frontier]
    tasks: list[Task]

    @property
    def best_family(self) -> str:
        """The family of the run with the least error."""
        return str(self.finished["model_family"].iloc[int(self.finished["upstream_error"].argmin())])


def write_summary(folder: Path, name: str, run_ids: Collection[str] | None = None) -> str:
    """Fit, write `summary.txt`, `frontier.png` and `transfer.png` into the sweep's folder, and return the text.

    Args:
        folder: of the sweep.
        name: of the sweep.
        run_ids: the runs to summarise; None takes all that the folder holds.
    """
    paths = SweepPaths(folder)
    summary = summarise(folder, name, run_ids)
    if any(frontier.fit for frontier in summary.frontiers):
        _frontier_figure(summary).savefig(paths.figure("frontier"), dpi=_DPI)
    if any(task.fit for task in summary.tasks):
        _transfer_figure(summary).savefig(paths.figure("transfer"), dpi=_DPI)
    text = _text(summary)
    write_text(paths.summary, text)
    return text


def summarise(folder: Path, name: str, run_ids: Collection[str] | None = None) -> Summary:
    """Fit both laws to the runs of a folder whose learning rate came to its end."""
    everything = read_records(folder)
    runs = everything if run_ids is None else everything[everything["run_id"].isin(run_ids)]
    is_finished = runs["status"].eq("ok") & runs["cooled_down"].eq(True)
    finished = runs[is_finished].reset_index(drop=True)
    chance = 1 - 1 / finished["num_classes"]
    learned = finished[finished["upstream_error"].between(0, _NEAR_CHANCE * chance, inclusive="right")]
    learned = learned.reset_index(drop=True)  # an error of 0 has no logarithm
    families = sorted(finished["model_family"].unique())
    groups = {_ALL: learned} | {family: learned[learned["model_family"] == family] for family in families}
    if len(families) == 1:
        del groups[families[0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # they are in each fit's `warnings`, and so in the text
        frontiers = [_fit_frontier(group, members) for group, members in groups.items()]
        tasks = [_fit_task(finished, task, shots) for task, shots in _tasks(read_evals(folder))]
    num_other = len(everything) - len(runs)
    return Summary(name, runs, num_other, finished, len(finished) - len(learned), frontiers, tasks)


def _fit_frontier(name: str, runs: pd.DataFrame) -> Frontier:
    try:
        return Frontier(
            name, runs, fit_frontier(runs["compute_flops"], runs["upstream_error"], groups=_trainings(runs)), ""
        )
    except ValueError as error:
        return Frontier(name, runs, None, str(error))


def _tasks(evals: pd.DataFrame) -> list[tuple[str, int]]:
    """Each task with its largest number of shots."""
    fewshot = evals[evals["method"] == "fewshot"]
    return [(str(task), int(shots)) for task, shots in fewshot.groupby("task", sort=False)["num_shots"].max().items()]


def _fit_task(finished: pd.DataFrame, name: str, num_shots: int) -> Task:
    runs = finished.dropna(subset=[f"{name}_{num_shots}shot_error"])
    accuracy = 1 - runs[f"{name}_{num_shots}shot_error"]
    dataset = DATASETS[name]
    fit, reason = (None, "") if dataset.negative_control else _fit_transfer(runs, accuracy)
    return Task(name, num_shots, 1 / dataset.num_classes, dataset.negative_control, runs, accuracy, fit, reason)


def _fit_transfer(runs: pd.DataFrame, accuracy: pd.Series) -> tuple[TransferFit | None, str]:
    """On the hull; where that is a straight line, which has no bend to fit, on the running best."""
    reason = ""
    for selection, hull_points in (("convex_hull", "sampled"), ("pareto", "vertices")):
        choice = {"selection": selection, "hull_points": hull_points, "groups": _trainings(runs)}
        try:
            return fit_transfer(1 - runs["upstream_error"], accuracy, **choice), ""
        except ValueError as error:
            reason = str(error)
    return None, reason


def _trainings(runs: pd.DataFrame) -> pd.Series:
    """What is drawn together in a bootstrap: branches of one trunk are no independent runs."""
    return runs["trunk_id"].fillna(runs["run_id"])


# Figures ------------------------------------------------------------------------------------------------------


def _frontier_figure(summary: Summary) -> Figure:
    fitted = [frontier for frontier in summary.frontiers if frontier.fit]
    figure = Figure(figsize=(5.2 * len(fitted), 4.4), layout="constrained")
    axes = figure.subplots(1, len(fitted), sharex=True, sharey=True, squeeze=False)[0]
    limits = []
    for ax, frontier in zip(axes, fitted, strict=True):
        assert frontier.fit is not None
        plot_frontier(frontier.fit, groups=list(frontier.runs["model_family"]), level=_LEVEL, ax=ax)
        limits.append(ax.get_ylim())
        ax.set_title(f"{frontier.name}: {_verdict(frontier)}", fontsize="medium")
        ax.label_outer()
    lows, highs = zip(*limits, strict=True)
    axes[0].set_ylim(min(lows), max(highs))
    return figure


def _transfer_figure(summary: Summary) -> Figure:
    fitted = [task for task in summary.tasks if task.fit]
    columns = min(3, len(fitted))
    rows = math.ceil(len(fitted) / columns)
    figure = Figure(figsize=(4.6 * columns, 3.9 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, task in zip(axes, fitted, strict=False):
        assert task.fit is not None
        label = f"{task.name} {task.num_shots}-shot"
        groups = list(task.runs["model_family"])
        plot_transfer(task.fit, groups=groups, level=_LEVEL, ax=ax, task=label, chance=task.chance)
        ax.get_legend().remove()  # the same in every panel: one below them all
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3 * min(2, columns), frameon=False
    )
    for ax in axes[len(fitted) :]:
        ax.remove()
    return figure


# Text ---------------------------------------------------------------------------------------------------------


def _text(summary: Summary) -> str:
    lines = [*_runs_lines(summary), "", *_frontier_lines(summary), "", *_transfer_lines(summary)]
    return "\n".join(lines) + "\n"


def _runs_lines(summary: Summary) -> list[str]:
    runs, finished = summary.runs, summary.finished
    counts = ", ".join(f"{count} {status}" for status, count in runs["status"].value_counts().items())
    families = ", ".join(f"{count} {family}" for family, count in finished["model_family"].value_counts().items())
    trainings = _trainings(runs).nunique()
    lines = [
        f"Sweep {summary.name}: {len(runs)} evaluated models ({counts}) from {trainings} trainings",
        f"  finished: {families}; {_range(finished['num_params'], ',.0f')} parameters;"
        f" {_range(finished['compute_flops'], '.2g')} training FLOPs",
    ]
    if summary.num_other:
        lines.append(f"  {summary.num_other} more in this folder are of another spec and left out.")
    if any(DATASETS[name].generated for name in finished["upstream_dataset"].unique() if name in DATASETS):
        lines.append("  The upstream images are synthetic: these figures say how the tools work, not how vision does.")
    return lines


def _range(values: pd.Series, form: str) -> str:
    return f"{values.min():{form}} to {values.max():{form}}"


def _frontier_lines(summary: Summary) -> list[str]:
    return [
        "Compute frontier, E = a C^-b + c (E upstream error, C in FLOPs; least squares in log E on the Pareto points)",
        *(line for frontier in summary.frontiers for line in _one_frontier(frontier)),
        f"  {summary.num_near_chance} runs within {1 - _NEAR_CHANCE:.0%} of a guess are left out. [..]: {_LEVEL:.0%}"
        " intervals of a bootstrap over trainings;",
        "  on a frontier they are too narrow (about .65 where .95 is meant), and wrong where the law does not fit.",
    ]


def _one_frontier(frontier: Frontier) -> list[str]:
    if frontier.fit is None:
        return [f"  {frontier.name}: no law: {frontier.reason}"]
    fit = frontier.fit
    law = ", ".join(
        "{} = {:.4g} [{:.4g}, {:.4g}]".format(p, v, *fit.interval(p, _LEVEL)) for p, v in fit.params.items()
    )
    compute, error = fit.x[fit.selected], fit.y[fit.selected]
    decades = math.log10(compute.max() / compute.min())
    return [
        f"  {frontier.name}: {law}",
        f"      {fit.selected.size} points over {decades:.2f} decades, error {error.max():.3f} to {error.min():.3f}"
        f"; their spread about the law {fit.fit.residual_std:.1%}, the test images' luck alone {_luck(frontier):.1%}",
        f"      {_verdict(frontier)}: {_MEANINGS[_verdict(frontier)]}",
    ]


def _luck(frontier: Frontier) -> float:
    """Relative error of a frontier's points that the number of test images alone makes; 0 where it is not known."""
    assert frontier.fit is not None
    runs = frontier.runs.iloc[frontier.fit.selected]
    if "upstream_num_eval" not in runs:
        return 0.0
    error = runs["upstream_error"]
    return float(np.sqrt(((1 - error) / error / runs["upstream_num_eval"]).mean()))


def _verdict(frontier: Frontier) -> str:
    """What may be said of the irreducible error."""
    assert frontier.fit is not None
    low, high = frontier.fit.interval("c", _LEVEL)
    smallest = float(frontier.fit.y.min())
    if 0 < _MISFIT * _luck(frontier) < frontier.fit.fit.residual_std:
        return "the law does NOT fit"
    if low > _NEAR_ZERO * smallest:
        return "c is told from 0"
    return "c is NOT told from 0" if high < _NEAR_SMALLEST * smallest else "c is NOT identified"


_MEANINGS = {
    "the law does NOT fit": "neither c nor its interval is to be read",
    "c is told from 0": "there is an irreducible error",
    "c is NOT told from 0": "there need be no irreducible error; it is less than its interval's end",
    "c is NOT identified": "its interval runs from about 0 to the smallest error seen",
}


def _transfer_lines(summary: Summary) -> list[str]:
    lines = ["Downstream accuracy, e_DS = k e_US^alpha + e_IR on the sampled convex hull (few-shot, whitened probe)"]
    if not summary.tasks:
        return [*lines, "  no downstream tasks"]
    better, source = _better_upstream_accuracy(summary)
    lines += [
        f"  A better upstream model has accuracy {better:.3f}, {source}.",
        f"  {'task':<16}{'shots':>5}{'chance':>8}{'best':>7}   {'predicted there':<22}{'saturation':<22}k, alpha, e_IR",
    ]
    return lines + [_task_line(task, better) for task in summary.tasks]


def _better_upstream_accuracy(summary: Summary) -> tuple[float, str]:
    """What a law that the best run is on gives more compute (the law that fits best), else 3/4 of the least error."""
    best = float(summary.finished["upstream_error"].min())
    laws = {f.name: f.fit for f in summary.frontiers if f.fit and f.name in (_ALL, summary.best_family)}
    if laws:
        name = min(laws, key=lambda name: laws[name].fit.residual_std)
        compute = _EXTRAPOLATED_COMPUTE * float(laws[name].x.max())
        band = laws[name].predict(compute, _LEVEL)
        if band.median < best:
            law = f"by the law of {name} at {compute:.2g} FLOPs, {_EXTRAPOLATED_COMPUTE:.0f} times the largest run"
            return float(1 - band.median), f"[{1 - band.high:.3f}, {1 - band.low:.3f}] {law}"
    return 1 - _BETTER * best, "with three quarters of the least error seen"


_NOTES = {
    "hidden_curvature": "nearly a straight line",
    "few_points": "as few models as parameters",
    "failed_draws": "many draws without a fit",
    "at_bound": "a parameter at its bound",
}


def _task_line(task: Task, better: float) -> str:
    start = f"  {task.name:<16}{task.num_shots:>5}{task.chance:>8.2f}{task.accuracy.max():>7.3f}   "
    if task.is_control:
        return f"{start}negative control, labels at random: mean accuracy {task.accuracy.mean():.3f}"
    if task.fit is None:
        return f"{start}no law: {task.reason}"
    band = task.fit.predict(better, _LEVEL)
    low, high = task.fit.saturation_interval(_LEVEL)
    predicted = f"{band.median:.3f} [{band.low:.3f}, {band.high:.3f}]"
    kinds = {warning.kind for warning in task.fit.warnings}
    saturation = "not seen" if "hidden_curvature" in kinds else f"{task.fit.saturation:.3f} [{low:.3f}, {high:.3f}]"
    law = ", ".join(f"{value:.3g}" for value in task.fit.params.values())
    notes = [_NOTES.get(warning.kind, warning.kind) for warning in task.fit.warnings]
    if task.fit.selection != "convex_hull":
        notes.append("its hull is a straight line: fitted to the running best")
    if band.median < task.accuracy.max():
        notes.append("the law runs below the best model")
    if task.fit.bootstrap.num_failed > len(task.fit.bootstrap.theta):
        return f"{start}no interval: most draws of {task.fit.selected.size} hull models have no bend"
    note = f"   ({'; '.join(notes)})" if notes else ""
    return f"{start}{predicted:<22}{saturation:<22}{law}{note}"
