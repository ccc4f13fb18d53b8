"""Corruptions that a test image may have suffered, in five severities: noise, blur, contrast and pixels.

The strengths are the authors', who chose others for small images. Of their fifteen corruptions these four need nothing
but arithmetic.

Source: Hendrycks and Dietterich 2019 (arXiv 1903.12261), Figure 1, and their repository `hendrycks/robustness`.
"""

from collections.abc import Callable
from math import floor, log
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torchvision.transforms.v2.functional import gaussian_blur

__all__ = ["CORRUPTIONS", "NUM_SEVERITIES", "Corruption", "corrupt"]

NUM_SEVERITIES = 5


class Corruption(NamedTuple):
    """A row of `CORRUPTIONS`.

    Attributes:
        apply: takes images float32 (n, 3, height, width) in [0, 1], a strength and random numbers.
        strengths: of severities 1 to 5, by the side in pixels of the images that the authors chose them for.
    """

    apply: Callable[[torch.Tensor, Any, np.random.Generator], torch.Tensor]
    strengths: dict[int, tuple[Any, ...]]


def corrupt(images: torch.Tensor, name: str, severity: int, rng: np.random.Generator) -> torch.Tensor:
    """Corrupted images, in [0, 1] and not rounded to 8 bits; severity 0 leaves them alone.

    The strengths are those of CIFAR-10-C, ImageNet-64-C or ImageNet-C, whichever has the side (32, 64, 224 pixels) that
    is nearest in ratio to the images'. The same random numbers at each severity are the same noise, scaled.

    Args:
        images: float32 (n, 3, height, width) in [0, 1].
        name: a key of `CORRUPTIONS`.
    """
    if not severity:
        return images
    corruption, side = CORRUPTIONS[name], images.shape[-1]
    nearest = min(corruption.strengths, key=lambda theirs: abs(log(side / theirs)))
    return corruption.apply(images, corruption.strengths[nearest][severity - 1], rng).clamp(0, 1)


def _gaussian_noise(images: torch.Tensor, deviation: float, rng: np.random.Generator) -> torch.Tensor:
    """Drawn on the CPU, so that it does not depend on the device."""
    noise = torch.from_numpy(rng.standard_normal(images.shape, dtype=np.float32))
    return images + deviation * noise.to(images.device)


def _defocus_blur(images: torch.Tensor, strength: tuple[float, float], rng: np.random.Generator) -> torch.Tensor:
    """The mean over a disk whose rim is smoothed."""
    kernel = _disk(*strength).to(images.device)
    half = len(kernel) // 2
    padded = F.pad(images, [half] * 4, mode="reflect" if half < images.shape[-1] else "replicate")
    return F.conv2d(padded.flatten(0, 1)[:, None], kernel[None, None])[:, 0].unflatten(0, images.shape[:2])


def _disk(radius: float, rim: float) -> torch.Tensor:
    """A kernel (k, k) that sums to 1, the rim smoothed by a Gaussian of 3 x 3, or 5 x 5."""
    smooth = 1 if radius <= 8 else 2
    half = floor(radius) + 2 * smooth  # the filter reflects at the border: zeros there keep the sum
    squares = torch.arange(-half, half + 1).square()
    inside = (squares[:, None] + squares <= radius**2).float()
    size = [2 * smooth + 1] * 2
    return gaussian_blur((inside / inside.sum())[None], size, [rim, rim])[0]


def _contrast(images: torch.Tensor, share: float, rng: np.random.Generator) -> torch.Tensor:
    """Nearer to the mean of each channel."""
    means = images.mean((2, 3), keepdim=True)
    return means + share * (images - means)


def _pixelate(images: torch.Tensor, share: float, rng: np.random.Generator) -> torch.Tensor:
    """Made smaller and large again with a box filter: the mean of the rows and columns of each small pixel."""
    averages = [_box(size, int(share * size)).to(images.device) for size in images.shape[2:]]
    return averages[0] @ images @ averages[1].T


def _box(size: int, small: int) -> torch.Tensor:
    """Matrix (size, size) that puts in place of each pixel the mean of those whose centres lie in its small pixel."""
    small_pixel = ((torch.arange(size) + 0.5) * max(1, small) / size).long()
    together = (small_pixel[:, None] == small_pixel).float()
    return together / together.sum(1, keepdim=True)


# `create_c/make_cifar_c.py`, `make_imagenet_64_c.py` and `make_imagenet_c.py`.
CORRUPTIONS = {
    "gaussian_noise": Corruption(
        _gaussian_noise,
        {
            32: (0.04, 0.06, 0.08, 0.09, 0.10),
            64: (0.04, 0.08, 0.12, 0.15, 0.18),
            224: (0.08, 0.12, 0.18, 0.26, 0.38),
        },
    ),
    "defocus_blur": Corruption(
        _defocus_blur,
        {
            32: ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)),
            64: ((0.5, 0.6), (1, 0.1), (1.5, 0.1), (2.5, 0.01), (3, 0.1)),
            224: ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)),
        },
    ),
    "contrast": Corruption(
        _contrast,
        {
            32: (0.75, 0.5, 0.4, 0.3, 0.15),
            64: (0.4, 0.3, 0.2, 0.1, 0.05),
            224: (0.4, 0.3, 0.2, 0.1, 0.05),
        },
    ),
    "pixelate": Corruption(
        _pixelate,
        {
            32: (0.95, 0.9, 0.85, 0.75, 0.65),
            64: (0.9, 0.8, 0.7, 0.6, 0.5),
            224: (0.6, 0.5, 0.4, 0.3, 0.25),
        },
    ),
}
