"""What a sweep says: both laws fitted to its records, downstream accuracies predicted, as a text and two figures."""

import math
import warnings
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from scaling import FitError, FrontierFit, TransferFit, fit_frontier, fit_transfer, read_evals, read_records
from scaling.plots import plot_frontier, plot_transfer

from .data.datasets import DATASETS
from .paths import SweepPaths, write_text

__all__ = ["Summary", "summarise", "write_summary"]

_LEVEL = 0.95
_EXTRAPOLATED_COMPUTE = 10.0  # the better upstream model: that of ten times the largest compute
_NEAR_ZERO, _NEAR_SMALLEST = 0.05, 0.8  # as shares of the smallest error: an interval of c that says nothing
_NEAR_CHANCE = 0.95  # runs whose error is above this share of a guess's bend the law, which has no such plateau


@dataclass(frozen=True)
class Task:
    """A downstream task: its fit, or why there is none."""

    name: str
    num_shots: int
    chance: float
    is_control: bool
    upstream: pd.Series
    accuracy: pd.Series
    families: pd.Series
    fit: TransferFit | None
    reason: str


@dataclass(frozen=True)
class Summary:
    """Both laws of a sweep. `front` is None where no law can be fitted; then `reason` says why."""

    name: str
    runs: pd.DataFrame
    finished: pd.DataFrame
    num_near_chance: int
    front: FrontierFit | None
    front_runs: pd.DataFrame
    reason: str
    tasks: list[Task]


def write_summary(folder: Path, name: str) -> str:
    """Fit, write `summary.txt`, `frontier.png` and `transfer.png` into the sweep's folder, and return the text."""
    paths = SweepPaths(folder)
    summary = summarise(folder, name)
    if summary.front is not None:
        _save(_frontier_figure(summary), paths.figure("frontier"))
    if any(task.fit for task in summary.tasks):
        _save(_transfer_figure(summary), paths.figure("transfer"))
    text = _text(summary)
    write_text(paths.summary, text)
    return text


def summarise(folder: Path, name: str) -> Summary:
    """Fit both laws to the runs of a folder whose learning rate came to its end."""
    runs = read_records(folder)
    is_ok = runs["status"].eq("ok") & runs["cooled_down"].fillna(False).astype(bool)
    finished = runs[is_ok].reset_index(drop=True)
    chance = 1 - 1 / finished["num_classes"]
    learned = finished[finished["upstream_error"] <= _NEAR_CHANCE * chance].reset_index(drop=True)
    front, reason = None, ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are in each fit's `warnings`, and so in the text
        try:
            front = fit_frontier(learned["compute_flops"], learned["upstream_error"], selection="pareto")
        except FitError as error:
            reason = str(error)
        tasks = [_fit_task(finished, task, shots) for task, shots in _tasks(read_evals(folder))]
    return Summary(name, runs, finished, len(finished) - len(learned), front, learned, reason, tasks)


def _tasks(evals: pd.DataFrame) -> list[tuple[str, int]]:
    """Each task with its largest number of shots."""
    fewshot = evals[evals["method"] == "fewshot"]
    return [(str(task), int(shots)) for task, shots in fewshot.groupby("task", sort=False)["num_shots"].max().items()]


def _fit_task(finished: pd.DataFrame, name: str, num_shots: int) -> Task:
    rows = finished.dropna(subset=[f"{name}_{num_shots}shot_error"])
    upstream, accuracy = 1 - rows["upstream_error"], 1 - rows[f"{name}_{num_shots}shot_error"]
    dataset = DATASETS[name]
    fit, reason = None, ""
    try:
        fit = None if dataset.negative_control else fit_transfer(upstream, accuracy, hull_points="sampled")
    except (FitError, ValueError) as error:
        reason = str(error)
    return Task(
        name, num_shots, 1 / dataset.num_classes, dataset.negative_control, upstream, accuracy,
        rows["model_family"], fit, reason,
    )  # fmt: skip


# Figures ------------------------------------------------------------------------------------------------------


def _frontier_figure(summary: Summary) -> Figure:
    assert summary.front is not None
    figure = Figure(figsize=(7, 5), layout="constrained")
    plot_frontier(summary.front, groups=list(summary.front_runs["model_family"]), level=_LEVEL, ax=figure.subplots())
    return figure


def _transfer_figure(summary: Summary) -> Figure:
    fitted = [task for task in summary.tasks if task.fit is not None]
    columns = min(3, len(fitted))
    rows = math.ceil(len(fitted) / columns)
    figure = Figure(figsize=(4.6 * columns, 3.9 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, task in zip(axes, fitted, strict=False):
        assert task.fit is not None
        label = f"{task.name} {task.num_shots}-shot"
        plot_transfer(task.fit, groups=list(task.families), level=_LEVEL, ax=ax, task=label, chance=task.chance)
        if ax is not axes[0]:
            ax.get_legend().remove()  # the same in every panel
    for ax in axes[len(fitted) :]:
        ax.remove()
    return figure


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=150)


# Text ---------------------------------------------------------------------------------------------------------


def _text(summary: Summary) -> str:
    lines = [*_runs_lines(summary), "", *_frontier_lines(summary), "", *_transfer_lines(summary)]
    return "\n".join(lines) + "\n"


def _runs_lines(summary: Summary) -> list[str]:
    runs, finished = summary.runs, summary.finished
    counts = ", ".join(f"{count} {status}" for status, count in runs["status"].value_counts().items())
    families = ", ".join(f"{count} {family}" for family, count in finished["model_family"].value_counts().items())
    trainings = runs["trunk_id"].fillna(runs["run_id"]).nunique()
    lines = [
        f"Sweep {summary.name}: {len(runs)} evaluated models ({counts}) from {trainings} trainings",
        f"  finished: {families}; {_range(finished['num_params'], ',.0f')} parameters;"
        f" {_range(finished['compute_flops'], '.2g')} training FLOPs",
    ]
    if any(DATASETS[name].generated for name in finished["upstream_dataset"].unique() if name in DATASETS):
        lines.append("  The upstream images are synthetic: these figures say how the tools work, not how vision does.")
    return lines


def _range(values: pd.Series, form: str) -> str:
    return f"{values.min():{form}} to {values.max():{form}}"


def _frontier_lines(summary: Summary) -> list[str]:
    lines = ["Compute frontier, E = a C^-b + c (C in FLOPs, E the upstream error)"]
    front = summary.front
    if front is None:
        return [*lines, f"  no law: {summary.reason}"]
    for name in front.params:
        low, high = front.interval(name, _LEVEL)
        lines.append(f"  {name} = {front.params[name]:.4g}   [{low:.4g}, {high:.4g}]")
    selected = front.x[front.selected]
    decades = math.log10(selected.max() / selected.min())
    lines += [
        f"  fitted to {front.selected.size} Pareto points over {decades:.2f} decades,"
        f" error {front.y[front.selected].max():.3f} to {front.y.min():.3f};"
        f" {summary.num_near_chance} runs within {1 - _NEAR_CHANCE:.0%} of a guess left out",
        _irreducible_sentence(front),
        *(f"  warning ({warning.kind}): {warning}" for warning in front.fit.warnings),
        f"  [..]: {_LEVEL:.0%} intervals of a bootstrap over runs; on a frontier they are too narrow (see the README)",
    ]
    return lines


def _irreducible_sentence(front: FrontierFit) -> str:
    low, high = front.interval("c", _LEVEL)
    smallest = float(front.y.min())
    if low > _NEAR_ZERO * smallest:
        return f"  c is told from 0; the smallest error seen is {smallest:.3f}"
    if high < _NEAR_SMALLEST * smallest:
        return f"  c is NOT told from 0, only bounded: at most {high:.3f}, where the smallest error seen is {smallest:.3f}"
    return f"  c is NOT identified: its interval runs from about 0 to the smallest error seen, {smallest:.3f}"


def _transfer_lines(summary: Summary) -> list[str]:
    lines = ["Downstream few-shot accuracy (whitened probe), e_DS = k e_US^alpha + e_IR on the sampled convex hull"]
    if not summary.tasks:
        return [*lines, "  no downstream tasks"]
    better = _better_upstream_accuracy(summary)
    lines += [
        f"  A better upstream model: accuracy {better[0]:.3f}, {better[1]}.",
        f"  {'task':<18}{'shots':>5}{'chance':>8}{'best':>7}   {'predicted there':<24}{'saturation':<24}k, alpha, e_IR",
    ]
    return lines + [_task_line(task, better[0]) for task in summary.tasks]


def _better_upstream_accuracy(summary: Summary) -> tuple[float, str]:
    """The accuracy that the law gives more compute, else that of three quarters of the least error."""
    best = float(summary.finished["upstream_error"].min())
    if summary.front is not None:
        compute = _EXTRAPOLATED_COMPUTE * summary.finished["compute_flops"].max()
        band = summary.front.predict(compute, _LEVEL)
        if band.median < best:
            where = f"what the law gives {compute:.2g} FLOPs, {_EXTRAPOLATED_COMPUTE:.0f} times the largest run"
            return float(1 - band.median), f"{where} [{1 - band.high:.3f}, {1 - band.low:.3f}]"
    return 1 - 0.75 * best, "three quarters of the least error seen"


def _task_line(task: Task, better: float) -> str:
    start = f"  {task.name:<18}{task.num_shots:>5}{task.chance:>8.2f}{task.accuracy.max():>7.3f}   "
    if task.is_control:
        return f"{start}negative control, labels at random: mean accuracy {task.accuracy.mean():.3f}"
    if task.fit is None:
        return f"{start}no law: {task.reason}"
    band = task.fit.predict(better, _LEVEL)
    low, high = task.fit.saturation_interval(_LEVEL)
    predicted = f"{band.median:.3f} [{band.low:.3f}, {band.high:.3f}]"
    saturation = f"{task.fit.saturation:.3f} [{low:.3f}, {high:.3f}]"
    law = ", ".join(f"{value:.3g}" for value in task.fit.params.values())
    kinds = "".join(f" ({warning.kind})" for warning in task.fit.fit.warnings)
    return f"{start}{predicted:<24}{saturation:<24}{law}{kinds}"
