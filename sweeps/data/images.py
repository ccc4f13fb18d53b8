"""Labelled images as tensors: RGB uint8 at the size asked for, mapped from the cache of decoded images."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch

from .cache import open_split
from .datasets import find_dataset

__all__ = ["Images", "load_images", "normalise"]


class Images(NamedTuple):
    """Images uint8 (n, height, width, 3) and labels int64 (n,)."""

    pixels: torch.Tensor
    labels: torch.Tensor

    def take(self, index: np.ndarray) -> "Images":
        """The images of an index, copied; a slice of all of them is not."""
        rows = torch.from_numpy(np.ascontiguousarray(index))
        if torch.equal(rows, torch.arange(len(rows))):
            return Images(self.pixels[: len(rows)], self.labels[: len(rows)])
        return Images(self.pixels.index_select(0, rows), self.labels[rows])  # 5 times as fast as an index on a CPU

    def to(self, device: torch.device) -> "Images":
        return Images(self.pixels.to(device), self.labels.to(device))


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
