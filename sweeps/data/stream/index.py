"""What an image set on disk holds: where each image lies, its label and its split. Built once and cached; no torch."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ...paths import cache_folder, written_whole
from .folders import FolderReader, list_folder
from .layout import SPLITS, Rows, encode_labels
from .parquets import ParquetReader, scan_parquets
from .tars import TarReader, scan_tars

__all__ = ["ImageIndex", "find_index", "open_index"]

_FORMAT = 2  # of the cached file; raised when it changes
_KINDS = {".parquet": "parquet", ".tar": "tar"}


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
    return _folder_index(folder, path) if dataset == "image-folder" else _shard_index(folder, path)


def open_index(path: str | Path) -> ImageIndex:
    """A cached index, mapped into memory."""
    with pa.memory_map(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    about = json.loads(table.schema.metadata[b"index"])
    if about.pop("format") != _FORMAT:
        raise KeyError("an index of another version")
    return ImageIndex(str(path), about["root"], about["kind"], tuple(about["classes"]), about["version"], table)


def _folder_index(root: str, path: Path) -> ImageIndex:
    """Listing the files, once a process, tells whether the cached index is theirs."""
    classes, version, columns = list_folder(root)
    index = _opened(path)
    if index is not None and index.version == version:
        return index
    _write(path, {"root": root, "kind": "folder", "classes": classes, "version": version}, columns, {})
    return open_index(path)


def _shard_index(root: str, path: Path) -> ImageIndex:
    """Of shards it is told by their times whether they have changed since."""
    index = _opened(path)
    if index is not None and _is_of_today(index):
        return index
    kind, rows = _scan(root)
    _check(root, rows)
    classes, labels = encode_labels(rows.label)
    columns = {
        "file": pa.array(rows.file).dictionary_encode(),
        "block": pa.array(rows.block, pa.int32()),
        "offset": pa.array(rows.offset, pa.int64()),
        "size": pa.array(rows.size, pa.int64()),
        "label": pa.array(labels),
        "split": pa.array([SPLITS.index(split) for split in rows.split], pa.int8()),
    }
    about = {"root": root, "kind": kind, "classes": classes, "version": _version(kind, rows)}
    _write(path, about, columns, rows.stamps)
    return open_index(path)


def _opened(path: Path) -> ImageIndex | None:
    try:
        return open_index(path)
    except (OSError, KeyError, ValueError, TypeError):
        return None  # none, or damaged, which costs only time


def _is_of_today(index: ImageIndex) -> bool:
    stamps = json.loads(index.table.schema.metadata[b"stamps"])
    try:
        return all(os.stat(os.path.join(index.root, name)).st_mtime_ns == stamp for name, stamp in stamps.items())
    except OSError:
        return False


def _scan(root: str) -> tuple[str, Rows]:
    shards: dict[str, list[str]] = {"parquet": [], "tar": []}
    stamps = {}
    # Shards lie at most one folder deep; deeper there are a million images.
    for folder in ["", *(entry.name for entry in os.scandir(root) if entry.is_dir())]:
        with os.scandir(os.path.join(root, folder)) as entries:
            found = [e for e in entries if os.path.splitext(e.name)[1] in _KINDS and not e.name.startswith(".")]
        stamps[folder] = os.stat(os.path.join(root, folder)).st_mtime_ns
        for entry in found:
            name = os.path.join(folder, entry.name)
            shards[_KINDS[os.path.splitext(name)[1]]].append(name)
            stamps[name] = entry.stat().st_mtime_ns
    for kind, scan in (("parquet", scan_parquets), ("tar", scan_tars)):
        if shards[kind]:
            rows = scan(root, sorted(shards[kind]))
            rows.stamps = stamps
            return kind, rows
    raise ValueError(f"upstream.folder: no shards in {root} (*.tar or *.parquet)")


def _check(root: str, rows: Rows) -> None:
    if not rows.label:
        raise ValueError(f"upstream.folder: no labelled image in the shards in {root}")
    if hollow := [file for file, size in zip(rows.file, rows.size, strict=True) if size == 0]:
        raise ValueError(f"upstream.folder: {len(hollow)} images in {root} are empty, the first in {hollow[0]}")
    known = {label for label, split in zip(rows.label, rows.split, strict=True) if split == "train"}
    if known and (unknown := sorted(set(rows.label) - known)):
        raise ValueError(
            f"upstream.folder: {root} has {len(unknown)} classes without training images, the first {unknown[0]!r}"
        )


def _write(path: Path, about: dict[str, Any], columns: Mapping[str, Any], stamps: dict[str, int]) -> None:
    table = pa.table(dict(columns))
    metadata = {"index": json.dumps({"format": _FORMAT, **about}), "stamps": json.dumps(stamps)}
    table = table.replace_schema_metadata(metadata)

    def write(temporary: Path) -> None:
        with pa.OSFile(str(temporary), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)

    written_whole(path, write, waits=False)


def _version(kind: str, rows: Rows) -> str:
    digest = hashlib.sha256(kind.encode())
    for column in (rows.file, rows.block, rows.offset, rows.size, rows.label, rows.split):
        digest.update("\0".join(map(str, column)).encode() + b"\1")
    return f"{kind}-{digest.hexdigest()[:16]}"
