"""A sweep, live: it only reads, and reads again only what has changed."""

import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from ..paths import SweepPaths
from ..runner.frozen_plan import read_frozen_plan
from ..runner.progress import ending, format_seconds, is_redrawn, local_time
from ..runner.record_rows import OtherTables, RecordRows
from ..words import plural
from .frontier_plot import PlotPoint, frontier_plot
from .overview import Overview, overview_of
from .overview_text import STYLES
from .training_speed import WINDOW_SECONDS, TrainingSpeed

__all__ = ["Watcher", "watch"]

_MOST_FAILURES = 3
_WIDEST_PLOT, _PLOT_ROWS = 110, 14
_MARKS = {"ok": "█", "diverged": "▓", "failed": "X", "oom": "X", "running": "▒", "waiting": "░"}  # of the bar, in order
_NO_RESULT = ("failed", "oom")


class Watcher:
    """Looks at a sweep's folder again and again.

    Raises:
        FileNotFoundError: not a sweep's folder.
    """

    def __init__(self, paths: SweepPaths):
        self._paths = paths
        self._records, self._others = RecordRows(paths), OtherTables(paths)
        self._plan, self._plan_time = read_frozen_plan(paths), paths.plan.stat().st_mtime_ns
        self._speed = TrainingSpeed()
        self._fresh = True

    def look(self, now: float) -> tuple[Overview, float | None]:
        """What the folder tells now, and images a second, None where they are not known yet."""
        if not self._fresh:
            self._records.look()
            self._others.look()
            self._read_plan()
        self._fresh = False
        found = overview_of(self._paths, self._plan, self._records, self._others, now)
        batches = {run.trunk_id: int(run.config["recipe"]["batch_size"]) for run in self._plan.runs}
        metrics = {trunk_id: self._paths.trunk(trunk_id).metrics for trunk_id in found.running_trunks}
        speeds = (self._speed.look(metrics, batches, now), self._finished_speed(now))
        return found, max((speed for speed in speeds if speed), default=None)

    def _finished_speed(self, now: float) -> float | None:
        """Of the runs that ended in the last minute: a training of seconds begins and ends between two looks."""
        images = sum(
            run.num_images
            for run in self._plan.runs
            if run.run_id in self._records.rows and 0 <= now - self._records.finish_time(run.run_id) < WINDOW_SECONDS
        )
        return images / min(WINDOW_SECONDS, max(1.0, now - self._plan_time / 1e9)) or None

    def points(self) -> list[PlotPoint]:
        """The last weights of each run of the plan that has finished."""
        rows = (row for run in self._plan.runs for row in self._records.rows.get(run.run_id, [])[-1:])
        return [
            PlotPoint(row["compute_flops"], row["upstream_error"], row["model_family"] or "unknown")
            for row in rows
            if row["status"] == "ok" and row["compute_flops"] is not None and row["upstream_error"] is not None
        ]

    def latest_failures(self) -> list[tuple[float, str, str]]:
        """When, which run and why, the latest first."""
        runs = ((run.run_id, self._records.rows.get(run.run_id, [])[-1:]) for run in self._plan.runs)
        failed = [(run_id, row[0]["failure"] or "") for run_id, row in runs if row and row[0]["status"] in _NO_RESULT]
        return sorted(((self._records.finish_time(i), i, why) for i, why in failed), reverse=True)[:_MOST_FAILURES]

    def _read_plan(self) -> None:
        changed = self._paths.plan.stat().st_mtime_ns
        if changed != self._plan_time:
            self._plan, self._plan_time = read_frozen_plan(self._paths), changed


def watch(folder: Path, every_seconds: float, once: bool, console: Console) -> None:
    """Until it is interrupted, or once; in place on a terminal, else a snapshot each time.

    Raises:
        FileNotFoundError: not a sweep's folder.
    """
    watcher = Watcher(SweepPaths(folder))
    if once or not is_redrawn(console):
        for screen in _screens(watcher, every_seconds, once, console):
            console.print(screen, soft_wrap=True)
        return
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        for screen in _screens(watcher, every_seconds, once, console):
            live.update(screen, refresh=True)


def _screens(watcher: Watcher, every_seconds: float, once: bool, console: Console) -> Iterator[Group]:
    while True:
        yield _screen(watcher, time.time(), console)
        if once:
            return
        time.sleep(every_seconds)


def _screen(watcher: Watcher, now: float, console: Console) -> Group:
    found, speed = watcher.look(now)
    width = min(console.width, _WIDEST_PLOT)
    lines = [Text(f"{found.folder}: {found.name}, {local_time(now, now)}", style="bold")]
    lines += [
        _bar(found, width),
        Text(_counts(found)),
        Text(_speed_line(found, speed, now)),
        Text(),
    ]
    if num_damaged := len(found.damaged) + len(found.damaged_others):
        lines.insert(-1, Text(f"{plural(num_damaged, 'damaged file')}: `sweeps status` names them", style="bold red"))
    lines += [Text(line) for line in frontier_plot(watcher.points(), width, _rows(console))]
    if failures := watcher.latest_failures():
        lines += [Text(), Text("latest failures", style="bold red")]
        for ended, run_id, why in failures:
            text = f"  {local_time(ended, now)} {run_id} {why}"
            lines.append(Text(_cut(text, console.width), style="red"))
    return Group(*lines)


def _rows(console: Console) -> int:
    """Of the plot: what the other lines leave of the terminal."""
    return min(_PLOT_ROWS, console.height - 14) if console.is_terminal else _PLOT_ROWS


def _bar(found: Overview, width: int) -> Text:
    bar, left = Text(), width
    names = [name for name in _MARKS if found.statuses.get(name)]
    for name in names:
        share = found.statuses[name] / found.num_runs
        length = left if name == names[-1] else min(left, max(1, round(share * width)))
        bar.append(_MARKS[name] * length, style=STYLES[name])
        left -= length
    return bar


def _counts(found: Overview) -> str:
    done = found.statuses.get("ok", 0) + found.statuses.get("diverged", 0)
    names = [f"{count:,} {name}" for name, count in found.statuses.items() if name != "ok"]
    return ", ".join([f"{done:,} of {plural(found.num_runs, 'run')} done", *names])


def _speed_line(found: Overview, speed: float | None, now: float) -> str:
    if found.all_finished:
        return "all done"
    if found.left is None:
        return "nothing runs; the same `sweeps run` goes on from here"
    images = "images/s: measuring" if speed is None else f"{speed:,.0f} images/s"
    seconds = found.left.seconds
    left = found.left.reason if seconds is None else f"about {format_seconds(seconds)}, {ending(seconds, now)}"
    return f"{plural(found.num_trunks_running, 'training')} running, {images}, time left {left}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
