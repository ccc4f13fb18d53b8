"""Random erasing: a rectangle of an image becomes noise."""

import math

import numpy as np
import torch

from .streams import rng_of

__all__ = ["erase_rectangles", "random_erase"]

# Zhong et al. 2020 (arXiv 1708.04896) with timm's bounds, which DeiT and ConvNeXt use.
_AREA = (0.02, 1 / 3)  # share of the image
_RATIO = (0.3, 1 / 0.3)  # height / width
# timm's noise has unit deviation where ImageNet's pixels have; theirs is .225 of [0, 1], .45 of [-1, 1].
_NOISE_STD = 0.45


def random_erase(inputs: torch.Tensor, probability: float, seed: int, step: int) -> torch.Tensor:
    """A rectangle of 2 to 33 % of an image becomes noise of each pixel, with that probability.

    Args:
        inputs: float32 (b, channels, height, width), channels last in memory; changed in place.
    """
    num_images, _, height, width = inputs.shape
    rng = rng_of(seed, step, "erase")
    chosen = np.flatnonzero(rng.random(num_images) < probability)
    draws = rng.random((4, num_images))[:, chosen]
    area = height * width * (_AREA[0] + (_AREA[1] - _AREA[0]) * draws[0])
    ratio = np.exp(math.log(_RATIO[0]) + math.log(_RATIO[1] / _RATIO[0]) * draws[1])
    # A side longer than the image's is cut, which happens to less than 1 % of them; timm draws again.
    box_height = np.clip(np.rint(np.sqrt(area * ratio)), 1, height)
    box_width = np.clip(np.rint(np.sqrt(area / ratio)), 1, width)
    top = np.floor(draws[2] * (height - box_height + 1))
    left = np.floor(draws[3] * (width - box_width + 1))
    boxes = np.stack([top, left, box_height, box_width], axis=1).astype(np.int64)
    return erase_rectangles(inputs, chosen, boxes, noise_seed=int(rng.integers(2**62)))


def erase_rectangles(inputs: torch.Tensor, chosen: np.ndarray, boxes: np.ndarray, noise_seed: int) -> torch.Tensor:
    """Normal noise in one box of each chosen image, drawn on the device for the boxes' pixels alone.

    Args:
        inputs: as in `random_erase`; changed in place.
        chosen: images, shape (n,).
        boxes: top, left, height, width, shape (n, 4).
    """
    _, channels, height, width = inputs.shape
    flat = inputs.permute(0, 2, 3, 1).view(-1, channels)
    top, left, box_height, box_width = boxes.T[..., None]
    rows, columns = np.arange(height), np.arange(width)
    inside_rows = (rows >= top) & (rows < top + box_height)
    inside_columns = (columns >= left) & (columns < left + box_width)
    which, row, column = np.nonzero(inside_rows[:, :, None] & inside_columns[:, None, :])
    place = torch.from_numpy((chosen[which] * height + row) * width + column).to(inputs.device)
    generator = torch.Generator(inputs.device).manual_seed(noise_seed)
    noise = torch.randn(len(place), channels, generator=generator, device=inputs.device, dtype=inputs.dtype)
    flat.index_copy_(0, place, noise.mul_(_NOISE_STD))
    return inputs
