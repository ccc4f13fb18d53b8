"""Events of workers that share nothing with the runner but a disk: a file of JSON lines a job."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from .base import Event

__all__ = ["EventReader", "EventWriter", "has_ended"]


class EventWriter:
    """Appends what one job says, a few lines at a time: a step may take a millisecond, and the disk may be far.

    A line that finds no room on the disk is lost, which ends no training: without its end a job is tried again.

    Args:
        every_seconds: between writes of progress.
    """

    def __init__(self, folder: Path, job: int, every_seconds: float):
        self._path, self._every = _path(folder, job), every_seconds
        self._lines: list[str] = []
        self._written = time.monotonic()

    def report(self, *value: Any) -> None:
        self._add("progress", value)
        if time.monotonic() - self._written >= self._every:
            self._write()

    def end(self, kind: str, value: Any) -> None:
        self._add(kind, value)
        self._write()

    def _add(self, kind: str, value: Any) -> None:
        self._lines.append(json.dumps([kind, value]) + "\n")

    def _write(self) -> None:
        with suppress(OSError), open(self._path, "a") as file:
            file.write("".join(self._lines))
        self._lines, self._written = [], time.monotonic()


class EventReader:
    """Reads what is new in the files of a folder; half a line is left for the next time."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._read: dict[int, int] = {}  # bytes, by job

    def new(self) -> Iterator[Event]:
        with os.scandir(self._folder) as entries:
            sizes = {int(Path(entry).stem): entry.stat().st_size for entry in entries}
        for job, size in sorted(sizes.items()):
            if size > self._read.get(job, 0):
                yield from self._of(job)

    def _of(self, job: int) -> Iterator[Event]:
        with open(_path(self._folder, job), "rb") as file:
            file.seek(self._read.get(job, 0))
            whole = file.read().rpartition(b"\n")[0]
        self._read[job] = self._read.get(job, 0) + (len(whole) + 1 if whole else 0)
        for line in whole.splitlines():
            if event := _event(job, line):
                yield event


def has_ended(folder: Path, job: int) -> bool:
    """Whether the job's file tells its end."""
    try:
        lines = _path(folder, job).read_bytes().splitlines()
    except FileNotFoundError:
        return False
    return any((event := _event(job, line)) and event.kind != "progress" for line in lines)


def _event(job: int, line: bytes) -> Event | None:
    """None of a line that a full disk cut short."""
    try:
        kind, value = json.loads(line)
    except ValueError:
        return None
    return Event(kind, job, tuple(value) if kind == "progress" else value)


def _path(folder: Path, job: int) -> Path:
    return folder / f"{job}.jsonl"
