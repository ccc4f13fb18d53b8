"""Random crops and mirroring of whole batches."""

import numpy as np
import torch
import torch.nn.functional as F

from .boxes import crop_boxes, crop_flips
from .streams import rng_of

__all__ = ["crop_flip", "inception_flip", "resample_boxes", "shift_and_mirror"]

_PADDING = 4  # pixels, as in He et al. 2016 (arXiv 1512.03385), section 4.2


def crop_flip(pixels: torch.Tensor, seed: int, step: int) -> torch.Tensor:
    """Each image moved by up to 4 pixels and mirrored half the time: uint8 (b, height, width, channels), as given.

    An image of 4 pixels or fewer is moved by less than its side, since it is reflected at the border once.
    """
    num_images, height, width, _ = pixels.shape
    rng = rng_of(seed, step, "crop")
    shift = rng.integers(-_PADDING, _PADDING, size=(2, num_images, 1), endpoint=True)
    if min(height, width) <= _PADDING:
        most = np.array([height, width]).reshape(2, 1, 1) - 1
        shift = shift.clip(-most, most)
    return shift_and_mirror(pixels, shift, rng.random((num_images, 1)) < 0.5)


def inception_flip(pixels: torch.Tensor, seed: int, step: int) -> torch.Tensor:
    """A random part of each image enlarged to the whole, mirrored half the time: uint8, the shape given.

    Source: Szegedy et al. 2015 (arXiv 1409.4842), section 6; boxes as `sweeps.augment.boxes` draws them.
    """
    num_images, height, width, _ = pixels.shape
    boxes = crop_boxes(seed, step, num_images, (height, width))
    return resample_boxes(pixels, boxes, crop_flips(seed, step, num_images))


def shift_and_mirror(pixels: torch.Tensor, shift: np.ndarray, flip: np.ndarray) -> torch.Tensor:
    """Images moved by `shift` pixels (reflected at the border), then mirrored where `flip`: one gather.

    Args:
        pixels: uint8, shape (b, height, width, channels).
        shift: down and right, shape (2, b, 1).
        flip: shape (b, 1).
    """
    num_images, height, width, channels = pixels.shape
    down, right = shift.astype(np.int32)
    columns = _count(width)
    columns = _reflect(np.where(flip, width - 1 - columns, columns) - right, width)
    rows = (_reflect(_count(height) - down, height) + _count(num_images)[:, None] * height) * width
    rows, columns = (torch.from_numpy(places).to(pixels.device) for places in (rows, columns))
    # 32-bit places and index_select are 2.5 times as fast on a CPU as 64-bit ones and plain indexing.
    place = (rows[:, :, None] + columns[:, None, :]).view(-1)
    return pixels.reshape(-1, channels).index_select(0, place).view(num_images, height, width, channels)


def resample_boxes(pixels: torch.Tensor, boxes: np.ndarray, flip: np.ndarray) -> torch.Tensor:
    """Parts of images enlarged to the size of the images (bilinear), then mirrored where `flip`.

    A part is never larger than the result, so that there is nothing for antialiasing to smooth: this is torchvision's
    `resized_crop` with or without it, in one call a batch.

    Args:
        pixels: uint8, shape (b, height, width, channels).
        boxes: top, left, height, width in pixels, shape (b, 4).
        flip: shape (b,).
    """
    _, height, width, _ = pixels.shape
    top, left, box_height, box_width = (
        torch.from_numpy(boxes.astype(np.float32)).to(pixels.device)[:, :, None].unbind(1)
    )
    rows = _centres(top, box_height, height)
    columns = _centres(left, box_width, width)
    columns = torch.where(torch.from_numpy(flip).to(pixels.device)[:, None], columns.flip(1), columns)
    grid = torch.stack(torch.broadcast_tensors(columns[:, None, :], rows[:, :, None]), dim=-1)
    images = pixels.permute(0, 3, 1, 2).float()
    # Rows and columns lie inside the image: the padding is never seen, and "border" is the fastest.
    resampled = F.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)
    return resampled.permute(0, 2, 3, 1).contiguous().round_().to(torch.uint8)


def _centres(start: torch.Tensor, length: torch.Tensor, size: int) -> torch.Tensor:
    """Where the centres of `size` pixels that divide a part fall, in grid_sample's [-1, 1]; shape (b, size).

    They stay between the centres of the part's first and last pixel, so that nothing outside of it is mixed in.
    """
    inside = (torch.arange(size, device=start.device) + 0.5) * (length / size) - 0.5
    place = start + torch.minimum(inside.clamp(min=0), length - 1)
    return (2 * place + 1) / size - 1


def _count(number: int) -> np.ndarray:
    return np.arange(number, dtype=np.int32)


def _reflect(position: np.ndarray, size: int) -> np.ndarray:
    """Positions outside [0, size) mirrored back inside, the border pixel not repeated."""
    return size - 1 - np.abs(size - 1 - np.abs(position))
