"""From the bytes of an image to RGB pixels: whole, or a box of it at one size."""

import io

import numpy as np
from PIL import Image

from ..decode import _rgb

__all__ = ["cut", "decode"]


def decode(data: bytes) -> Image.Image:
    """An image as RGB, decoded whole; its EXIF orientation is ignored, as torchvision does.

    Raises:
        Exception: whatever PIL raises for bytes that are no image.
    """
    with Image.open(io.BytesIO(data)) as image:
        image.load()
        return image if image.mode == "RGB" else _rgb(image)


def cut(image: Image.Image, box: list[int], image_size: int, flip: bool) -> np.ndarray:
    """A box (top, left, height, width) of an image, resized (bilinear, anti-aliased), mirrored where `flip`.

    >>> cut(Image.new("RGB", (30, 20)), [2, 3, 10, 10], 8, flip=True).shape
    (8, 8, 3)
    """
    top, left, height, width = box
    edges = left, top, left + width, top + height
    part = image.resize((image_size, image_size), Image.Resampling.BILINEAR, edges)
    return np.asarray(part.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if flip else part)
