"""An overview in words: one glance tells whether anything is to be done."""

import textwrap
import time
from collections.abc import Iterator
from typing import Any

from ..words import plural
from .overview import Failure, Overview

__all__ = ["STYLES", "overview_json", "overview_lines"]

_MOST_GROUPS, _MOST_MODELS, _ERROR_LINES = 6, 4, 3
STYLES = {"ok": "green", "diverged": "yellow", "running": "cyan", "waiting": "dim", "failed": "red", "oom": "red"}
_WORDS = {"oom": "out of memory"}
_WIDEST_BAR, _LEAST_WIDTH = 40, 40

Line = tuple[str, str]
"""A line and its style."""


def overview_json(found: Overview) -> dict[str, Any]:
    """The same facts, none shortened."""
    left = found.left
    return {
        "name": found.name, "folder": found.folder, "num_runs": found.num_runs, "statuses": found.statuses,
        "all_finished": found.all_finished, "num_trunks_running": found.num_trunks_running,
        "flops_share": found.flops_share, "work_share": found.share, "work_unit": found.unit,
        "seconds_left": left and left.seconds, "seconds_left_unknown": (left and left.reason) or None,
        "failures": [_failure_json(failure) for failure in found.failures],
        "lacking": [_failure_json(failure) for failure in found.lacking],
        "diverged": [vars(run) for run in found.diverged],
        "damaged": [{"file": file, "why": why} for file, why in found.damaged.items()],
        "damaged_others": [{"file": file, "why": why} for file, why in found.damaged_others.items()],
        "num_runs_of_earlier_plans": found.num_others,
    }  # fmt: skip


def _failure_json(failure: Failure) -> dict[str, Any]:
    return {"count": len(failure.run_ids), **vars(failure), "run_ids": list(failure.run_ids)}


def overview_lines(found: Overview, width: int = 80) -> Iterator[Line]:
    """Counts, progress, then what went wrong, each with the file to look at; long lists are shortened."""
    width = max(width, _LEAST_WIDTH)
    yield f"{found.folder}: {found.name}, {plural(found.num_runs, 'run')}", "bold"
    yield from _counts(found, width)
    yield from _progress(found)
    yield from _failures(found.failures, "no result", width, "red")
    yield from _diverged(found)
    yield from _failures(found.lacking, "finished, but they lack something", width, "yellow")
    yield from _damaged(found.damaged, "their runs are trained again by the same `sweeps run`")
    yield from _damaged(found.damaged_others, "their runs are done; remove a run's folder to have it trained again")
    if found.num_others:
        yield "", ""
        yield f"{plural(found.num_others, 'run')} of earlier plans in the folder, not counted above", ""


def _counts(found: Overview, width: int) -> Iterator[Line]:
    widest = max(1, min(_WIDEST_BAR, width - 40))
    for name, count in found.statuses.items():
        bar = "█" * max(1, round(widest * count / found.num_runs))
        where = f"  in {plural(found.num_trunks_running, 'training')}" if name == "running" else ""
        yield f"  {_WORDS.get(name, name):<14}{count:>7,}  {bar:<{widest}}{where}".rstrip(), STYLES.get(name, "red")


def _progress(found: Overview) -> Iterator[Line]:
    yield "", ""
    if found.all_finished:
        yield "all done", "green"
        return
    if found.share is not None:
        yield f"done       {found.share:.1%} of the {found.unit} of the plan", ""
    if found.left is None:
        yield "time left  nothing runs; the same `sweeps run` goes on from here", ""
    else:
        from ..runner.progress import ending, format_seconds  # a second of importing, which nothing else here takes

        seconds = found.left.seconds
        known = "" if seconds is None else f"about {format_seconds(seconds)}, {ending(seconds, time.time())}"
        yield f"time left  {known or found.left.reason}", ""


def _failures(failures: tuple[Failure, ...], title: str, width: int, style: str) -> Iterator[Line]:
    if not failures:
        return
    yield "", ""
    runs, kinds = sum(len(f.run_ids) for f in failures), plural(len(failures), "kind") + " of fault"
    yield f"{title}: {plural(runs, 'run')}, {kinds}", f"bold {style}"
    for failure in failures[:_MOST_GROUPS]:
        count = f"  {len(failure.run_ids):>5,} x "
        yield from ((line, style) for line in _wrapped(f"{_memory(failure)}{failure.error}", count, width))
        yield f"          {_models(failure)}", ""
        yield f"          {failure.traceback or 'no traceback was kept: ' + failure.run_ids[0]}", ""
    yield from _and_more(len(failures), "kind")


def _memory(failure: Failure) -> str:
    return "out of memory: " if failure.status == "oom" else ""


def _wrapped(text: str, start: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=start, subsequent_indent=" " * 10, max_lines=_ERROR_LINES, placeholder=" ...",
        break_on_hyphens=False,
    )  # fmt: skip


def _models(failure: Failure) -> str:
    named = [f"{name} ({count})" for name, count in list(failure.models.items())[:_MOST_MODELS]]
    more = len(failure.models) - len(named)
    return "of " + ", ".join(named) + (f" and {plural(more, 'more model')}" if more else "")


def _diverged(found: Overview) -> Iterator[Line]:
    """Grouped by model and learning rate, the usual cause; the largest group first."""
    if not found.diverged:
        return
    yield "", ""
    yield f"diverged: {plural(len(found.diverged), 'run')}; this is a result and is not tried again", "bold yellow"
    groups: dict[tuple[str, float | None], list[Any]] = {}
    for run in found.diverged:
        groups.setdefault((run.model, run.lr), []).append(run)
    for (model, rate), runs in sorted(groups.items(), key=lambda item: -len(item[1]))[:_MOST_GROUPS]:
        steps = sorted(run.step for run in runs if run.step is not None)
        at = "" if not steps else f" at step {steps[0]:,}" + (f" to {steps[-1]:,}" if steps[-1] > steps[0] else "")
        lr = "" if rate is None else f", lr {rate:g}"
        yield f"  {len(runs):>5,} x {model}{lr}{at}, such as {runs[0].run_id}", "yellow"
    yield from _and_more(len(groups), "group")


def _damaged(files: dict[str, str], advice: str) -> Iterator[Line]:
    if not files:
        return
    yield "", ""
    yield f"damaged: {plural(len(files), 'file')}; {advice}", "bold red"
    for file, why in list(files.items())[:_MOST_GROUPS]:
        yield f"  {file}: {textwrap.shorten(why, 100)}", "red"
    yield from _and_more(len(files), "file")


def _and_more(num: int, noun: str) -> Iterator[Line]:
    if num > _MOST_GROUPS:
        yield f"  and {plural(num - _MOST_GROUPS, 'more ' + noun)}: `--json` lists all", ""
