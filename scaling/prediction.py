"""What a law says at some x, with an interval."""

from dataclasses import dataclass

import numpy as np

__all__ = ["KINDS", "Prediction", "check_kind", "check_level"]

KINDS = ("confidence", "prediction")


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


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, such as 0.95, got {level!r}")


def check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}, got {kind!r}")
