"""Chunks: the unit of randomness, from which any slice of a set is cut."""

import zlib

import numpy as np

from .noise import MAX_IMAGE_SIZE
from .pixels import render
from .scenes import noise_amplitude
from .tasks import SETS, TASKS

__all__ = ["CHUNK", "SPLITS", "generate"]

CHUNK = 120
"""Images drawn from one random stream: a multiple of every number of classes, so a chunk is balanced."""
SPLITS = ("train", "test")


def _generator(name: str, split: str, seed: int, chunk: int) -> np.random.Generator:
    """A stream of its own to each chunk of each split of each set."""
    key = (zlib.crc32(name.encode()), SPLITS.index(split), chunk)
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=key)))


def _balanced_labels(rng: np.random.Generator, num_classes: int) -> np.ndarray:
    """Every class equally often, in random order, int64 (CHUNK,)."""
    return rng.permutation(np.arange(CHUNK, dtype=np.int64) % num_classes)


def _chunk(name: str, split: str, seed: int, chunk: int, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 (CHUNK, side, side, 3) and labels int64 (CHUNK,)."""
    rng = _generator(name, split, seed, chunk)
    if name == "shuffled_labels":
        images, _ = _chunk("shapes", split, seed, chunk, side)
        return images, _balanced_labels(rng, TASKS[name])
    labelled_set = SETS[name]
    labels = _balanced_labels(rng, labelled_set.num_classes)
    difficulty = labelled_set.hardest * rng.random(CHUNK) ** 2
    layers = labelled_set.layers(rng, difficulty, labels)
    tint = labelled_set.tint(labels) if labelled_set.tint else None
    return render(rng, layers, tint, noise_amplitude(difficulty), side), labels


def _check_one_of(what: str, value: str, valid: tuple[str, ...]) -> None:
    if value not in valid:
        raise ValueError(f"{what} must be one of {', '.join(valid)}; got {value!r}")


def _check_not_negative(**values: int) -> None:
    for what, value in values.items():
        if value < 0:
            raise ValueError(f"{what} must be at least 0; got {value}")


def _check_image_size(image_size: int) -> None:
    if not 1 <= image_size <= MAX_IMAGE_SIZE:
        raise ValueError(f"image_size must be from 1 to {MAX_IMAGE_SIZE}; got {image_size}")


def _overlap(chunk: int, start: int, num_images: int) -> tuple[slice, slice]:
    """Where a chunk's images lie among those asked for, and where these lie in the chunk."""
    first, end = max(start, chunk * CHUNK), min(start + num_images, (chunk + 1) * CHUNK)
    return slice(first - start, end - start), slice(first - chunk * CHUNK, end - chunk * CHUNK)


def generate(
    name: str, num_images: int, *, split: str = "train", seed: int = 0, image_size: int = 32, start: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Labelled images `start` to `start + num_images` of an endless set, the same on every call.

    Image i depends on (name, split, seed, i, image_size) only: a small set is the beginning of a large one,
    and a scene is the same at any image_size. Each CHUNK images have every class equally often.

    Args:
        name: "procedural", the upstream set, or one of TASKS.
        num_images: at least 0.
        split: "train" or "test"; they share no image.
        seed: at least 0; another seed is another set of the same distribution.
        image_size: side in pixels, 1 to 256.
        start: number of the first image, at least 0.

    Returns:
        images uint8 (num_images, image_size, image_size, 3) and labels int64 (num_images,).

    Raises:
        ValueError: for a name or split that is not known, or a number out of its range.

    >>> generate("colours", 5, start=7)[1].tolist() == generate("colours", 12)[1][7:].tolist()
    True
    """
    _check_one_of("name", name, ("procedural", *TASKS))
    _check_one_of("split", split, SPLITS)
    _check_not_negative(num_images=num_images, seed=seed, start=start)
    _check_image_size(image_size)
    images = np.empty((num_images, image_size, image_size, 3), np.uint8)
    labels = np.empty(num_images, np.int64)
    for chunk in range(start // CHUNK, -(-(start + num_images) // CHUNK)):
        into, of_chunk = _overlap(chunk, start, num_images)
        chunk_images, chunk_labels = _chunk(name, split, seed, chunk, image_size)
        images[into], labels[into] = chunk_images[of_chunk], chunk_labels[of_chunk]
    return images, labels
