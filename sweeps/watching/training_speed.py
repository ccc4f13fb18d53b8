"""Images a second of the trainings that run, from how their metrics grow between two looks."""

import json
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["WINDOW_SECONDS", "GrowingMetrics", "TrainingSpeed"]

WINDOW_SECONDS = 60.0  # a line comes every 20 steps, which of a slow model are far apart


class GrowingMetrics:
    """A `metrics.jsonl` that is being written, read from where the last look ended."""

    def __init__(self, path: Path):
        self._path, self._end = path, 0
        self._step: int | None = None
        self.num_steps = 0

    def look(self) -> None:
        """Add the steps of the lines that are new and whole."""
        try:
            with open(self._path, "rb") as file:
                if file.seek(0, 2) < self._end:  # begun anew
                    self._end, self._step = 0, None
                file.seek(self._end)
                new = file.read()
        except OSError:
            return
        whole = new[: new.rfind(b"\n") + 1]
        self._end += len(whole)
        for line in whole.splitlines():
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            step = int(json.loads(line)["step"])
        except (ValueError, KeyError, TypeError, OverflowError):
            return
        # A branch goes back to where it leaves the trunk; how many steps its first line is of cannot be told.
        if self._step is not None:
            self.num_steps += max(0, step - self._step)
        self._step = step


class TrainingSpeed:
    """Images a second over the last minute, of all trunks that run."""

    def __init__(self):
        self._metrics: dict[str, GrowingMetrics] = {}
        self._seen: deque[tuple[float, float]] = deque()
        self._total = 0.0

    def look(self, paths: Mapping[str, Path], batch_sizes: Mapping[str, int], now: float) -> float | None:
        """None until two looks have seen images.

        Args:
            paths: the metrics of each trunk that runs.
        """
        for trunk_id, path in paths.items():
            new = trunk_id not in self._metrics
            metrics = self._metrics.setdefault(trunk_id, GrowingMetrics(path))
            before = metrics.num_steps
            metrics.look()
            if not new:  # what it did before it was first looked at belongs to no time that is known
                self._total += (metrics.num_steps - before) * batch_sizes[trunk_id]
        self._forget(paths)
        if self._seen and now < self._seen[-1][0]:  # the clock was set back
            self._seen.clear()
        self._seen.append((now, self._total))
        while len(self._seen) > 2 and now - self._seen[1][0] >= WINDOW_SECONDS:
            self._seen.popleft()
        first, before = self._seen[0]
        return (self._total - before) / (now - first) if now > first and self._total > before else None

    def _forget(self, running: Iterable[str]) -> None:
        self._metrics = {trunk_id: self._metrics[trunk_id] for trunk_id in running}
