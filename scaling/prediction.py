"""What a law says at some x, with an interval."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .errors import FitWarning, issue

__all__ = ["KINDS", "Prediction", "check_kind", "check_level", "warn_beyond"]

KINDS = ("confidence", "prediction")
_FAR = 10 * (1 + 1e-9)  # times the largest x, or below the least over it: an extrapolation to be warned of


@dataclass(frozen=True)
class Prediction:
    """A central value and an interval at each x; arrays of one shape.

    `median` is the fitted law itself. A bootstrap's interval need not be centred on it: on a frontier most draws lie
    above, because a draw that misses the best runs has a worse frontier.

    `kind` is "confidence" (where the law runs) or "prediction" (where one new run will fall).
    """

    x: np.ndarray
    median: np.ndarray
    low: np.ndarray
    high: np.ndarray
    level: float
    kind: str

    def __iter__(self) -> Iterator[np.ndarray]:
        """The law's value, low and high, in that order."""
        return iter((self.median, self.low, self.high))


def check_level(level: float) -> None:
    if not (isinstance(level, int | float | np.number) and 0 < level < 1):
        raise ValueError(f"level must lie between 0 and 1, such as 0.95, got {level!r}")


def check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}, got {kind!r}")


def warn_beyond(x: np.ndarray, known: np.ndarray, name: str = "x") -> None:
    """Warn where x lies more than a decade beyond the known ones."""
    if np.size(x) == 0:
        return
    far = max(np.max(x) / np.max(known), np.min(known) / np.min(x))
    if far > _FAR:
        text = f"{name} lies {np.log10(far):.2f} decades beyond the points fitted"
        issue(FitWarning("extrapolation", text))
