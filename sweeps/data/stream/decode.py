"""From the bytes of an image to RGB pixels of one size."""

import io

import numpy as np
from PIL import Image

__all__ = ["central_box", "cut", "decode"]


def decode(data: bytes) -> Image.Image:
    """An image as RGB, decoded whole; its EXIF orientation is ignored, as torchvision does.

    Raises:
        Exception: whatever PIL raises for bytes that are no image.
    """
    image = Image.open(io.BytesIO(data))
    image.load()
    return image if image.mode == "RGB" else image.convert("RGB")


def central_box(width: int, height: int, share: float = 1.0) -> tuple[float, float, float, float]:
    """Left, top, right, bottom of the central square whose side is `share` of the shorter side.

    >>> central_box(400, 200)
    (100.0, 0.0, 300.0, 200.0)
    """
    side = share * min(width, height)
    left, top = (width - side) / 2, (height - side) / 2
    return left, top, left + side, top + side


def cut(image: Image.Image, box: tuple[float, float, float, float], image_size: int, flip: bool = False) -> np.ndarray:
    """A box of an image, resized (bilinear, anti-aliased), mirrored where `flip`: uint8 (image_size, image_size, 3)."""
    pixels = np.asarray(image.resize((image_size, image_size), Image.Resampling.BILINEAR, box=box))
    return pixels[:, ::-1] if flip else pixels
