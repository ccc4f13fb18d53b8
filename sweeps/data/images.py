"""Labelled images as tensors: RGB uint8 at the size asked for, loaded once a process."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from .datasets import find_dataset

__all__ = ["Images", "load_images", "normalise"]


class Images(NamedTuple):
    """Images uint8 (n, height, width, 3) and labels int64 (n,)."""

    pixels: torch.Tensor
    labels: torch.Tensor

    def take(self, index: np.ndarray) -> "Images":
        rows = torch.from_numpy(np.ascontiguousarray(index))
        return Images(self.pixels[rows], self.labels[rows])

    def to(self, device: torch.device) -> "Images":
        return Images(self.pixels.to(device), self.labels.to(device))


@lru_cache(maxsize=32)
def load_images(
    name: str, split: str, image_size: int | None = None, num_images: int | None = None, folder: str | None = None
) -> Images:
    """A split of a data set, grey repeated to RGB, resized (bilinear, anti-aliased) to `image_size`."""
    arrays, labels = find_dataset(name).load(split, num_images, folder)
    pixels = torch.from_numpy(np.array(arrays))
    if pixels.ndim == 3:
        pixels = pixels[..., None].expand(-1, -1, -1, 3)
    if image_size not in (None, pixels.shape[1]):
        pixels = _resize(pixels, image_size)
    return Images(pixels.contiguous(), torch.from_numpy(labels))


def normalise(pixels: torch.Tensor) -> torch.Tensor:
    """uint8 (n, height, width, 3) to float32 (n, 3, height, width) in [-1, 1]; the memory stays channels-last."""
    return pixels.to(torch.float32, copy=True).div_(127.5).sub_(1).permute(0, 3, 1, 2)


def _resize(pixels: torch.Tensor, image_size: int) -> torch.Tensor:
    first = pixels.permute(0, 3, 1, 2).float()
    resized = F.interpolate(first, size=(image_size, image_size), mode="bilinear", antialias=True, align_corners=False)
    return resized.round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1)
