"""What a data set is: one row that says how large it is and how its images are read."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

__all__ = ["Arrays", "DataSet", "Photos", "ReadInBatches", "check_split"]


@dataclass(frozen=True)
class Photos:
    """Images that lie in files of any size and kind, decoded one by one; see `sweeps.data.decode`."""

    paths: Sequence[str]

    def __len__(self) -> int:
        return len(self.paths)

    def take(self, rows: np.ndarray) -> "Photos":
        return Photos([self.paths[row] for row in map(int, rows)])


class ReadInBatches(Protocol):
    """Images that are read and brought to their size elsewhere, a batch of tensors at a time."""

    def batches(self, batch_size: int) -> Iterable[Any]: ...


Arrays = tuple[np.ndarray | Photos, np.ndarray]
"""Images and labels int64 (n,): the images uint8 (n, height, width), (n, height, width, 3), or in files."""


def _no_place(folder: str | None) -> None:
    return None


@dataclass(frozen=True)
class DataSet:
    """A labelled image set.

    Attributes:
        image_size: side in pixels of the images as they are; of photographs of any size, the side they are given
            unless another is asked for.
        num_train, num_test: images in each split; of a generated set, the default number.
        load: (split "train" or "test", number of images or None, folder or None) -> images and labels.
        version: identity of the data; it enters the run id.
        generated: any number of images can be had.
        shuffled: its images lie in no order, so that the first ones are a fair sample of a split; files mostly lie
            class by class.
        negative_control: labels say nothing of the images, so every accuracy above chance is a fault.
        keeps_aspect: photographs are cropped to a square; False squeezes them, where the borders decide the label.
        place: folder or None -> where the data lie, None where they need no files; raises FileNotFoundError.
    """

    name: str
    num_classes: int
    image_size: int
    num_train: int
    num_test: int
    load: Callable[[str, int | None, str | None], Arrays | tuple[ReadInBatches, np.ndarray]]
    version: str
    generated: bool = False
    shuffled: bool = False
    negative_control: bool = False
    keeps_aspect: bool = True
    place: Callable[[str | None], Path | None] = _no_place

    def num_images(self, split: str) -> int:
        return self.num_train if split == "train" else self.num_test


def check_split(split: str) -> str:
    """The split, where it is "train" or "test".

    Raises:
        ValueError: it is neither.
    """
    if split not in ("train", "test"):
        raise ValueError(f"split must be 'train' or 'test', got {split!r}")
    return split
