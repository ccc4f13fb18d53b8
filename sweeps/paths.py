"""Every path of a sweep's folder, spelled once; writes that a reader never sees half done."""

import errno
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .full_disk import when_there_is_room

__all__ = [
    "RunPaths", "SweepPaths", "TrunkPaths", "append_text", "cache_folder", "write_json", "write_text", "written_whole",
]  # fmt: skip


@dataclass(frozen=True)
class RunPaths:
    """One run's folder."""

    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "config.json"

    @property
    def metrics(self) -> Path:
        return self.folder / "metrics.jsonl"

    @property
    def records(self) -> Path:
        return self.folder / "records.parquet"

    @property
    def evals(self) -> Path:
        return self.folder / "evals.parquet"

    @property
    def measurements(self) -> Path:
        return self.folder / "measurements.parquet"

    @property
    def duplicates(self) -> Path:
        """How many training images repeated test images and were left out."""
        return self.folder / "duplicates.json"

    @property
    def model(self) -> Path:
        """The last weights, of runs that keep them."""
        return self.folder / "model.safetensors"

    @property
    def traceback(self) -> Path:
        return self.folder / "traceback.txt"


@dataclass(frozen=True)
class TrunkPaths:
    """What the branches of one trunk share while it trains."""

    folder: Path

    @property
    def metrics(self) -> Path:
        return self.folder / "metrics.jsonl"

    @property
    def lock(self) -> Path:
        """Held by the worker that trains the trunk; beside the folder, which goes when the trunk is done."""
        return self.folder.with_name(f"{self.folder.name}.lock")


@dataclass(frozen=True)
class SweepPaths:
    """A sweep's folder: its whole state."""

    folder: Path

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    def run(self, run_id: str) -> RunPaths:
        return RunPaths(self.runs / _one_name(run_id))

    def trunk(self, trunk_id: str) -> TrunkPaths:
        return TrunkPaths(self.folder / "trunks" / _one_name(trunk_id))

    @property
    def spec(self) -> Path:
        return self.folder / "spec.yaml"

    @property
    def plan(self) -> Path:
        """The runs that the spec asked for when it was last run, each with its resolved config."""
        return self.folder / "plan.jsonl"

    @property
    def lock(self) -> Path:
        return self.folder / ".lock"

    @property
    def summary(self) -> Path:
        return self.folder / "summary.txt"

    def table(self, name: str) -> Path:
        """The collected "records", "evals" or "measurements"."""
        return self.folder / f"{name}.parquet"

    def figure(self, name: str) -> Path:
        return self.folder / f"{name}.png"


def cache_folder() -> Path:
    """What can be made anew and is shared by all sweeps: decoded images, indices, compiled code."""
    return Path(os.environ.get("SWEEPS_CACHE_DIR") or "~/.cache/vision-scaling-laws").expanduser()


def _one_name(name: str) -> str:
    """An id read from a file must not lead out of the folder."""
    if not name.isalnum():
        raise ValueError(f"an id is of letters and digits, got {name!r}")
    return name


def written_whole(path: Path, write: Callable[[Path], None], *, waits: bool = True, durable: bool = True) -> None:
    """Write a temporary file, which then takes the place of `path`: no reader sees half a file.

    Args:
        write: writes the file that it is given; called again where the disk was full.
        waits: for room on a full disk; False raises what `write` raised.
        durable: outlasts a loss of power too, which takes milliseconds.
    """
    attempt = partial(_write_whole, path, write, durable)
    when_there_is_room(path.parent, attempt) if waits else attempt()


def _write_whole(path: Path, write: Callable[[Path], None], durable: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        if durable:
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str, **how: bool) -> None:
    """Write a file whole or not at all, creating its folder; `how` is that of `written_whole`."""
    written_whole(path, lambda temporary: _write(temporary, text), **how)


def write_json(path: Path, value: Any, **how: bool) -> None:
    write_text(path, json.dumps(value, indent=1, sort_keys=True) + "\n", **how)


def append_text(path: Path, text: str) -> None:
    """Add text to the end of a file, all of it or none; waits for room on a full disk."""
    when_there_is_room(path.parent, partial(_append, path, text.encode()))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _append(path: Path, data: bytes) -> None:
    with open(path, "ab", buffering=0) as file:
        before = file.tell()
        try:
            if file.write(data) < len(data):  # what the system does where only a part has room
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        except OSError:
            file.truncate(before)
            raise
