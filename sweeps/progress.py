"""A bar with the time left, from the speeds seen so far; plain lines where there is no terminal."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .engines import Event
from .grid import Trunk
from .models import ModelConfig

__all__ = ["SweepProgress", "format_seconds"]

_REDRAW_SECONDS = 0.5
_LINE_SECONDS = 20.0  # between lines where there is no terminal


class SweepProgress:
    """Shows the share of the work that is done, in FLOPs, and the time left, from each model's measured speed.

    Args:
        trunks: the jobs, in the order of their indices in the events.
        flops: forward FLOPs of one image of each model.
        num_finetuned: images that the runs of each job are fine-tuned on, which count as images of its training.
        num_slots: jobs that run side by side.
        num_finished, num_runs: runs that were finished before, and runs in all.
    """

    def __init__(
        self,
        trunks: Sequence[Trunk],
        flops: Mapping[ModelConfig, int],
        num_finetuned: Sequence[int],
        num_slots: int,
        num_finished: int,
        num_runs: int,
        console: Console | None = None,
    ):
        self._trunks, self._flops, self._num_slots = trunks, flops, num_slots
        self._num_finished, self._num_runs = num_finished, num_runs
        self._console = console or Console()
        self._left = [float(trunk.num_images + more) for trunk, more in zip(trunks, num_finetuned, strict=True)]
        self._total = self._work_left()
        self._last_told: dict[int, float] = {}
        self._seen: dict[ModelConfig, list[float]] = defaultdict(lambda: [0.0, 0.0])  # images, seconds
        self._drawn = time.monotonic()
        columns = (TextColumn("training"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
        texts = (TextColumn("{task.fields[runs]}"), TimeElapsedColumn(), TextColumn("{task.fields[left]}"))
        self._bar = Progress(*columns, *texts, console=self._console, disable=not self._console.is_terminal)
        self._task = self._bar.add_task("", total=self._total, runs="", left="")

    def __enter__(self) -> "SweepProgress":
        text = f"{len(self._trunks)} trainings, {self._num_slots} side by side; {self._runs()}"
        self._console.print(text, highlight=False)
        self._bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.stop()

    def update(self, event: Event) -> None:
        """Take in what a worker said."""
        if event.kind == "progress":
            num_images, num_runs = event.value
            self._num_finished += num_runs
            if num_images:
                self._measure(event.job, num_images)
        else:
            self._left[event.job] = 0.0
        self._show()

    def _show(self) -> None:
        now, is_terminal = time.monotonic(), self._console.is_terminal
        if now - self._drawn < (_REDRAW_SECONDS if is_terminal else _LINE_SECONDS):
            return
        self._drawn = now
        done = self._total - self._work_left()
        if is_terminal:
            self._bar.update(self._task, completed=done, runs=self._runs(), left=self._time_left())
        else:
            self._console.print(
                f"{done / max(self._total, 1):.0%}: {self._runs()}, {self._time_left()}", highlight=False
            )

    def _runs(self) -> str:
        return f"{self._num_finished} of {self._num_runs} runs done"

    def _work_left(self) -> float:
        return sum(left * self._flops[t.configs[0].model] for left, t in zip(self._left, self._trunks, strict=True))

    def _measure(self, job: int, num_images: int) -> None:
        """The time between two reports of a job, evaluations included, is what its images take."""
        now = time.monotonic()
        if job in self._last_told:
            seen = self._seen[self._trunks[job].configs[0].model]
            seen[0] += num_images
            seen[1] += now - self._last_told[job]
        self._last_told[job] = now
        self._left[job] = max(0.0, self._left[job] - num_images)

    def _time_left(self) -> str:
        """Seconds an image where a model was seen, else from the FLOPs of those that were; over the slots."""
        known = {model: seconds / images for model, (images, seconds) in self._seen.items() if images}
        if not known:
            return "measuring the speed"
        seconds_per_flop = sum(known.values()) / sum(self._flops[model] for model in known)
        seconds = [
            left * known.get(model := trunk.configs[0].model, seconds_per_flop * self._flops[model])
            for left, trunk in zip(self._left, self._trunks, strict=True)
        ]
        return f"about {format_seconds(max(*seconds, sum(seconds) / self._num_slots))} left"


def format_seconds(seconds: float) -> str:
    """
    >>> format_seconds(45), format_seconds(200), format_seconds(9000)
    ('45 s', '3 min 20 s', '2 h 30 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
