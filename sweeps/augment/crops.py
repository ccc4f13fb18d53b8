"""Random crops and mirroring of whole batches."""

import numpy as np
import torch

from .streams import rng_of

__all__ = ["crop_flip", "shift_and_mirror"]

_PADDING = 4  # pixels, as in He et al. 2016 (arXiv 1512.03385), section 4.2


def crop_flip(pixels: torch.Tensor, seed: int, step: int) -> torch.Tensor:
    """Each image moved by up to 4 pixels and mirrored half the time: uint8 (b, height, width, channels), as given."""
    num_images = len(pixels)
    rng = rng_of(seed, step, "crop")
    shift = rng.integers(-_PADDING, _PADDING, size=(2, num_images, 1), endpoint=True)
    return shift_and_mirror(pixels, shift, rng.random((num_images, 1)) < 0.5)


def shift_and_mirror(pixels: torch.Tensor, shift: np.ndarray, flip: np.ndarray) -> torch.Tensor:
    """Images moved by `shift` pixels (reflected at the border), then mirrored where `flip`: one gather.

    Args:
        pixels: uint8, shape (b, height, width, channels).
        shift: down and right, shape (2, b, 1).
        flip: shape (b, 1).
    """
    num_images, height, width, channels = pixels.shape
    rows = _reflect(np.arange(height) - shift[0], height)
    columns = np.arange(width)
    columns = _reflect(np.where(flip, width - 1 - columns, columns) - shift[1], width)
    first = np.arange(num_images)[:, None] * height
    place = (first + rows)[:, :, None] * width + columns[:, None, :]
    flat = torch.from_numpy(place.reshape(-1)).to(pixels.device)
    return pixels.reshape(-1, channels)[flat].view(num_images, height, width, channels)


def _reflect(position: np.ndarray, size: int) -> np.ndarray:
    """Positions outside [0, size) mirrored back inside, the border pixel not repeated."""
    return size - 1 - np.abs(size - 1 - np.abs(position))
