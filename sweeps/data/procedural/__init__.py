"""Procedural images: labelled, coloured, textured shapes on noise, with no download and no state.

A scene is shape x texture x hue x position x rotation x size x background. The upstream set labels the
(shape, texture, hue) triple; each downstream task labels one factor and varies all others. How hard an image
is (rotated, shifted, shrunk, faint, cluttered, noisy, off-hue) is one number, its difficulty d = U^2, so most
images are easy, a few cannot be told, and the error of a learner falls gradually to a level above zero.

`tasks` says what a label means, `scenes` which objects an image holds; `shapes`, `textures` and `noise` keep
samples of what is drawn in atlases of `tiles`; `pixels` draws; `chunks` fixes the randomness.

>>> images, labels = generate("procedural", 4, split="test")
>>> images.shape, images.dtype.name, labels.dtype.name
((4, 32, 32, 3), 'uint8', 'int64')
"""

from .chunks import generate
from .tasks import TASKS, UPSTREAM_CLASSES

__all__ = ["TASKS", "UPSTREAM_CLASSES", "VERSION", "generate"]

VERSION = 1
"""Raised with any change of a pixel or a label: records of different versions do not compare."""
