"""Where the random resized crop ("inception_flip") cuts: drawn on the CPU, for resident and streamed images alike."""

import numpy as np

from .streams import rng_of

__all__ = ["AREA", "RATIO", "crop_boxes", "crop_flips"]

AREA = (0.05, 1.0)  # share of the image, big_vision's `inception_crop`; torchvision begins at .08
RATIO = (3 / 4, 4 / 3)  # width / height
_ATTEMPTS = 10  # torchvision's; a box that does not fit is drawn again


def crop_boxes(
    seed: int,
    step: int,
    num_images: int,
    sizes: np.ndarray | tuple[int, int],
    area: tuple[float, float] = AREA,
    ratio: tuple[float, float] = RATIO,
) -> np.ndarray:
    """Boxes (top, left, height, width) in pixels, int64, shape (num_images, 4).

    The area is uniform, the ratio log-uniform; where no attempt fits, the largest central box of a valid ratio is
    taken: torchvision's RandomResizedCrop. A box depends on (seed, step), its place in the batch and its own image's
    size.

    Args:
        sizes: height and width of every image, shape (num_images, 2), or of all, shape (2,).
        area, ratio: least and greatest.

    Source: Szegedy et al. 2015 (arXiv 1409.4842), section 6.

    >>> crop_boxes(0, 3, 2, (32, 32)).shape
    (2, 4)
    """
    sizes = np.broadcast_to(np.asarray(sizes, np.int64), (num_images, 2))
    draws = rng_of(seed, step, "crop").random((num_images, _ATTEMPTS, 4))
    share = area[0] + (area[1] - area[0]) * draws[..., 0]
    aspect = np.exp(np.log(ratio[0]) + (np.log(ratio[1]) - np.log(ratio[0])) * draws[..., 1])
    pixels = share * sizes.prod(1)[:, None]
    shape = np.rint(np.sqrt(np.stack([pixels / aspect, pixels * aspect], -1))).astype(np.int64)
    room = sizes[:, None] - shape
    fits = np.all((shape > 0) & (room >= 0), axis=-1)
    corner = np.floor(draws[..., 2:] * (room + 1)).astype(np.int64)  # uniform on 0..room
    first = np.arange(num_images), fits.argmax(1)
    boxes = np.concatenate([corner[first], shape[first]], 1)
    return np.where(np.any(fits, axis=1)[:, None], boxes, _central(sizes, ratio))


def crop_flips(seed: int, step: int, num_images: int) -> np.ndarray:
    """Which images are mirrored, half of them on average: bool, shape (num_images,)."""
    return rng_of(seed, step, "crop").spawn(1)[0].random(num_images) < 0.5


def _central(sizes: np.ndarray, ratio: tuple[float, float]) -> np.ndarray:
    """The largest box of a valid ratio in the middle of each image."""
    height, width = sizes.T
    shape = np.stack(
        [np.minimum(height, np.rint(width / ratio[0])), np.minimum(width, np.rint(height * ratio[1]))], 1
    ).astype(np.int64)
    shape = np.maximum(shape, 1)
    return np.concatenate([(sizes - shape) // 2, shape], 1)
