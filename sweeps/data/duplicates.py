"""Training images that nearly repeat a test image: found by their hashes, confirmed on their pixels.

Of photographs this finds copies that were compressed, resized or made a little brighter (the tests hold it to that);
crops, mirrored and grey copies it does not find. It is made for a few images in a thousand, which would flatter a
model that has seen them.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..paths import cache_folder, write_json
from .cache import open_split
from .datasets import DataSet, find_dataset, task_name
from .phash import HASH_SIZE, hash_images, near_pairs

__all__ = ["MAX_BITS", "MIN_CORRELATION", "Duplicates", "duplicate_rows", "find_duplicates", "upstream_duplicates"]

MAX_BITS = 6
"""Of 64 that the hashes of near-duplicates may differ in; the least number that keeps 95 % of recompressed photos."""
MIN_CORRELATION = 0.99
"""Of the pixels of two near-duplicates at 32x32, which tells apart images that are flat or alike only in outline."""

_RULE = 1  # raised when the rule finds other images than before
_BATCH = 256  # pairs of images that fit a core's cache


def find_duplicates(
    train: np.ndarray, test: np.ndarray, *, max_bits: int = MAX_BITS, min_correlation: float = MIN_CORRELATION
) -> pd.DataFrame:
    """Pairs of a training and a test image that are nearly the same, a row each: train, test, correlation.

    Args:
        train, test: uint8 (n, 32, 32, 3), (m, 32, 32, 3); may be mapped files, of which few rows are read at a time.

    >>> image = np.random.default_rng(0).integers(0, 256, (1, 32, 32, 3), dtype=np.uint8)
    >>> find_duplicates(np.concatenate([255 - image, image]), image)[["train", "test"]].values.tolist()
    [[1, 0]]
    """
    found: list[np.ndarray] = [np.empty(0, np.int64)]
    for i, j in near_pairs(hash_images(train), hash_images(test), max_bits):
        found.append(np.unique(i * len(test) + j))
    i, j = np.divmod(np.unique(np.concatenate(found)), max(len(test), 1))
    batches = range(0, len(i), _BATCH)
    likeness = [_correlation(train[i[k : k + _BATCH]], test[j[k : k + _BATCH]]) for k in batches]
    table = pd.DataFrame({"train": i, "test": j, "correlation": np.concatenate([np.empty(0), *likeness])})
    return table[table["correlation"] >= min_correlation].reset_index(drop=True)


def _correlation(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Of the pixels of each pair; of flat images 1 where they are equal, else 0."""
    x, y = (images.reshape(len(images), -1).astype(np.float32) for images in (first, second))
    equal = (x == y).all(axis=1)
    x -= x.mean(axis=1, keepdims=True)
    y -= y.mean(axis=1, keepdims=True)
    product, x_square, y_square = (np.einsum("ij,ij->i", a, b) for a, b in ((x, y), (x, x), (y, y)))
    scale = np.sqrt(x_square * y_square)
    return np.where(equal, 1.0, product / np.where(scale > 0, scale, 1.0))


@dataclass(frozen=True)
class Duplicates:
    """What `remove_duplicates` takes from an upstream training set.

    Attributes:
        rows: of the training set, in ascending order.
        num_by_dataset: training images that repeat a test image of each set; one may count for several.
    """

    rows: np.ndarray
    num_by_dataset: dict[str, int]

    @property
    def report(self) -> dict[str, Any]:
        rule = {"max_bits": MAX_BITS, "min_correlation": MIN_CORRELATION}
        return {"num_removed": len(self.rows), "num_by_dataset": self.num_by_dataset, "rule": rule}


@lru_cache(maxsize=8)
def upstream_duplicates(name: str, folder: str | None, num_train: int, tasks: tuple[str, ...]) -> Duplicates:
    """The training images of an upstream set that nearly repeat a test image of its own or of a task.

    All test images count, not only those that are evaluated. Remembered in the cache of decoded images, by the
    versions of the sets. Of generated sets nothing is looked for: their images are drawn apart.

    Args:
        tasks: a tuple of downstream tasks.
    """
    upstream = find_dataset(name, folder)
    others = [(upstream.name, upstream, folder), *((task_name(task), find_dataset(task), None) for task in tasks)]
    others = [other for other in others if not other[1].generated]
    if upstream.generated or not others:
        return Duplicates(np.empty(0, np.int64), {})
    path = _remembered(upstream, [dataset for _, dataset, _ in others], folder)
    if (known := _read(path)) is not None:
        return known
    train, _ = open_split(upstream, "train", HASH_SIZE, num_train, folder)
    rows: dict[str, np.ndarray] = {}
    for task, dataset, place in others:
        test, _ = open_split(dataset, "test", HASH_SIZE, folder=place)
        rows[task] = np.unique(find_duplicates(train, test)["train"])
    every = np.unique(np.concatenate(list(rows.values()))).astype(np.int64)
    found = Duplicates(every, {task: len(of_task) for task, of_task in rows.items()})
    write_json(path, {"rows": every.tolist(), "num_by_dataset": found.num_by_dataset}, waits=False)
    return found


def duplicate_rows(found: Duplicates) -> list[dict[str, Any]]:
    """Rows of `scaling`'s measurements, without their key."""
    return [
        {"name": "near_duplicates", "dataset": name, "split": "train", "value": float(count)}
        for name, count in found.num_by_dataset.items()
    ]


def _remembered(upstream: DataSet, others: list[DataSet], folder: str | None) -> Path:
    place = upstream.place(folder)
    key = [_RULE, MAX_BITS, MIN_CORRELATION, str(place), *((d.name, d.version) for d in (upstream, *others))]
    return cache_folder() / "duplicates" / f"{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]}.json"


def _read(path: Path) -> Duplicates | None:
    try:
        values = json.loads(path.read_text())
        return Duplicates(np.array(values["rows"], np.int64), values["num_by_dataset"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
