"""What a law says at some x, with an interval."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from .errors import FitWarning, issue

__all__ = ["KINDS", "Prediction", "check_kind", "check_level", "no_warning_beyond", "warn_beyond"]

_MOST_SHOWN = 10  # x of a prediction in its text
KINDS = ("confidence", "prediction")
_FAR = 10 * (1 + 1e-9)  # times the largest x, or below the least over it: an extrapolation to be warned of


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        """A line an x, of many the first and the last."""
        columns = [np.reshape(values, -1) for values in (self.median, self.low, self.high)]
        # A law of two inputs has two x for each value.
        asked = np.reshape(self.x, (columns[0].size, -1)) if columns[0].size else ()
        names = ["x", "median", "low", "high"]
        lines = [f"{100 * self.level:.4g}% {self.kind} interval", _row(names)]
        for row in range(columns[0].size):
            if _MOST_SHOWN // 2 <= row < columns[0].size - _MOST_SHOWN // 2:
                lines += [_row(["..."])] if row == _MOST_SHOWN // 2 else []
                continue
            x = ", ".join(f"{value:.4g}" for value in asked[row])
            lines.append(_row([x, *(f"{column[row]:.4g}" for column in columns)]))
        return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "".join(f"  {cell:>12}" for cell in cells)


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


@contextmanager
def no_warning_beyond() -> Iterator[None]:
    """Without what `warn_beyond` says: where the caller has said it of other points."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FitWarning, message=".*decades beyond")
        yield
