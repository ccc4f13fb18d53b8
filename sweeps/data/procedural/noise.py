"""Noise: the smooth background behind the objects, and the pixel noise over everything."""

from functools import cache

import numpy as np

from .tiles import FULL, FULL_BITS, SIDE, atlas, atlas_index, per_image

__all__ = ["MAX_IMAGE_SIZE", "add_noise", "backgrounds", "smooth_noise"]

MAX_IMAGE_SIZE = 256
_NOISE_LENGTH = 4 * MAX_IMAGE_SIZE**2  # of the noise bank: four of the largest planes, so that windows differ

_NUM_BACKGROUNDS = 32
_FIRST_SEED = 100  # of the backgrounds; textures have the first seeds
_BACKGROUND_SAMPLES = 32  # tile samples across an image: half a tile, so that windows differ
_GREY = (80.0, 150.0)  # wider makes the mean colour of an image a poor cue, and learning starts late
_JITTER = 12.0  # of each colour
_TINT = 16.0  # of a labelled background, over the jitter
_CONTRAST = 70.0


def smooth_noise(seed: int, passes: int) -> np.ndarray:
    """A periodic tile of zero mean and unit spread, (SIDE, SIDE); smoother with more passes."""
    noise = np.random.default_rng(seed).random((SIDE, SIDE))
    for _ in range(passes):
        for axis in (0, 1):
            noise = (np.roll(noise, -1, axis) + noise + np.roll(noise, 1, axis)) / 3
    return (noise - noise.mean()) / noise.std()


@cache
def _background_atlas() -> np.ndarray:
    seeds = range(_FIRST_SEED, _FIRST_SEED + _NUM_BACKGROUNDS)
    return atlas(0.5 + smooth_noise(seed, passes=12) / 6 for seed in seeds)


@cache
def _noise_bank() -> np.ndarray:
    """Near-normal pixel noise, int16 with a spread of 37 (sum of four uniforms): (_NOISE_LENGTH,)."""
    rng = np.random.default_rng(0)
    return rng.integers(-32, 33, (4, _NOISE_LENGTH), dtype=np.int16).sum(axis=0, dtype=np.int16)


def backgrounds(rng: np.random.Generator, tint: np.ndarray | None, num_images: int, side: int) -> np.ndarray:
    """Smooth noise about a greyish colour, of the hue `tint` in turns (num_images,) or a fainter one at random.

    Returns int16 (3, num_images, side, side).
    """
    tile, down, along = rng.integers(0, (_NUM_BACKGROUNDS, SIDE, SIDE), (num_images, 3)).T
    steps = np.arange(side) * _BACKGROUND_SAMPLES // side
    rows, columns = ((steps + shift[:, None]) & (SIDE - 1) for shift in (down, along))
    field = np.take(_background_atlas(), atlas_index(tile, rows[:, :, None], columns[:, None, :]))
    grey, colour = rng.uniform(*_GREY, num_images), _JITTER * rng.uniform(-1, 1, (3, num_images))
    if tint is not None:
        colour += _TINT * np.cos(2 * np.pi * (tint - np.arange(3)[:, None] / 3))
    gain = rng.uniform(0, _CONTRAST, (3, num_images))
    return per_image(grey + colour) + (((field - FULL // 2) * per_image(gain)) >> FULL_BITS)


def add_noise(rng: np.random.Generator, canvas: np.ndarray, amplitude: np.ndarray) -> None:
    """Add a random window of the noise bank, times amplitude in [0, 1], in place."""
    _, num_images, side, _ = canvas.shape
    windows = np.lib.stride_tricks.sliding_window_view(_noise_bank(), side * side)
    gain = per_image(amplitude * FULL)
    for plane in canvas:
        noise = windows[rng.integers(0, len(windows), num_images)].reshape(num_images, side, side)
        plane += (noise * gain) >> FULL_BITS
