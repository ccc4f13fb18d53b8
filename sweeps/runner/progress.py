"""A bar with the time left, from the speeds seen so far; plain lines where none can be redrawn."""

import os
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from scaling.command_line import is_quiet, new_console

from ..engines import Event
from ..models import ModelConfig
from ..specs.grid import Trunk

__all__ = ["SweepProgress", "ending", "format_seconds", "is_redrawn", "local_time"]

_REDRAW_SECONDS = 0.5
_LINE_SECONDS = 20.0  # between lines where there is no bar
_MOST_TOLD = 20  # failures
_Kind = tuple[ModelConfig, float]  # of a training, whose speed is that of others of its kind


class SweepProgress:
    """Shows the share of the work that is done, in FLOPs, the time left, from measured speeds, and what fails.

    Args:
        trunks: the jobs, in the order of their indices in the events.
        flops: training FLOPs of one image, of each job.
        num_finetuned: images that the runs of each job are fine-tuned on, which count as images of its training.
        num_finished, num_runs: runs that were finished before, and runs in all.
    """

    def __init__(
        self,
        trunks: Sequence[Trunk],
        flops: Sequence[float],
        num_finetuned: Sequence[int],
        num_finished: int,
        num_runs: int,
        console: Console | None = None,
    ):
        self._trunks, self._flops, self._num_slots = trunks, flops, 1
        self._kinds = [(trunk.configs[0].model, count) for trunk, count in zip(trunks, flops, strict=True)]
        self._num_finished, self._num_runs = num_finished, num_runs
        self._console = console or new_console()
        self._left = [float(trunk.num_images + more) for trunk, more in zip(trunks, num_finetuned, strict=True)]
        self._total = self._work_left()
        self._last_told: dict[int, float] = {}
        self._seen: dict[_Kind, list[float]] = defaultdict(lambda: [0.0, 0.0])  # images, seconds
        self._drawn = time.monotonic()
        self._num_told = 0
        columns = (TextColumn("training"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
        texts = (TextColumn("{task.fields[runs]}"), TimeElapsedColumn(), TextColumn("{task.fields[left]}"))
        self._is_redrawn = is_redrawn(self._console)
        self._bar = Progress(*columns, *texts, console=self._console, disable=is_quiet() or not self._is_redrawn)
        self._task = self._bar.add_task("", total=self._total, runs="", left="")

    def __enter__(self) -> "SweepProgress":
        self._bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.stop()
        if (untold := self._num_told - _MOST_TOLD) > 0:
            self._print(f"and {untold} more that failed")

    def start(self, num_jobs: int, num_slots: int) -> None:
        """Of these jobs so many run side by side from now on."""
        self._num_slots = min(num_jobs, num_slots)
        self._note(f"{num_jobs} trainings, {self._num_slots} side by side; {self._runs()}")

    def update(self, event: Event) -> None:
        """Take in what a worker said."""
        if event.kind == "progress":
            num_images, num_runs = event.value
            self._num_finished += num_runs
            if num_images:
                self._measure(event.job, num_images)
        elif event.kind == "done":
            self._left[event.job] = 0.0
        self._show()

    def tell(self, line: str, always: bool = False) -> None:
        """A line above the bar; after many of them they are counted only."""
        self._num_told += not always
        if always or self._num_told <= _MOST_TOLD:
            self._print(line)

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _note(self, line: str) -> None:
        if not is_quiet():
            self._print(line)

    def _show(self) -> None:
        now = time.monotonic()
        if now - self._drawn < (_REDRAW_SECONDS if self._is_redrawn else _LINE_SECONDS):
            return
        self._drawn = now
        done = self._total - self._work_left()
        if self._is_redrawn:
            self._bar.update(self._task, completed=done, runs=self._runs(), left=self._time_left())
        else:
            self._note(f"{done / max(self._total, 1):.0%}: {self._runs()}, {self._time_left()}")

    def _runs(self) -> str:
        return f"{self._num_finished} of {self._num_runs} runs done"

    def _work_left(self) -> float:
        return sum(left * flops for left, flops in zip(self._left, self._flops, strict=True))

    def _measure(self, job: int, num_images: int) -> None:
        """The time between two reports of a job, evaluations included, is what its images take."""
        now = time.monotonic()
        if job in self._last_told:
            seen = self._seen[self._kinds[job]]
            seen[0] += num_images
            seen[1] += now - self._last_told[job]
        self._last_told[job] = now
        self._left[job] = max(0.0, self._left[job] - num_images)

    def _time_left(self) -> str:
        """Seconds an image where a model was seen, else from the FLOPs of those that were; over the slots."""
        known = {kind: seconds / images for kind, (images, seconds) in self._seen.items() if images}
        if not known:
            return "measuring the speed"
        per_flop = sum(known.values()) / max(1, sum(flops for _, flops in known))
        each = (known.get(kind, per_flop * kind[1]) for kind in self._kinds)
        seconds = [left * of_image for left, of_image in zip(self._left, each, strict=True)]
        return f"about {format_seconds(max(*seconds, sum(seconds) / self._num_slots))} left"


def is_redrawn(console: Console) -> bool:
    """Whether lines can be drawn over.

    A notebook keeps every drawing, though its `!command` has a pseudo-terminal and FORCE_COLOR; jupyter_client sets
    JPY_PARENT_PID for the kernels that it starts, and their commands inherit it.
    """
    return console.is_terminal and not console.is_dumb_terminal and "JPY_PARENT_PID" not in os.environ


def format_seconds(seconds: float) -> str:
    """
    >>> format_seconds(45), format_seconds(200), format_seconds(9000)
    ('45 s', '3 min 20 s', '2 h 30 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def local_time(moment: float, now: float) -> str:
    """A time of `time.time()` as the clock here shows it, with the zone; of another day than now with the date."""
    return time.strftime(f"{_day(moment, now, 0)}%H:%M:%S %Z", time.localtime(moment))


def ending(seconds: float, now: float) -> str:
    """When what takes so long from now on ends, to the minute; of another day within a week with the weekday."""
    return time.strftime(f"ends about {_day(now + seconds, now, 6)}%H:%M %Z", time.localtime(now + seconds))


def _day(moment: float, now: float, num_named: int) -> str:
    """A format: nothing today, the weekday for so many days from now, else the date."""
    if time.localtime(moment)[:3] == time.localtime(now)[:3]:
        return ""
    return "%a " if 0 < moment - now < num_named * 86400 else "%Y-%m-%d "
