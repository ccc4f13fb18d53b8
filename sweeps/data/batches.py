"""Training batches: which images, and how they are cropped and flipped, are pure functions of (seed, step)."""

from functools import lru_cache

import numpy as np
import torch

from .images import Images, normalise

__all__ = ["batch_indices", "crop_flip", "training_batch"]

_PADDING = 4  # pixels, as in He et al. 2016 (arXiv 1512.03385), section 4.2
_ORDER, _AUGMENT = 1, 2  # streams of the seed


def batch_indices(seed: int, step: int, batch_size: int, num_images: int) -> np.ndarray:
    """Indices of the images of a step, shape (batch_size,): epoch after epoch, each in an order of its own.

    >>> sorted(np.concatenate([batch_indices(0, step, 4, 8) for step in (0, 1)]).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    position = step * batch_size + np.arange(batch_size)
    epoch, place = np.divmod(position, num_images)
    return np.concatenate([_epoch_order(seed, int(e), num_images)[place[epoch == e]] for e in np.unique(epoch)])


def training_batch(
    images: Images, seed: int, step: int, batch_size: int, augment: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Normalised pixels (batch_size, 3, height, width) and labels of a step, on the images' device."""
    index = torch.from_numpy(batch_indices(seed, step, batch_size, len(images.labels))).to(images.labels.device)
    if augment == "none":
        pixels = images.pixels[index]
    else:
        rng = np.random.default_rng([seed, step, _AUGMENT])
        shift = rng.integers(-_PADDING, _PADDING, size=(2, batch_size, 1), endpoint=True)
        pixels = crop_flip(images.pixels, index, shift, rng.random((batch_size, 1)) < 0.5)
    return normalise(pixels), images.labels[index]


def crop_flip(pixels: torch.Tensor, index: torch.Tensor, shift: np.ndarray, flip: np.ndarray) -> torch.Tensor:
    """Chosen images moved by `shift` pixels (reflected at the border), then mirrored where `flip`: one gather.

    Args:
        pixels: uint8, shape (n, height, width, channels).
        index: which images, shape (b,).
        shift: down and right, shape (2, b, 1).
        flip: shape (b, 1).
    """
    _, height, width, channels = pixels.shape
    rows = _reflect(np.arange(height) - shift[0], height)
    columns = np.arange(width)
    columns = _reflect(np.where(flip, width - 1 - columns, columns) - shift[1], width)
    place = torch.from_numpy(rows[:, :, None] * width + columns[:, None, :]).to(index.device)
    flat = (index * (height * width))[:, None, None] + place
    return pixels.view(-1, channels)[flat.view(-1)].view(len(index), height, width, channels)


@lru_cache(maxsize=4)
def _epoch_order(seed: int, epoch: int, num_images: int) -> np.ndarray:
    return np.random.default_rng([seed, epoch, _ORDER]).permutation(num_images)


def _reflect(position: np.ndarray, size: int) -> np.ndarray:
    """Positions outside [0, size) mirrored back inside, the border pixel not repeated."""
    return size - 1 - np.abs(size - 1 - np.abs(position))
