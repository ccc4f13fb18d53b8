"""A bar with the time left, from the speeds seen so far; plain lines where there is no terminal."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .config import ModelConfig
from .engines.local import Event
from .grid import Trunk

__all__ = ["SweepProgress", "format_seconds"]

_REDRAW_SECONDS = 0.5


class SweepProgress:
    """Counts finished runs; the time left weighs the images still to train by each model's measured speed.

    Args:
        trunks: the jobs, in the order of their indices in the events.
        flops: forward FLOPs of one image of each model, to guess the speed of a model not yet seen.
        num_slots: jobs that run side by side.
    """

    def __init__(
        self, trunks: Sequence[Trunk], flops: Mapping[ModelConfig, int], num_slots: int, console: Console | None = None
    ):
        self._trunks, self._flops, self._num_slots = trunks, flops, num_slots
        self._console = console or Console()
        self._left = [float(trunk.num_images) for trunk in trunks]
        self._started: dict[int, float] = {}
        self._seen: dict[ModelConfig, list[float]] = defaultdict(lambda: [0.0, 0.0])  # images, seconds
        self._drawn = 0.0
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("runs"))
        times = (TimeElapsedColumn(), TextColumn("{task.fields[left]}"))
        self._bar = Progress(*columns, *times, console=self._console, disable=not self._console.is_terminal)
        total = sum(len(trunk.configs) for trunk in trunks)
        self._task = self._bar.add_task("training", total=total, left="measuring the speed")
        self._total, self._done = total, 0

    def __enter__(self) -> "SweepProgress":
        self._bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.stop()

    def update(self, event: Event) -> None:
        """Take in what a worker said."""
        model = self._trunks[event.job].configs[0].model
        now = time.monotonic()
        if event.kind == "progress":
            self._measure(event, model, now)
            if now - self._drawn > _REDRAW_SECONDS:
                self._drawn = now
                self._bar.update(self._task, left=self._time_left())
            return
        self._left[event.job] = 0.0
        self._done += len(self._trunks[event.job].configs)
        self._bar.update(self._task, completed=self._done, left=self._time_left())
        if not self._console.is_terminal:
            self._console.print(f"{self._done} of {self._total} runs, {self._time_left()}")

    def _measure(self, event: Event, model: ModelConfig, now: float) -> None:
        """The time between two steps of a job, evaluations included, is what its images take."""
        if event.job in self._started:
            seen = self._seen[model]
            seen[0] += event.value
            seen[1] += now - self._started[event.job]
        self._started[event.job] = now
        self._left[event.job] = max(0.0, self._left[event.job] - event.value)

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
        return f"about {format_seconds(max(max(seconds), sum(seconds) / self._num_slots))} left"


def format_seconds(seconds: float) -> str:
    """
    >>> format_seconds(45), format_seconds(200), format_seconds(9000)
    ('45 s', '3 min 20 s', '2 h 30 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
