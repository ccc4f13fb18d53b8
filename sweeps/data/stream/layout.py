"""What the stores have in common: splits by name, labels as numbers, and the rows that an index is made of."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

import numpy as np

__all__ = ["IMAGE_SUFFIXES", "SPLITS", "Rows", "encode_labels", "split_folder", "split_of"]

SPLITS = ("train", "val", "test")
IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp"})
_ALIASES = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


@dataclass
class Rows:
    """One entry a sample, in columns.

    Attributes:
        file: path under the root.
        block: row group of a parquet file, else 0.
        offset: first byte in the file; in parquet the row within its group.
        size: in bytes; in parquet 1.
        label: text or int.
        split: of `SPLITS`.
        stamps: folders and shards by their path, and when each was last changed: what tells an index out of date.
    """

    file: list[str] = field(default_factory=list)
    block: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    label: list[str | int] = field(default_factory=list)
    split: list[str] = field(default_factory=list)
    stamps: dict[str, int] = field(default_factory=dict)

    def add(self, file: str, label: str | int, split: str, *, offset: int = 0, size: int = 1, block: int = 0) -> None:
        self.file.append(file)
        self.block.append(block)
        self.offset.append(offset)
        self.size.append(size)
        self.label.append(label)
        self.split.append(split)


def split_of(path: str) -> str:
    """The split that a shard's path names, in a folder or a word of its own name; "train" where it names none.

    >>> [split_of(p) for p in ("train-00.tar", "data/validation-0-of-9.parquet", "in1k-test-3.tar", "00017.tar")]
    ['train', 'val', 'test', 'train']
    """
    words = (word for part in PurePath(path.lower()).parts for word in re.split(r"[^a-z]+", part))
    return next((_ALIASES[word] for word in words if word in _ALIASES), "train")


def split_folder(name: str) -> str | None:
    """The split that a folder of this name holds."""
    return _ALIASES.get(name.lower())


def encode_labels(labels: Sequence[str | int]) -> tuple[tuple[str, ...], np.ndarray]:
    """Class names in sorted order, numbers by their value, and each label's place among them, int32 (n,).

    >>> encode_labels(["10", "9", "10"])
    (('9', '10'), array([1, 0, 1], dtype=int32))
    """
    names = sorted(map(str, set(labels)), key=_by_value(set(labels)))
    place = {name: i for i, name in enumerate(names)}
    return tuple(names), np.fromiter((place[str(label)] for label in labels), np.int32, len(labels))


def _by_value(labels: Iterable[str | int]):
    try:
        _ = [int(label) for label in labels]
    except ValueError:
        return str
    return lambda name: (int(name), name)
