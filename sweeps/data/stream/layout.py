"""What the stores have in common: splits by name, labels as numbers, and the rows that an index is made of."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

__all__ = ["SPLITS", "Listing", "Rows", "encode_labels", "split_of"]

SPLITS = ("train", "val", "test")
_ALIASES = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


class Listing(NamedTuple):
    """What a folder holds, as an index keeps it.

    Attributes:
        kind: "folder", "tar" or "parquet".
        classes: their names; a label is a place among them.
        version: identity of the data.
        columns: those of `Rows`, labels and splits as numbers.
        stamps: shards and their folders by their path, and when each was last changed: what tells an index out of date.
    """

    kind: str
    classes: tuple[str, ...]
    version: str
    columns: Mapping[str, Any]
    stamps: Mapping[str, int] = {}


@dataclass
class Rows:
    """One entry a sample, in columns.

    Attributes:
        file: path under the root.
        block: row group of a parquet file, else 0.
        offset: first byte in the file; in parquet the row within its group.
        size: in bytes; in parquet 1.
        label: as text, so that 3 in one store is "3" in another.
        split: of `SPLITS`.
    """

    file: list[str] = field(default_factory=list)
    block: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    label: list[str] = field(default_factory=list)
    split: list[str] = field(default_factory=list)

    def add(self, file: str, label: str | int, split: str, *, offset: int = 0, size: int = 1, block: int = 0) -> None:
        self.file.append(file)
        self.block.append(block)
        self.offset.append(offset)
        self.size.append(size)
        self.label.append(str(label))
        self.split.append(split)


def split_of(path: str) -> str:
    """The split that a shard's path names, in a folder or a word of its own name; "train" where it names none.

    >>> [split_of(p) for p in ("train-00.tar", "data/validation-0-of-9.parquet", "in1k-test-3.tar", "00017.tar")]
    ['train', 'val', 'test', 'train']
    """
    words = (word for part in PurePath(path.lower()).parts for word in re.split(r"[^a-z]+", part))
    return next((_ALIASES[word] for word in words if word in _ALIASES), "train")


def encode_labels(labels: Sequence[str]) -> tuple[tuple[str, ...], np.ndarray]:
    """Class names in sorted order, numbers by their value, and each label's place among them, int32 (n,).

    >>> encode_labels(["10", "9", "10"])
    (('9', '10'), array([1, 0, 1], dtype=int32))
    """
    names = sorted(set(labels))
    with suppress(ValueError):
        names.sort(key=int)
    place = {name: i for i, name in enumerate(names)}
    return tuple(names), np.fromiter((place[label] for label in labels), np.int32, len(labels))
