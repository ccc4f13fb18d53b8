"""All images of a split at one size, in their order."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from .decode import IMAGE_ERRORS, fit_arrays, read_photo
from .rows import Photos, ReadInBatches

__all__ = ["decode_all"]

_CHUNK = 512  # images decoded before they are written
_NUM_SHOWN = 3


def decode_all(
    images: np.ndarray | Photos | ReadInBatches, image_size: int, keeps_aspect: bool
) -> Iterator[np.ndarray]:
    """uint8 (n, image_size, image_size, 3), a few hundred images at a time.

    Raises:
        ValueError: files that cannot be decoded, after all have been tried: how many, and the first ones.
    """
    if isinstance(images, np.ndarray):
        return (fit_arrays(images[start : start + _CHUNK], image_size) for start in range(0, len(images), _CHUNK))
    if isinstance(images, Photos):
        return _decode_files(images.paths, image_size, keeps_aspect)
    return (batch.pixels.numpy() for batch in images.batches(_CHUNK))


def _decode_files(paths: Sequence[str], image_size: int, keeps_aspect: bool) -> Iterator[np.ndarray]:
    faults: list[str] = []

    def decode(path: str) -> np.ndarray | None:
        try:
            return read_photo(path, image_size, keeps_aspect)
        except IMAGE_ERRORS as error:
            faults.append(f"{path} ({' '.join(str(error).split())})")
            return None

    with ThreadPoolExecutor(_num_cores()) as pool:  # Pillow frees Python's lock while it decodes and resizes
        for start in range(0, len(paths), _CHUNK):
            decoded = list(pool.map(decode, paths[start : start + _CHUNK]))
            if not faults:
                yield np.stack([image for image in decoded if image is not None])
    if faults:
        shown = "; ".join(sorted(faults)[:_NUM_SHOWN])
        raise ValueError(f"{len(faults)} of {len(paths)} image files cannot be decoded: {shown}")


def _num_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
