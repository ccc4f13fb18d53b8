"""Checkpoints of a training: each a file with a manifest beside it, the newest and the one before it kept.

A file is whole before its manifest is there, so that a training killed at any moment leaves one to go on from.
"""

import hashlib
import os
import pickle
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict

from ..paths import write_text, written_whole
from .out_of_memory import is_out_of_memory

__all__ = ["CheckpointClock", "Checkpoints"]

_SECONDS = 30.0
_MOST_OF_TIME = 1 / 20  # the share of the time that saving takes at most
_FAULTS = (OSError, EOFError, RuntimeError, pickle.UnpicklingError, ValueError)  # of a file that cannot be read


class _Manifest(BaseModel):
    """What a checkpoint file must be: of which trunk or run, at which step, the how manieth, and its content's hash."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    owner: str
    step: int
    serial: int
    bytes: int
    sha256: str

    @property
    def name(self) -> str:
        return f"checkpoint-{self.step}-{self.serial}"


@dataclass
class Checkpoints:
    """Those of one trunk or run in its folder.

    Attributes:
        owner: the id of the trunk or run; a checkpoint of another is not taken.
    """

    folder: Path
    owner: str
    _last: _Manifest | None = None  # what was loaded or saved last: that one is whole

    def save(self, state: dict[str, Any], step: int) -> float:
        """Write one more and drop all but the one before it; returns the seconds that writing took.

        Args:
            state: plain values and tensors.
        """
        previous = self._last or max(self._manifests(), key=lambda manifest: manifest.serial, default=None)
        self._drop_others(previous)  # first, so that there are never three
        serial = previous.serial + 1 if previous else 1
        written: dict[str, Any] = {}

        def write(temporary: Path) -> None:
            started = time.monotonic()
            written.update(_write(state, temporary), seconds=time.monotonic() - started)

        written_whole(self.folder / f"checkpoint-{step}-{serial}.pt", write)
        manifest = _Manifest(
            owner=self.owner, step=step, serial=serial, bytes=written["bytes"], sha256=written["sha256"]
        )
        write_text(self.folder / f"{manifest.name}.json", manifest.model_dump_json() + "\n", durable=False)
        self._last = manifest
        return written["seconds"]

    def load(self, last_step: int) -> dict[str, Any] | None:
        """What was saved last, up to this step, on the CPU; None where nothing whole is there, which costs only time.

        One that is not taken is told in a line: a damaged file, for which the one before it is taken, or another's.

        Raises:
            RuntimeError, OSError: too little memory to read it, which says nothing of the file.
        """
        found = [manifest for manifest in self._manifests() if manifest.step <= last_step]
        for manifest in sorted(found, key=lambda manifest: (manifest.step, manifest.serial), reverse=True):
            try:
                state = self._read(manifest)
            except _FAULTS as error:
                if is_out_of_memory(error):
                    raise
                _not_taken(self.folder / f"{manifest.name}.pt", error)
            else:
                self._last = manifest
                return state
        return None

    def clear(self) -> None:
        """Remove all of them."""
        self._drop_others(None)
        self._last = None

    def _read(self, manifest: _Manifest) -> dict[str, Any]:
        if manifest.owner != self.owner:
            raise ValueError(f"it is of {manifest.owner!r}, not of {self.owner!r}")
        with open(self.folder / f"{manifest.name}.pt", "rb") as file:
            if os.fstat(file.fileno()).st_size != manifest.bytes or _sha256(file) != manifest.sha256:
                raise ValueError("it is damaged")
            file.seek(0)
            return torch.load(file, map_location="cpu", weights_only=True)

    def _manifests(self) -> Iterator[_Manifest]:
        """Those that can be read; the order of file names says nothing."""
        for path in self.folder.glob("checkpoint-*.json"):
            try:
                manifest = _Manifest.model_validate_json(path.read_bytes())
                if manifest.name != path.stem:
                    raise ValueError(f"it is of {manifest.name}")
                yield manifest
            except (OSError, ValueError) as error:
                _not_taken(path, error)

    def _drop_others(self, kept: _Manifest | None) -> None:
        """Manifests first: without one a file is nothing."""
        paths = [path for path in self.folder.glob("checkpoint-*") if kept is None or path.stem != kept.name]
        for path in sorted(paths, key=lambda path: path.suffix != ".json"):
            path.unlink(missing_ok=True)


class CheckpointClock:
    """When it is time to save: so seldom that saving takes a twentieth of the time at most.

    The environment variable SWEEPS_CHECKPOINT_SECONDS sets the least time between two checkpoints, 30 seconds without
    it; 0 is after every step.
    """

    def __init__(self) -> None:
        self._least = float(os.environ.get("SWEEPS_CHECKPOINT_SECONDS") or _SECONDS)
        self._interval, self._saved = self._least, time.monotonic()

    def is_due(self) -> bool:
        return time.monotonic() - self._saved >= self._interval

    def saved(self, seconds: float) -> None:
        """Told after a checkpoint that took so long to write."""
        self._saved = time.monotonic()
        self._interval = max(self._least, seconds / _MOST_OF_TIME) if self._least else 0.0


class _Hashed:
    """A file that torch writes to, hashed on the way, so that a large state is neither held nor read twice."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest, self.num_bytes = hashlib.sha256(), 0
        self.error: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            written = self._file.write(data)
        except OSError as error:
            self.error = error
            raise
        self.digest.update(data)
        self.num_bytes += written
        return written

    def flush(self) -> None:
        self._file.flush()


def _write(state: dict[str, Any], path: Path) -> dict[str, Any]:
    with open(path, "wb") as file:
        hashed = _Hashed(file)
        try:
            torch.save(_plain(state), hashed)  # type: ignore[arg-type]  # it writes and flushes, no more
        except RuntimeError as error:
            raise hashed.error or error from None  # torch's writer hides what the file raised
    return {"bytes": hashed.num_bytes, "sha256": hashed.digest.hexdigest()}


def _plain(value: Any) -> Any:
    """numpy's numbers as Python's, which are loaded as weights only."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (list, tuple):
        return type(value)(_plain(item) for item in value)
    return {name: _plain(item) for name, item in value.items()} if type(value) is dict else value


def _sha256(file: BufferedReader) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()


def _not_taken(path: Path, error: Exception) -> None:
    why = " ".join(str(error).split())[:200]
    print(f"checkpoint {path} is not taken: {why}", file=sys.stderr, flush=True)
