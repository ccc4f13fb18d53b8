"""What an image set on disk holds: where each image lies, its label and its split. Built once and cached; no torch."""

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from ...paths import cache_folder, written_whole
from .folders import FolderReader, list_folder
from .layout import SPLITS, Listing
from .parquets import ParquetReader
from .shards import are_unchanged, list_shards
from .tars import TarReader

__all__ = ["ImageIndex", "find_index", "open_index"]

_FORMAT = 2  # of the cached file; raised when it changes


@dataclass(frozen=True)
class ImageIndex:
    """The samples of an image folder, or of tar or parquet shards.

    Attributes:
        path: of the cached file, which workers map into memory.
        root: the folder of the data.
        kind: "folder", "tar" or "parquet".
        classes: their names; a label is a place among them.
        version: identity of the data: of all names, sizes and labels, the same on every machine.
        table: a row a sample; see `layout.Rows`.
    """

    path: str
    root: str
    kind: str
    classes: tuple[str, ...]
    version: str
    table: pa.Table

    @property
    def num_classes(self) -> int:
        return len(self.classes)

    @cached_property
    def labels(self) -> np.ndarray:
        """int32, shape (number of samples,)."""
        return self.table["label"].to_numpy()

    @cached_property
    def blocks(self) -> np.ndarray:
        """The row group of each sample, numbered through all shards: int64, shape (number of samples,)."""
        file = self.table["file"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
        block = self.table["block"].to_numpy()
        return np.unique(file * (block.max(initial=0) + 1) + block, return_inverse=True)[1]

    def split(self, name: str) -> np.ndarray:
        """Rows of the split "train", "val" or "test"; where there is no "test", it is "val" (ImageNet's).

        Raises:
            ValueError: there is no such split.
        """
        codes = self.table["split"].to_numpy()
        for wanted in ("test", "val") if name == "test" else (name,):
            if len(rows := np.flatnonzero(codes == SPLITS.index(wanted))):
                return rows
        found = [split for i, split in enumerate(SPLITS) if (codes == i).any()]
        raise ValueError(f"upstream.folder: {self.root} has no split {name!r}, only {found}: a folder or a file's name")

    def describe(self, row: int) -> str:
        """Where a sample lies, for a message."""
        path = os.path.join(self.root, self.table["file"][row].as_py())
        block, offset = self.table["block"][row], self.table["offset"][row]
        return {
            "folder": path,
            "tar": f"{path} at byte {offset}",
            "parquet": f"{path}, row {offset} of row group {block}",
        }[self.kind]

    def reader(self, num_groups: int) -> FolderReader | TarReader | ParquetReader:
        """What reads bytes; of parquet the last `num_groups` row groups are held."""
        if self.kind == "parquet":
            return ParquetReader(self.root, num_groups)
        return TarReader(self.root) if self.kind == "tar" else FolderReader(self.root)


def find_index(root: str | Path, dataset: str) -> ImageIndex:
    """The index of a folder, from the cache or built anew where the cache has none of the data as they are.

    Args:
        dataset: "image-folder", or "shards": its parquet files, else its tar shards.

    Raises:
        FileNotFoundError: no such folder.
        ValueError: nothing in it, a shard is damaged, an image has no bytes, or a class has no training images.
    """
    folder = os.path.abspath(os.path.expanduser(root))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"upstream.folder: no folder {folder}")
    path = cache_folder() / "indexes" / f"{hashlib.sha256(f'{dataset}:{folder}'.encode()).hexdigest()[:16]}.arrow"
    index = _opened(path)
    if index is not None and _is_of_now(index):
        return index
    _write(path, folder, list_folder(folder) if dataset == "image-folder" else list_shards(folder))
    return open_index(path)


def open_index(path: str | Path) -> ImageIndex:
    """A cached index, mapped into memory."""
    with pa.memory_map(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    about = json.loads(table.schema.metadata[b"index"])
    if about.pop("format") != _FORMAT:
        raise KeyError("an index of another version")
    return ImageIndex(str(path), about["root"], about["kind"], tuple(about["classes"]), about["version"], table)


def _is_of_now(index: ImageIndex) -> bool:
    """Files are looked through once a process; of shards, which takes long, their times tell."""
    if index.kind == "folder":
        return index.version == list_folder(index.root).version
    return are_unchanged(index.root, json.loads(index.table.schema.metadata[b"stamps"]))


def _opened(path: Path) -> ImageIndex | None:
    try:
        return open_index(path)
    except (OSError, KeyError, ValueError, TypeError):
        return None  # none, or damaged, which costs only time


def _write(path: Path, root: str, found: Listing) -> None:
    about = {"format": _FORMAT, "root": root, "kind": found.kind, "classes": found.classes, "version": found.version}
    metadata = {"index": json.dumps(about), "stamps": json.dumps(found.stamps)}
    table = pa.table(dict(found.columns)).replace_schema_metadata(metadata)

    def write(temporary: Path) -> None:
        with pa.OSFile(str(temporary), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)

    written_whole(path, write, waits=False)
