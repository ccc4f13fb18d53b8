"""Decoded once, then mapped into memory: each split at each size is one `.npy` file of uint8 that all workers share.

Beside it lie its labels and a json with its size and the hash of its pixels, written last: a part without json is not
there. One process decodes while the others wait for its lock, which the system frees when its holder dies.
"""

import errno
import hashlib
import json
import mmap
import shutil
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from filelock import FileLock

from ..full_disk import is_full_disk
from ..paths import cache_folder, write_json, written_whole
from .decode_all import decode_all
from .rows import DataSet, check_split

__all__ = ["CacheWarning", "CachedSplit", "is_decoded", "open_split", "verify_cache"]


class CacheWarning(UserWarning):
    """Decoded images were damaged and are made anew."""


@dataclass(frozen=True)
class CachedSplit:
    """The files of one decoded split."""

    stem: Path

    @property
    def pixels(self) -> Path:
        return self.stem.with_name(f"{self.stem.name}.npy")

    @property
    def labels(self) -> Path:
        return self.stem.with_name(f"{self.stem.name}-labels.npy")

    @property
    def facts(self) -> Path:
        return self.stem.with_name(f"{self.stem.name}.json")

    @property
    def lock(self) -> Path:
        return self.stem.with_name(f"{self.stem.name}.lock")


def open_split(
    dataset: DataSet, split: str, image_size: int, num_images: int | None = None, folder: str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Pixels uint8 (n, image_size, image_size, 3), mapped and not read, and labels int64 (n,), decoding where need be.

    A write to the pixels stays in this process.

    Raises:
        FileNotFoundError: the data are not there.
        ValueError: files that cannot be decoded, all of them counted; or not as many images as the set's row says.
        OSError: the disk is full.
    """
    cached = _cached(dataset, check_split(split), image_size, num_images, folder)
    opened = _open(cached)
    if opened is None:
        with FileLock(cached.lock):
            opened = _open(cached)
            if opened is None:
                _warn_of_damage(cached)
                _decode(cached, dataset, split, image_size, num_images, folder)
                opened = _open(cached)
    if opened is None:
        raise OSError(f"{cached.pixels} was written and cannot be read back")
    pixels, labels = opened
    return pixels[:num_images], labels[:num_images]


def is_decoded(
    dataset: DataSet, split: str, image_size: int, num_images: int | None = None, folder: str | None = None
) -> bool:
    """Whether `open_split` has nothing to decode."""
    return _open(_cached(dataset, check_split(split), image_size, num_images, folder)) is not None


def verify_cache() -> list[Path]:
    """The decoded files whose pixels are not those once written; each is warned of, and made anew when next asked for.

    Reads every byte: a minute for some 50 GB.
    """
    damaged = []
    for facts in sorted((cache_folder() / "decoded").glob("*/*px*.json")):
        cached = CachedSplit(facts.with_suffix(""))
        opened = _open(cached)
        if opened is None or hashlib.sha256(opened[0].data).hexdigest() != json.loads(facts.read_text())["sha256"]:
            warnings.warn(f"{cached.pixels} is damaged and will be made anew", CacheWarning, stacklevel=2)
            facts.unlink()
            damaged.append(cached.pixels)
    return damaged


def _cached(dataset: DataSet, split: str, image_size: int, num_images: int | None, folder: str | None) -> CachedSplit:
    place = dataset.place(folder)
    where = f"-{hashlib.sha256(str(place.resolve()).encode()).hexdigest()[:8]}" if place else ""
    count = f"-{num_images}" if dataset.generated and num_images is not None else ""
    return CachedSplit(
        cache_folder() / "decoded" / f"{dataset.name}-{dataset.version}{where}" / f"{split}-{image_size}px{count}"
    )


def _open(cached: CachedSplit) -> tuple[np.ndarray, np.ndarray] | None:
    """None where a file is not there, or is not of the size that the json says."""
    try:
        facts = json.loads(cached.facts.read_text())
        if cached.pixels.stat().st_size != facts["bytes"]:
            return None
        labels = np.load(cached.labels)
        pixels = _mapped(cached.pixels, tuple(facts["shape"]))
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None
    return (pixels, labels) if len(labels) == len(pixels) else None


def _mapped(path: Path, shape: tuple[int, ...]) -> np.ndarray:
    """A private map: torch warns of arrays that cannot be written, and what is written stays in memory.

    Without a reserve for such writes, since a set may be larger than the memory.
    """
    num_bytes = int(np.prod(shape))
    with open(path, "rb") as file:
        if num_bytes == 0:
            return np.empty(shape, np.uint8)
        flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", 0)
        mapped = mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    return np.frombuffer(mapped, np.uint8, count=num_bytes, offset=len(mapped) - num_bytes).reshape(shape)


def _warn_of_damage(cached: CachedSplit) -> None:
    if cached.facts.exists():
        warnings.warn(f"{cached.pixels} is damaged and is made anew", CacheWarning, stacklevel=4)
        cached.facts.unlink()


def _decode(
    cached: CachedSplit, dataset: DataSet, split: str, image_size: int, num_images: int | None, folder: str | None
) -> None:
    images, labels = dataset.load(split, num_images if dataset.generated else None, folder)
    if not dataset.generated and len(labels) != dataset.num_images(split):
        raise ValueError(
            f"{dataset.name}: {dataset.num_images(split)} {split} images are expected, and there are {len(labels)}"
            + (f" in {folder}" if folder else "")
        )
    shape = (len(labels), image_size, image_size, 3)
    for left_over in cached.pixels.parent.glob(f"{cached.pixels.name}.*.tmp"):
        left_over.unlink()  # of a process that was killed, since the lock is ours
    _check_room(cached, int(np.prod(shape)))
    digest = hashlib.sha256()

    def write_pixels(temporary: Path) -> None:
        with open(temporary, "wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})
            for chunk in decode_all(images, image_size, dataset.keeps_aspect):
                digest.update(chunk.data)
                file.write(chunk.data)

    def write_labels(temporary: Path) -> None:
        with open(temporary, "wb") as file:
            np.save(file, labels.astype(np.int64))

    with _naming_full_disk(cached):
        written_whole(cached.pixels, write_pixels, waits=False)
        written_whole(cached.labels, write_labels, waits=False)
        write_json(
            cached.facts,
            {
                "dataset": dataset.name, "version": dataset.version, "split": split, "shape": shape,
                "bytes": cached.pixels.stat().st_size, "sha256": digest.hexdigest(),
                "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            },
            waits=False,
        )  # fmt: skip


def _check_room(cached: CachedSplit, num_bytes: int) -> None:
    cached.pixels.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(cached.pixels.parent).free
    if num_bytes > free:
        raise OSError(errno.ENOSPC, _no_room(cached, f"{num_bytes:,} bytes are needed and {free:,} are free"))


@contextmanager
def _naming_full_disk(cached: CachedSplit) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if not is_full_disk(error):
            raise
        raise OSError(error.errno, _no_room(cached, "the disk is full")) from error


def _no_room(cached: CachedSplit, why: str) -> str:
    return f"no room for decoded images in {cached.pixels.parent}: {why}; SWEEPS_CACHE_DIR names another folder"
