"""A folder of class folders of image files, in `train` and `test` or `val`: the layout of ImageNet.

The classes are the folders of the training part in sorted order. The folder is looked through once a process, without
opening the images; names and sizes of the files make its version.
"""

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from .places import base_name
from .rows import Arrays, DataSet, Photos

__all__ = ["SUFFIXES", "FolderIndex", "describe_image_folder", "folder_version", "forget_folders", "index_folder"]

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp")
_TEST_NAMES = ("test", "val", "validation", "valid")
_LARGEST_NATIVE = 224  # photographs are not stored larger than this unless asked for
_NUM_LOOKED_AT = 16  # files whose header says how large images are
_NUM_SHOWN = 3


@dataclass(frozen=True)
class FolderIndex:
    """The files of one split, in sorted order.

    Attributes:
        names: relative to `folder`.
        sizes: bytes, int64 (n,).
        labels: place of the class in `classes`, int64 (n,).
    """

    folder: Path
    classes: tuple[str, ...]
    names: tuple[str, ...]
    sizes: np.ndarray
    labels: np.ndarray

    @property
    def paths(self) -> list[str]:
        return [f"{self.folder}/{name}" for name in self.names]


def forget_folders() -> None:
    """Look anew at folders that were looked through in this process."""
    describe_image_folder.cache_clear()
    _index.cache_clear()


@lru_cache(maxsize=32)
def describe_image_folder(folder: str, field: str = "upstream.folder") -> DataSet:
    """The row of the set in a folder.

    Raises:
        FileNotFoundError: no such folder, or it has no `train` or no test part.
        ValueError: no images, a class without images, a file without bytes, or a class that only the test part has.
    """
    train, test = (index_folder(folder, split, field) for split in ("train", "test"))
    if unknown := sorted(set(test.classes) - set(train.classes)):
        raise ValueError(f"{field}: {test.folder} has classes that {train.folder} lacks: {_shown(unknown)}")
    return DataSet(
        base_name(folder), len(train.classes), _usual_size(train),
        len(train.names), len(test.names), partial(_load, folder=folder, field=field), folder_version(train, test),
    )  # fmt: skip


def index_folder(folder: str, split: str, field: str = "upstream.folder") -> FolderIndex:
    """The image files of a split. Raises as `describe_image_folder` does."""
    return _index(os.path.abspath(os.path.expanduser(folder)), split, field)


@lru_cache(maxsize=32)
def _index(folder: str, split: str, field: str) -> FolderIndex:
    place = _split_folder(Path(folder), split, field)
    classes = sorted(entry.name for entry in os.scandir(place) if entry.is_dir() and not entry.name.startswith("."))
    files = [_class_files(place / name, name) for name in classes]
    if empty := [name for name, found in zip(classes, files, strict=True) if not found]:
        raise ValueError(f"{field}: {len(empty)} class folders of {place} hold no images: {_shown(empty)}")
    if not classes:
        raise ValueError(f"{field}: {place} holds no class folders with images ({', '.join(SUFFIXES)})")
    found = [file for of_class in files for file in of_class]
    if hollow := [name for name, size in found if size == 0]:
        raise ValueError(f"{field}: {len(hollow)} image files of {place} are empty: {_shown(hollow)}")
    labels = _labels(folder, split, classes, [len(of_class) for of_class in files], field)
    names, sizes = zip(*found, strict=True)
    return FolderIndex(place, tuple(classes), names, np.array(sizes, np.int64), labels)


def _labels(folder: str, split: str, classes: list[str], counts: list[int], field: str) -> np.ndarray:
    """Numbered by the training part's classes, of which the test part may lack some."""
    known = classes if split == "train" else _index(folder, "train", field).classes
    place = {name: number for number, name in enumerate(known)}
    numbers = [place.get(name, -1) for name in classes]
    return np.repeat(np.array(numbers, np.int64), counts)


def _class_files(folder: Path, name: str) -> list[tuple[str, int]]:
    """Names below the split's folder and bytes of the images of a class, in sorted order."""
    found = []
    for entry in os.scandir(folder):
        if entry.is_dir():
            found += _class_files(folder / entry.name, f"{name}/{entry.name}")
        elif entry.name.lower().endswith(SUFFIXES) and not entry.name.startswith("."):
            found.append((f"{name}/{entry.name}", entry.stat().st_size))
    return sorted(found)


def _split_folder(folder: Path, split: str, field: str) -> Path:
    valid = ("train",) if split == "train" else _TEST_NAMES
    if not folder.is_dir():
        raise FileNotFoundError(f"{field}: no folder {folder}")
    for name in valid:
        if (folder / name).is_dir():
            return folder / name
    raise FileNotFoundError(f"{field}: {folder} has no folder {' or '.join(map(repr, valid))} of class folders")


def _usual_size(index: FolderIndex) -> int:
    """The median short side of a few files, at most 224."""
    from PIL import Image

    sides = []
    for row in np.unique(np.linspace(0, len(index.names) - 1, _NUM_LOOKED_AT).round().astype(int)):
        try:
            with Image.open(index.folder / index.names[row]) as image:
                sides.append(min(image.size))
        except (OSError, SyntaxError, ValueError):
            continue  # decoding names every file that cannot be read
    return min(_LARGEST_NATIVE, int(np.median(sides))) if sides else _LARGEST_NATIVE


def folder_version(*splits: FolderIndex) -> str:
    """Identity of the data: of the names and sizes of all files, the same on every machine."""
    digest = hashlib.sha256()
    for index in splits:
        for name, size in zip(index.names, index.sizes.tolist(), strict=True):
            digest.update(f"{name}\0{size}\n".encode(errors="surrogateescape"))
        digest.update(b"\n")
    return f"folder-{digest.hexdigest()[:16]}"


def _load(split: str, num_images: int | None, _: str | None, *, folder: str, field: str) -> Arrays:
    index = index_folder(folder, split, field)
    return Photos(index.paths[:num_images]), index.labels[:num_images]


def _shown(names: list[str]) -> str:
    more = f" and {len(names) - _NUM_SHOWN} more" if len(names) > _NUM_SHOWN else ""
    return ", ".join(names[:_NUM_SHOWN]) + more
