"""What a sweep says, as a text for a terminal."""

import math
from collections.abc import Iterator

import pandas as pd

from ..data.datasets import DATASETS
from .fits import ALL_RUNS, LEVEL, NEAR_CHANCE, VERDICTS, Frontier, Summary, Task, training_ids

__all__ = ["summary_text"]

_BETTER = 0.75  # the better model's share of the least error, where no law gives one
_EXTRAPOLATED_COMPUTE = 10.0  # the better upstream model: that of ten times the largest compute


def summary_text(summary: Summary) -> str:
    laws = ["", *_frontier_lines(summary), "", *_transfer_lines(summary)] if len(summary.finished) else []
    lines = [*_runs_lines(summary), *laws]
    return "\n".join(lines) + "\n"


def _runs_lines(summary: Summary) -> list[str]:
    runs, finished = summary.runs, summary.finished
    counts = ", ".join(f"{count} {status}" for status, count in runs["status"].value_counts().items())
    families = ", ".join(f"{count} {family}" for family, count in finished["model_family"].value_counts().items())
    num_trainings = training_ids(runs).nunique()
    lines = [f"Sweep {summary.name}: {len(runs)} evaluated models ({counts}) from {num_trainings} trainings"]
    lines += [f"  {line}" for line in (*_left_out(summary), *summary.tuning)]
    if finished.empty:
        return [*lines, "  No run has come to its end: there is nothing to fit."]
    lines.append(
        f"  fitted: {families}; {_range(finished['num_params'], ',.0f')} parameters;"
        f" {_range(finished['compute_flops'], '.2g')} training FLOPs"
    )
    if any(DATASETS[name].generated for name in finished["upstream_dataset"].unique() if name in DATASETS):
        lines.append("  The upstream images are synthetic: these figures say how the tools work, not how vision does.")
    return lines


def _left_out(summary: Summary) -> Iterator[str]:
    if summary.num_other:
        yield f"{summary.num_other} more in this folder are of another spec and left out."
    if summary.num_only_evaluated:
        yield f"{summary.num_only_evaluated} were only evaluated, not trained here, and are left out of both laws."
    if summary.num_stopped:
        yield f"{summary.num_stopped} runs ended before their learning rate did (evaluate.stop_after) and are left out."
    runs = summary.runs
    for failure, count in runs.loc[runs["status"].eq("ok"), "failure"].value_counts().items():
        yield f"{count} finished {'run has' if count == 1 else 'runs have'} {failure} in the run's folder."


def _range(values: pd.Series, form: str) -> str:
    return f"{values.min():{form}} to {values.max():{form}}"


def _frontier_lines(summary: Summary) -> list[str]:
    return [
        "Compute frontier, E = a C^-b + c (E upstream error, C in FLOPs; least squares in log E on the Pareto points)",
        *(line for frontier in summary.frontiers for line in _one_frontier(frontier)),
        f"  {summary.num_near_chance} runs within {1 - NEAR_CHANCE:.0%} of a guess are left out. [..]: {LEVEL:.0%}"
        " intervals of a bootstrap over trainings;",
        "  on a frontier they are too narrow (about .7 where .95 is meant), and wrong where the law does not fit.",
    ]


def _one_frontier(frontier: Frontier) -> list[str]:
    if frontier.fit is None:
        return [f"  {frontier.name}: no law: {frontier.reason}"]
    fit = frontier.fit
    law = ", ".join("{} = {:.4g} [{:.4g}, {:.4g}]".format(p, v, *fit.interval(p, LEVEL)) for p, v in fit.params.items())
    compute, error = fit.x[fit.selected], fit.y[fit.selected]
    decades = math.log10(compute.max() / compute.min())
    return [
        f"  {frontier.name}: {law}",
        f"      {fit.selected.size} points over {decades:.2f} decades, error {error.max():.3f} to {error.min():.3f}"
        f"; {_spread(fit.fit.residual_std)}the test images' luck alone {frontier.luck:.1%}",
        f"      {frontier.verdict}: {VERDICTS[frontier.verdict]}",
    ]


def _spread(residual_std: float) -> str:
    """Nothing where there are as few points as parameters."""
    return f"their spread about the law {residual_std:.1%}, " if math.isfinite(residual_std) else ""


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
    laws = {f.name: f.fit for f in summary.frontiers if f.fit and f.name in (ALL_RUNS, summary.best_family)}
    if laws:
        name = min(laws, key=lambda name: laws[name].fit.residual_std)
        compute = _EXTRAPOLATED_COMPUTE * float(laws[name].x.max())
        band = laws[name].predict(compute, LEVEL)
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
    band = task.fit.predict(better, LEVEL)
    low, high = task.fit.saturation_interval(LEVEL)
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
