"""Mixup and cutmix: each image of a batch mixed with another of it, and so its label."""

import math
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

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
    """Mixed images, in the memory format given, and the shares of the classes, float32 (b, num_classes).

    An image's partner lies half a batch away, so that a repeated image is not mixed with itself.

    Args:
        inputs: (b, channels, height, width).
        labels: int64 (b,).
    """
    away = len(labels) // 2
    shares = F.one_hot(labels, num_classes).float()
    targets = shares * mix.share + shares.roll(away, 0) * (1 - mix.share)
    if mix.box is None:
        return torch.lerp(inputs.roll(away, 0), inputs, mix.share), targets
    top, bottom, left, right = mix.box
    mixed = inputs.clone()
    mixed[:, :, top:bottom, left:right] = inputs[:, :, top:bottom, left:right].roll(away, 0)
    return mixed, targets


def _span(size: int, share: float, rng: np.random.Generator) -> tuple[int, int]:
    """First and one past the last pixel of a side of the box."""
    length = int(size * math.sqrt(1 - share))
    middle = int(rng.integers(size))
    return max(0, middle - length // 2), min(size, middle + (length + 1) // 2)
