"""Every path of a sweep's folder, spelled once; writes that a reader never sees half done."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["RunPaths", "SweepPaths", "TrunkPaths", "cache_folder", "write_json", "write_text", "written_whole"]


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
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint.pt"

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
        return RunPaths(self.runs / run_id)

    def trunk(self, trunk_id: str) -> TrunkPaths:
        return TrunkPaths(self.folder / "trunks" / trunk_id)

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


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Gives a temporary file to write, which then takes the place of `path`: no reader sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all, creating its folder."""
    with written_whole(path) as temporary:
        temporary.write_text(text)


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=1, sort_keys=True) + "\n")
