"""Mixup and cutmix: each image of a batch mixed with another of it, and so its label."""

import math
from typing import NamedTuple

import numpy as np
import torch

from .streams import rng_of

__all__ = ["Mix", "draw_mix", "mix_batch"]


class Mix(NamedTuple):
    """How a batch is mixed.

    Attributes:
        share: of each image itself; its partner has the rest.
        box: top, bottom, left, right of the part that is the partner's (cutmix), or None (mixup).
    """

    share: float
    box: tuple[int, int, int, int] | None


def draw_mix(mixup: float, cutmix: float, height: int, width: int, seed: int, step: int) -> Mix:
    """The mix of a step: mixup or cutmix with alpha as given, each half the time where both are on.

    One share a batch, as in both papers and in timm's "batch" mode. A box is cut off at the border, and the share is
    that of the pixels left.

    Source: Zhang et al. 2018 (arXiv 1710.09412), section 2; Yun et al. 2019 (arXiv 1905.04899), Eqs. 1 and 2; the
    switch is that of Touvron et al. 2021 (arXiv 2012.12877).
    """
    rng = rng_of(seed, step, "mix")
    cuts = rng.random() < 0.5 if mixup and cutmix else bool(cutmix)
    alpha = cutmix if cuts else mixup
    share = float(rng.beta(alpha, alpha))
    if not cuts:
        return Mix(share, None)
    top, bottom = _span(height, share, rng)
    left, right = _span(width, share, rng)
    return Mix(1 - (bottom - top) * (right - left) / (height * width), (top, bottom, left, right))


def mix_batch(
    inputs: torch.Tensor, labels: torch.Tensor, mix: Mix, num_classes: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mixed images and the shares of the classes, float32 (b, num_classes).

    An image's partner lies half a batch away, so that a repeated image is not mixed with itself.

    Args:
        inputs: (b, channels, height, width), channels last in memory, and so the mixed ones; changed in place.
        labels: int64 (b,).
    """
    away = len(labels) // 2
    rows = labels[:, None]
    targets = torch.zeros(len(labels), num_classes, device=labels.device)
    targets.scatter_(1, rows, mix.share)
    targets.scatter_add_(1, rows.roll(away, 0), torch.full_like(targets[:, :1], 1 - mix.share))
    images = inputs.permute(0, 2, 3, 1)  # contiguous: roll would first copy anything else, slowly
    if mix.box is None:
        return images.roll(away, 0).lerp_(images, mix.share).permute(0, 3, 1, 2), targets
    top, bottom, left, right = mix.box
    images[:, top:bottom, left:right] = images[:, top:bottom, left:right].roll(away, 0)
    return inputs, targets


def _span(size: int, share: float, rng: np.random.Generator) -> tuple[int, int]:
    """First and one past the last pixel of a side of the box."""
    length = int(size * math.sqrt(1 - share))
    middle = int(rng.integers(size))
    return max(0, middle - length // 2), min(size, middle + (length + 1) // 2)
