"""Any image as RGB uint8 at one size: what is stored for training and for test.

A photograph's short side is resized (bilinear, anti-aliased) and its centre cut out; from 224 pixels on it is first
made 256/224 of the size asked for, as has been usual since AlexNet. Arrays, whose images are of one size, are resized
so that their short side fits.
"""

import math
from typing import BinaryIO

import numpy as np

__all__ = ["IMAGE_ERRORS", "cut", "fit_arrays", "fit_photo", "read_photo", "read_whole"]

IMAGE_ERRORS = (OSError, ValueError, SyntaxError, EOFError, MemoryError, TypeError, IndexError)
"""What Pillow raises on a file that is no image, or a damaged one."""

_MARGIN, _MARGIN_FROM = 256 / 224, 224
_DRAFT = 2  # a JPEG is decoded at 1/2, 1/4 or 1/8 where that leaves so many times what is asked for: faster, as good
_LARGEST_16_BIT = 65535
_MOST_SIDES = 16  # a longer strip loses its ends first: resized as a whole it could fill the memory


def read_photo(file: str | BinaryIO, image_size: int, keeps_aspect: bool = True) -> np.ndarray:
    """The image in a file, uint8 (image_size, image_size, 3). A camera's note on rotation is not followed.

    Raises:
        One of `IMAGE_ERRORS`: the file cannot be decoded.
    """
    from PIL import Image

    try:
        with Image.open(file) as image:
            image.draft("RGB", (_DRAFT * _short(image_size), _DRAFT * _short(image_size)))
            return fit_photo(image, image_size, keeps_aspect)
    except Image.DecompressionBombError as error:  # which is no kind of these
        raise ValueError(str(error)) from error


def fit_photo(image, image_size: int, keeps_aspect: bool = True) -> np.ndarray:
    """A Pillow image of any mode and size as uint8 (image_size, image_size, 3).

    >>> from PIL import Image
    >>> fit_photo(Image.new("L", (30, 20), 7), 8).shape
    (8, 8, 3)
    """
    from PIL.Image import Resampling

    image = _rgb(image)
    if not keeps_aspect:
        return np.asarray(image.resize((image_size, image_size), Resampling.BILINEAR))
    if max(image.size) > _MOST_SIDES * min(image.size):
        image = _middle(image, _MOST_SIDES * min(image.size))
    width, height = _scaled(image.size, _short(image_size))
    if (width, height) != image.size:
        image = image.resize((width, height), Resampling.BILINEAR)
    left, top = (width - image_size) // 2, (height - image_size) // 2
    return np.asarray(image.crop((left, top, left + image_size, top + image_size)))


def read_whole(file: BinaryIO):
    """The Pillow image in a file as RGB, at its own size. Raises as `read_photo` does, or what else Pillow does."""
    from PIL import Image

    with Image.open(file) as image:
        image.load()
        return image if image.mode == "RGB" else _rgb(image)


def cut(image, box: list[int], image_size: int, flip: bool) -> np.ndarray:
    """A box (top, left, height, width) of a Pillow image, resized (bilinear, anti-aliased), mirrored where `flip`.

    >>> from PIL import Image
    >>> cut(Image.new("RGB", (30, 20)), [2, 3, 10, 10], 8, flip=True).shape
    (8, 8, 3)
    """
    from PIL.Image import Resampling, Transpose

    top, left, height, width = box
    part = image.resize((image_size, image_size), Resampling.BILINEAR, (left, top, left + width, top + height))
    return np.asarray(part.transpose(Transpose.FLIP_LEFT_RIGHT) if flip else part)


def fit_arrays(arrays: np.ndarray, image_size: int) -> np.ndarray:
    """Images uint8 (n, height, width) or (n, height, width, 3) as (n, image_size, image_size, 3), grey repeated."""
    pixels = arrays if arrays.ndim == 4 else np.repeat(arrays[..., None], 3, axis=3)
    if pixels.shape[1:3] != (image_size, image_size):
        pixels = _resize(pixels, image_size)
    return np.ascontiguousarray(pixels)


def _resize(pixels: np.ndarray, image_size: int) -> np.ndarray:
    import torch  # takes seconds
    import torch.nn.functional as F

    width, height = _scaled((pixels.shape[2], pixels.shape[1]), image_size)
    first = torch.from_numpy(np.array(pixels)).permute(0, 3, 1, 2).float()
    resized = F.interpolate(first, size=(height, width), mode="bilinear", antialias=True, align_corners=False)
    left, top = (width - image_size) // 2, (height - image_size) // 2
    cut = resized[:, :, top : top + image_size, left : left + image_size]
    return cut.round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1).numpy()


def _short(image_size: int) -> int:
    """What the short side is resized to."""
    return round(image_size * _MARGIN) if image_size >= _MARGIN_FROM else image_size


def _scaled(size: tuple[int, int], short: int) -> tuple[int, int]:
    """The size whose short side is `short`."""
    scale = short / min(size)
    return max(short, math.floor(size[0] * scale + 0.5)), max(short, math.floor(size[1] * scale + 0.5))


def _middle(image, length: int):
    """So much of the long side."""
    left, top = ((side - length) // 2 if side > length else 0 for side in image.size)
    return image.crop((left, top, left + min(length, image.width), top + min(length, image.height)))


def _rgb(image):
    """Alpha is dropped as torchvision's loader drops it; 16 bits keep their upper 8."""
    if image.mode.startswith("I"):
        from PIL import Image

        values = np.asarray(image).astype(np.int64)
        if values.min() < 0 or values.max() > _LARGEST_16_BIT:
            raise ValueError(f"pixels from {values.min()} to {values.max()}, not of 16 bits")
        return Image.fromarray(np.round(values / 257).astype(np.uint8)).convert("RGB")
    if image.mode == "F":
        raise ValueError("pixels are fractions of an unknown range")
    if image.mode == "P" and "transparency" in image.info:
        image = image.convert("RGBA")  # else Pillow warns
    return image.convert("RGB")
