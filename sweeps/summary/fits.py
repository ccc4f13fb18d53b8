"""Both laws fitted to the records of a sweep."""

import re
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from scaling import FitWarning, fit_frontier, fit_transfer, read_evals, read_records
from scaling.frontier import FrontierFit
from scaling.selection.usable import NEAR_CHANCE
from scaling.transfer import TransferFit
from scaling.tuning import best_tuned

from ..data.datasets import DATASETS
from ..paths import SweepPaths

__all__ = ["ALL_RUNS", "LEVEL", "NEAR_CHANCE", "VERDICTS", "Frontier", "Summary", "Task", "summarise", "training_ids"]

LEVEL = 0.95
ALL_RUNS = "all runs"
_NEAR_ZERO, _NEAR_SMALLEST = 0.05, 0.8  # as shares of the smallest error: an interval of c that says nothing
# Spread about a law over the luck of the test images from which on the law is said not to fit. Seeds add about as much
# again, and a frontier's steps from model to model some more.
_MISFIT = 4.0
VERDICTS = {
    "the law does NOT fit": "neither c nor its interval is to be read",
    "c is told from 0": "these runs level off; other models or data may go below",
    "c is NOT told from 0": "there need be no irreducible error; it is less than its interval's end",
    "c is NOT identified": "its interval runs from about 0 to the smallest error seen",
    "the law CANNOT be checked": "there are as few points as parameters, so that it runs through all of them",
}
"""Verdicts on a frontier's irreducible error, and what each means."""


@dataclass(frozen=True)
class Frontier:
    """The frontier of a group of runs: its fit, or why there is none; `runs` are those that learned anything."""

    name: str
    runs: pd.DataFrame
    fit: FrontierFit | None
    reason: str

    @property
    def luck(self) -> float:
        """Relative error of the frontier's points that the number of test images alone makes; 0 if not known."""
        if self.fit is None or "upstream_num_eval" not in self.runs:
            return 0.0
        runs = self.runs.iloc[self.fit.selected]
        error = runs["upstream_error"]
        return float(np.sqrt(((1 - error) / error / runs["upstream_num_eval"]).mean()))

    @property
    def verdict(self) -> str:
        """What may be said of the irreducible error: a key of `VERDICTS`."""
        assert self.fit is not None
        low, high = self.fit.interval("c", LEVEL)
        smallest = float(self.fit.y.min())
        if not np.isfinite(self.fit.fit.residual_std):
            return "the law CANNOT be checked"
        if 0 < _MISFIT * self.luck < self.fit.fit.residual_std:
            return "the law does NOT fit"
        if low > _NEAR_ZERO * smallest:
            return "c is told from 0"
        return "c is NOT told from 0" if high < _NEAR_SMALLEST * smallest else "c is NOT identified"


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
    """Both laws of a sweep: frontiers of all runs and of each family, and downstream tasks.

    Attributes:
        runs: records of the last weights.
        num_other: records in the folder that are of another spec.
        num_only_evaluated: models without training, which have no compute and maybe no upstream error.
        num_stopped: runs that ended before their learning rate did.
        tuning: what was chosen on held-out images, or why nothing was.
        finished: what the laws are fitted to: the end of each run, of those that were tuned of the best of each cell.
        num_near_chance: of the finished, left out of the frontiers.
    """

    name: str
    runs: pd.DataFrame
    num_other: int
    num_only_evaluated: int
    num_stopped: int
    tuning: list[str]
    finished: pd.DataFrame
    num_near_chance: int
    frontiers: list[Frontier]
    tasks: list[Task]

    @property
    def best_family(self) -> str:
        """The family of the run with the least error."""
        return str(self.finished["model_family"].iloc[int(self.finished["upstream_error"].argmin())])


def summarise(folder: Path, name: str, run_ids: Collection[str] | None = None, tuned: Sequence[str] = ()) -> Summary:
    """Fit both laws to the runs of a folder whose learning rate came to its end.

    Args:
        folder, name: of the sweep, whose tables have been collected.
        run_ids: the runs to summarise; None takes all that the folder holds.
        tuned: columns of the recipe that take several values in runs alike in all else: the best of each such cell is
            fitted, chosen on held-out training images.
    """
    everything = read_records(SweepPaths(folder).table("records"))
    runs = everything if run_ids is None else everything[everything["run_id"].isin(run_ids)]
    is_ok, is_trained = runs["status"].eq("ok"), runs["step"] > 0
    finished = runs[is_ok & is_trained & runs["cooled_down"].eq(True)].reset_index(drop=True)
    is_cut = is_trained & ~runs["run_id"].isin([*finished["run_id"], *runs.loc[~is_ok, "run_id"]])
    finished, tuning = _best_of_cells(runs[is_trained], finished, tuned)
    chance = 1 - 1 / finished["num_classes"]
    learned = finished[finished["upstream_error"].between(0, NEAR_CHANCE * chance, inclusive="right")]
    learned = learned.reset_index(drop=True)  # an error of 0 has no logarithm
    families = sorted(finished["model_family"].unique())
    groups = {ALL_RUNS: learned} | {family: learned[learned["model_family"] == family] for family in families}
    if len(families) == 1:
        del groups[families[0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # they are in each fit's `warnings`, and so in the text
        frontiers = [_fit_frontier(group, members) for group, members in groups.items()]
        shots_by_task = _tasks(finished.dropna(axis="columns", how="all"))
        num_classes = _num_classes([task for task, _ in shots_by_task], folder)
        tasks = [_fit_task(finished, task, shots, num_classes[task]) for task, shots in shots_by_task]
    num_other, num_only_evaluated = len(everything) - len(runs), int((is_ok & ~is_trained).sum())
    num_stopped, num_near_chance = runs.loc[is_cut, "run_id"].nunique(), len(finished) - len(learned)
    return Summary(
        name, runs, num_other, num_only_evaluated, num_stopped, tuning, finished, num_near_chance, frontiers, tasks
    )


def _best_of_cells(
    trained: pd.DataFrame, finished: pd.DataFrame, tuned: Sequence[str]
) -> tuple[pd.DataFrame, list[str]]:
    """The finished runs that are the best of their cell, and what must be said of the choice."""
    if not tuned:
        return finished, []
    names = ", ".join(tuned)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", FitWarning)
            best = best_tuned(trained, tuned)
    except ValueError as error:
        return finished, [f"warning: every {names} is fitted, not the best of each cell: {error}"]
    said = f"tuned: {names}; of each of {best['cell'].nunique()} cells the best on held-out images is fitted"
    bias = f", whose error is {best['choice_bias'].mean():.3f} above the least of the cell on the test images"
    kept = finished[finished["run_id"].isin(best["run_id"])].reset_index(drop=True)
    return kept, [said + bias, *(f"warning: {warning.message}" for warning in caught)]


def _fit_frontier(name: str, runs: pd.DataFrame) -> Frontier:
    try:
        return Frontier(
            name, runs, fit_frontier(runs["compute_flops"], runs["upstream_error"], groups=training_ids(runs)), ""
        )
    except ValueError as error:
        return Frontier(name, runs, None, str(error))


def _tasks(runs: pd.DataFrame) -> list[tuple[str, int]]:
    """Each task with its largest number of shots, from the columns `<task>_<shots>shot_error`."""
    shots: dict[str, int] = {}
    for column in runs.columns:
        if match := re.fullmatch(r"(.+)_(\d+)shot_error", column):
            shots[match[1]] = max(int(match[2]), shots.get(match[1], 0))
    return list(shots.items())


def _num_classes(tasks: list[str], folder: Path) -> dict[str, int]:
    """Of each task; of one that lies in a folder, as its evaluations say."""
    known = {task: DATASETS[task].num_classes for task in tasks if task in DATASETS}
    if len(known) == len(tasks):
        return known
    return {
        str(task): int(n)
        for task, n in read_evals(SweepPaths(folder).table("evals")).groupby("task")["num_classes"].first().items()
    } | known


def _fit_task(finished: pd.DataFrame, name: str, num_shots: int, num_classes: int) -> Task:
    runs = finished.dropna(subset=[f"{name}_{num_shots}shot_error"])
    accuracy = 1 - runs[f"{name}_{num_shots}shot_error"]
    negative_control = name in DATASETS and DATASETS[name].negative_control
    fit, reason = (None, "") if negative_control else _fit_transfer(runs, accuracy)
    return Task(name, num_shots, 1 / num_classes, negative_control, runs, accuracy, fit, reason)


def _fit_transfer(runs: pd.DataFrame, accuracy: pd.Series) -> tuple[TransferFit | None, str]:
    """On the hull; where that is a straight line, which has no bend to fit, on the running best."""
    reason = ""
    for selection, hull_points in (("convex_hull", "sampled"), ("pareto", "vertices")):
        choice = {"selection": selection, "hull_points": hull_points, "groups": training_ids(runs)}
        try:
            return fit_transfer(1 - runs["upstream_error"], accuracy, **choice), ""
        except ValueError as error:
            reason = str(error)
    return None, reason


def training_ids(runs: pd.DataFrame) -> pd.Series:
    """What is drawn together in a bootstrap: branches of one trunk are no independent runs."""
    return runs["trunk_id"].fillna(runs["run_id"])
