"""Labelled images as tensors: RGB uint8 at the size asked for, mapped from the cache of decoded images."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch

from .cache import open_split
from .datasets import find_dataset

__all__ = ["Images", "MappedImages", "load_images", "normalise", "subset"]

_COPIED_BYTES = 2 * 2**30  # a subset up to this size is copied out of the mapped file: its batches are then faster

_PIECE = 4096  # images copied to a device at a time


class Images(NamedTuple):
    """Images uint8 (n, height, width, 3) and labels int64 (n,)."""

    pixels: torch.Tensor
    labels: torch.Tensor

    def take(self, index: np.ndarray) -> "Images":
        """The images of an index, copied; a slice of all of them is not."""
        rows = torch.from_numpy(np.ascontiguousarray(index))
        if torch.equal(rows, torch.arange(len(rows))):
            return Images(self.pixels[: len(rows)], self.labels[: len(rows)])
        return self.gather(rows)

    def gather(self, rows: torch.Tensor) -> "Images":
        """The images of an index int64 (b,) on their device, copied."""
        return Images(self.pixels.index_select(0, rows), self.labels[rows])  # 5 times as fast as [rows] on a CPU

    def to(self, device: torch.device) -> "Images":
        return Images(self.pixels.to(device), self.labels.to(device))

    def read(self) -> "Images":
        return self

    read_once = read

    def batches(self, batch_size: int) -> Iterator["Images"]:
        """All images in their order."""
        return map(Images, self.pixels.split(batch_size), self.labels.split(batch_size))

    @property
    def num_bytes(self) -> int:
        return self.pixels.nbytes


@dataclass(frozen=True)
class MappedImages:
    """Some rows of a set that lies in a mapped file and is too large to copy: read where they are asked for."""

    images: Images
    rows: torch.Tensor

    @property
    def labels(self) -> torch.Tensor:
        return self.images.labels[self.rows]

    def take(self, index: np.ndarray) -> "MappedImages":
        return MappedImages(self.images, self.rows[torch.from_numpy(np.ascontiguousarray(index))])

    def gather(self, rows: torch.Tensor) -> Images:
        return self.images.gather(self.rows[rows])

    def read(self) -> Images:
        """All of them, copied."""
        return self.images.gather(self.rows)

    def to(self, device: torch.device) -> "Images | MappedImages":
        """They stay where they are on the CPU; to another device they are copied piece by piece, not through memory."""
        if device.type == "cpu":
            return self
        pixels = self.images.pixels.new_empty((len(self.rows), *self.images.pixels.shape[1:]), device=device)
        for start in range(0, len(self.rows), _PIECE):
            piece = self.images.pixels.index_select(0, self.rows[start : start + _PIECE])
            pixels[start : start + _PIECE] = piece.to(device)
        return Images(pixels, self.labels.to(device))

    @property
    def num_bytes(self) -> int:
        return self.images.num_bytes // max(1, len(self.images.labels)) * len(self.rows)


def subset(images: Images, rows: np.ndarray) -> Images | MappedImages:
    """The rows of a set, copied where they are small."""
    mapped = MappedImages(images, torch.from_numpy(np.ascontiguousarray(rows)))
    return images.take(rows) if mapped.num_bytes <= _COPIED_BYTES else mapped


@lru_cache(maxsize=32)
def load_images(
    name: str, split: str, image_size: int | None = None, num_images: int | None = None, folder: str | None = None
) -> Images:
    """A split of a data set, grey repeated to RGB, at `image_size` (None is the set's own); see `sweeps.data.decode`.

    The pixels are mapped from the cache (`sweeps.data.cache`), so that a large set takes no memory.
    """
    dataset = find_dataset(name, folder)
    pixels, labels = open_split(dataset, split, image_size or dataset.image_size, num_images, folder)
    return Images(torch.from_numpy(pixels), torch.from_numpy(labels))


def normalise(pixels: torch.Tensor) -> torch.Tensor:
    """uint8 (n, height, width, 3) to float32 (n, 3, height, width) in [-1, 1]; the memory stays channels-last."""
    return pixels.to(torch.float32, copy=True).div_(127.5).sub_(1).permute(0, 3, 1, 2)
