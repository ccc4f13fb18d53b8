"""Image folders as a streamed set: the same files, classes and version as of the decoded set (`..image_folder`)."""

import os

import numpy as np

from ..image_folder import folder_version, index_folder
from .layout import SPLITS, Listing

__all__ = ["FolderReader", "list_folder"]


def list_folder(root: str) -> Listing:
    """Every image; none is opened. Raises as `index_folder` does."""
    parts = {split: index_folder(root, split) for split in ("train", "test")}
    files = [f"{part.folder.name}/{name}" for part in parts.values() for name in part.names]
    if odd := [file for file in files if not file.isascii() and file.encode(errors="ignore").decode() != file]:
        raise ValueError(f"upstream.stream: names of streamed files must be UTF-8, got {odd[0]!a} in {root}")
    columns = {
        "file": files,
        "block": np.zeros(len(files), np.int32),
        "offset": np.zeros(len(files), np.int64),
        "size": np.concatenate([part.sizes for part in parts.values()]),
        "label": np.concatenate([part.labels for part in parts.values()]).astype(np.int32),
        "split": np.concatenate([np.full(len(p.names), SPLITS.index(split), np.int8) for split, p in parts.items()]),
    }
    return Listing("folder", parts["train"].classes, folder_version(*parts.values()), columns)


class FolderReader:
    """The first `size` bytes of an image by its path."""

    def __init__(self, root: str):
        self._root = root

    def read(self, file: str, block: int, offset: int, size: int) -> bytes:
        with open(os.path.join(self._root, file), "rb") as opened:
            return opened.read(size)
