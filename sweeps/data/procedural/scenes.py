"""Scenes: which objects an image holds, before any pixel."""

from dataclasses import dataclass, fields, replace

import numpy as np

from .shapes import UPSTREAM_SHAPES
from .textures import UPSTREAM_TEXTURES

__all__ = ["Objects", "labelled_object", "noise_amplitude", "symmetric", "with_clutter"]

_PER_DIFFICULTY = {
    "hue": 0.06,  # turns; half a step is 0.033: 5 % of images look like the next hue, a floor for the error
    "light": 0.4,  # share of the colour lost
    "shift": 0.15,  # of the image side
    "shrink": 0.5,  # share of the radius lost
    "rotation": 0.8,  # radians; a half-turn would make the early tasks too hard
    "phase": 0.5,  # texture tiles, to and fro: all of a tile
    "fade": 0.75,  # share of the opacity lost
    "noise": 0.4,  # of the noise bank's spread of 37 grey levels
}
"""Width of each nuisance at difficulty 1; found by training, for an error that falls over 1.5 decades."""
_NOISE_FLOOR = 0.06  # noise at difficulty 0: two grey levels, so no two images are equal

_RADIUS = 0.36  # of an object in an easy image: 23 of 32 pixels across, so that random crops keep it
_CLUTTER_RADIUS = (0.1, 0.18)  # at most half of an easy object


@dataclass(frozen=True)
class Objects:
    """One object to each image: arrays (num_images,). Lengths are fractions of the image side."""

    shape: np.ndarray  # row of SHAPES
    texture: np.ndarray  # row of TEXTURES
    hue: np.ndarray  # turns
    light: np.ndarray  # factor on the colour
    x: np.ndarray
    y: np.ndarray
    radius: np.ndarray
    angle: np.ndarray  # radians
    phase: np.ndarray  # shift of the texture along itself, in texture tiles
    opacity: np.ndarray  # 0, absent, to 1

    def at(self, rows: np.ndarray) -> "Objects":
        """The objects of these images only."""
        return Objects(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


def symmetric(rng: np.random.Generator, width: np.ndarray | float, num_images: int) -> np.ndarray:
    """Uniform in [-width, width]: (num_images,)."""
    return width * rng.uniform(-1, 1, num_images)


def labelled_object(
    rng: np.random.Generator,
    difficulty: np.ndarray,
    *,
    shape: np.ndarray | None = None,
    texture: np.ndarray | None = None,
    hue: np.ndarray | None = None,
) -> Objects:
    """Near the middle, upright, large and clear; less so with difficulty. A factor not given is random."""
    num_images = len(difficulty)
    width = {nuisance: at_one * difficulty for nuisance, at_one in _PER_DIFFICULTY.items()}
    shape = rng.integers(len(UPSTREAM_SHAPES), size=num_images) if shape is None else shape
    texture = rng.integers(len(UPSTREAM_TEXTURES), size=num_images) if texture is None else texture
    hue = rng.random(num_images) if hue is None else hue
    return Objects(
        shape=shape,
        texture=texture,
        hue=hue + symmetric(rng, width["hue"], num_images),
        light=1 - rng.random(num_images) * width["light"],
        x=0.5 + symmetric(rng, width["shift"], num_images),
        y=0.5 + symmetric(rng, width["shift"], num_images),
        radius=_RADIUS * (1 - rng.random(num_images) * width["shrink"]),
        angle=symmetric(rng, width["rotation"], num_images),
        phase=symmetric(rng, width["phase"], num_images),
        opacity=1 - width["fade"],
    )


def with_clutter(rng: np.random.Generator, difficulty: np.ndarray, labelled: Objects) -> list[Objects]:
    """A small object of any colour anywhere behind the labelled one, in a share d of the images."""
    num_images = len(difficulty)
    clutter = replace(
        labelled,
        shape=rng.integers(len(UPSTREAM_SHAPES), size=num_images),
        texture=rng.integers(len(UPSTREAM_TEXTURES), size=num_images),
        hue=rng.random(num_images),
        x=rng.random(num_images),
        y=rng.random(num_images),
        radius=rng.uniform(*_CLUTTER_RADIUS, num_images),
        opacity=np.where(rng.random(num_images) < difficulty, labelled.opacity, 0),
    )
    return [clutter, labelled]


def noise_amplitude(difficulty: np.ndarray) -> np.ndarray:
    """Of the pixel noise, in [0, 1]: (num_images,)."""
    return _NOISE_FLOOR + _PER_DIFFICULTY["noise"] * difficulty
