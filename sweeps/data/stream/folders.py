"""Image folders as torchvision's ImageFolder reads them: class/image.jpg, under train/, val/ and test/ or without."""

import os
from collections.abc import Iterator

from .layout import IMAGE_SUFFIXES, Rows, split_folder

__all__ = ["FolderReader", "scan_folder"]


def scan_folder(root: str) -> Rows:
    """Every image under its class's folder, however deep; hidden files and files of other kinds are left out.

    The sizes enter the version of the data; no image is opened.
    """
    rows = Rows()
    _stamp(rows, root, "")
    top = _folders(root)
    # A class may be called "train": splits are folders only where all are.
    splits = {name: split_folder(name) for name in top} if top and all(map(split_folder, top)) else {}
    if not splits:
        _scan_classes(rows, root, "", top, "train")
    for name, split in sorted(splits.items()):
        _stamp(rows, root, name)
        _scan_classes(rows, root, name + "/", _folders(os.path.join(root, name)), split or "train")
    return rows


class FolderReader:
    """The first `size` bytes of an image by its path."""

    def __init__(self, root: str):
        self._root = root

    def read(self, file: str, block: int, offset: int, size: int) -> bytes:
        with open(os.path.join(self._root, file), "rb") as opened:
            return opened.read(size)


def _scan_classes(rows: Rows, root: str, prefix: str, classes: list[str], split: str) -> None:
    for name in classes:
        for path, size in sorted(_images(rows, root, prefix + name)):
            rows.add(path, name, split, size=size)


def _images(rows: Rows, root: str, folder: str) -> Iterator[tuple[str, int]]:
    _stamp(rows, root, folder)
    with os.scandir(os.path.join(root, folder)) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield from _images(rows, root, f"{folder}/{entry.name}")
            elif os.path.splitext(entry.name)[1].lower() in IMAGE_SUFFIXES:
                yield f"{folder}/{entry.name}", entry.stat().st_size


def _folders(path: str) -> list[str]:
    with os.scandir(path) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def _stamp(rows: Rows, root: str, folder: str) -> None:
    rows.stamps[folder] = os.stat(os.path.join(root, folder)).st_mtime_ns
