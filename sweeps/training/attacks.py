"""Adversarial images: those near an image, pixel for pixel, on which a model's loss is high."""

from collections.abc import Callable

import numpy as np
import torch

__all__ = ["attack", "step_size"]

_PIXEL_RANGE = 2.0  # of normalised images, -1 to 1; radii are in units of pixels from 0 to 1
_ONE_STEP, _ALL_STEPS = 1.25, 2.5  # shares of the radius


def attack(
    images: torch.Tensor,
    loss: Callable[[torch.Tensor], torch.Tensor],
    *,
    radius: float,
    num_steps: int = 1,
    step: float | None = None,
    rng: np.random.Generator | None = None,
) -> torch.Tensor:
    """Images of higher loss, no value of which is further than `radius` from the given one's (L-infinity).

    One step of the size of the radius, which is the default, is the fast gradient sign method; several from a random
    start are projected gradient descent. Pixels stay in [0, 1]; a value that lies outside already (noise of an
    augmentation) goes no further out. The parameters' gradients are left alone.

    Args:
        images: normalised, float32 (b, 3, height, width) in [-1, 1].
        loss: of images; a scalar, in which each image's part depends on that image alone.
        radius: in units of pixels in [0, 1]: 8/255 are eight grey levels of 255.
        step: how far each step goes, in the same units; the radius where it is not given.
        rng: draws a uniform start in the ball; without it the start is the image.

    Source: Goodfellow et al. 2014 (arXiv 1412.6572), section 4; Madry et al. 2018 (arXiv 1706.06083), section 2.1;
    the random start of a single step is that of Wong et al. 2020 (arXiv 2001.03994), algorithm 3.

    >>> grey = torch.zeros(1, 3, 2, 2)
    >>> attack(grey, lambda x: x.sum(), radius=0.25).unique().tolist()
    [0.5]
    """
    reach, stride = _PIXEL_RANGE * radius, _PIXEL_RANGE * (radius if step is None else step)
    low = torch.maximum(images - reach, images.clamp(max=-1))
    high = torch.minimum(images + reach, images.clamp(min=1))
    moved = images
    if rng is not None:
        start = torch.from_numpy(rng.uniform(-reach, reach, images.shape).astype(np.float32))
        moved = (images + start.to(images.device)).clamp(low, high)
    for _ in range(num_steps):
        moved = moved.detach().requires_grad_()
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(loss(moved), moved)
        moved = (moved + stride * gradient.sign()).clamp(low, high)
    return moved.detach()


def step_size(radius: float, num_steps: int) -> float:
    """2.5 radii over all steps, so that they reach the rim from any start and can turn; one step is 1.25 radii at most.

    Source: the customary rule of the field; for one step Wong et al. 2020, whose code has 10/255 for a radius of 8/255.

    >>> step_size(0.1, 10), step_size(0.1, 1)
    (0.025, 0.125)
    """
    return radius * min(_ONE_STEP, _ALL_STEPS / num_steps)
