"""Hold-out windows: which points a law is fitted to, and on which further ones it is scored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import FitError

__all__ = ["HOLDOUTS", "Holdout", "Window", "find_windows"]

HALF = 0.5  # the split of Alabdulmohsin et al. 2022 (arXiv 2209.06640): the largest doubling of x is held out
_ROLLING_SHARES = (1 / 8, 1 / 4, 1 / 2)
_REACH = 2.0  # times a cut-off, up to which a rolling window scores: as far as `above_share` does


@dataclass(frozen=True, eq=False)
class Window:
    """Points to fit and points to score, boolean masks of shape (n,) that share no point."""

    fitted: np.ndarray
    scored: np.ndarray


Holdout = str | tuple[str, float] | Sequence[Window]


def _above_share(x: np.ndarray, share: float = HALF) -> list[Window]:
    """Score x above a share of the largest x; fit the rest."""
    _check("share", share, 0 < share < 1, "between 0 and 1")
    return [_split(x > share * x.max())]


def _above_accuracy(x: np.ndarray, accuracy: float = HALF) -> list[Window]:
    """Score the points whose accuracy 1 - x is above a value; x is an upstream error."""
    _check("accuracy", accuracy, 0 < accuracy < 1, "between 0 and 1")
    if np.any(x > 1):
        raise ValueError(f"holdout 'above_accuracy' takes errors x in [0, 1], got {x.max():g}: is it percent?")
    return [_split(x < 1 - accuracy)]


def _largest(x: np.ndarray, num: float = 3) -> list[Window]:
    """Score the points at the largest x, at least `num` of them; fit the rest."""
    _check("num", num, num == int(num) and 1 <= num < x.size, f"a whole number from 1 to {x.size - 1}")
    return [_split(x >= np.sort(x)[-int(num)])]


def _rolling(x: np.ndarray, reach: float = _REACH) -> list[Window]:
    """At 1/8, 1/4 and 1/2 of the largest x: fit up to the cut-off, score above it up to `reach` times it."""
    _check("reach", reach, reach > 1, "above 1")
    cuts = [share * x.max() for share in _ROLLING_SHARES]
    return [Window(x <= cut, (x > cut) & (x <= reach * cut)) for cut in cuts]


HOLDOUTS: dict[str, Callable[..., list[Window]]] = {
    "above_share": _above_share,
    "above_accuracy": _above_accuracy,
    "largest": _largest,
    "rolling": _rolling,
}

_RULE = f"holdout must be one of {sorted(HOLDOUTS)}, or (name, number), or a list of windows"


def find_windows(x: np.ndarray, holdout: Holdout) -> list[Window]:
    """The windows of a hold-out on x, shape (n,); those that hold no point to fit or to score are left out.

    Args:
        x: positive values.
        holdout: a name in `HOLDOUTS`, or (name, value) with the value of its argument, or windows.

    Raises:
        ValueError: an unknown name, or a value outside its range.
        FitError: no window has points to fit and points to score.

    >>> [window] = find_windows(np.array([1.0, 2.0, 4.0, 8.0]), ("above_share", 0.25))
    >>> window.scored
    array([False, False,  True,  True])
    """
    if not isinstance(holdout, str | Sequence) or len(holdout) == 0:
        raise ValueError(f"{_RULE}, got {holdout!r}")
    name, *values = (holdout,) if isinstance(holdout, str) else tuple(holdout)
    windows = _named(x, name, values) if isinstance(name, str) else _checked(x, [name, *values])
    useful = [window for window in windows if window.fitted.any() and window.scored.any()]
    if not useful:
        raise FitError(f"holdout {holdout!r} leaves no point to fit or none to score, of {x.size}")
    return useful


def _named(x: np.ndarray, name: str, values: list[Any]) -> list[Window]:
    if name not in HOLDOUTS or len(values) > 1 or not all(isinstance(v, int | float | np.number) for v in values):
        raise ValueError(f"{_RULE}, got {(name, *values)!r}")
    return HOLDOUTS[name](x, *values)


def _checked(x: np.ndarray, windows: list[Any]) -> list[Window]:
    for window in windows:
        if not isinstance(window, Window):
            raise ValueError(f"{_RULE}, got {window!r}")
        for mask in (window.fitted, window.scored):
            if np.shape(mask) != x.shape or np.asarray(mask).dtype != bool:
                raise ValueError(f"the masks of a window must be boolean, of shape {x.shape}, got {np.shape(mask)}")
        if np.any(window.fitted & window.scored):
            raise ValueError("a window must not score a point that it fits")
    return windows


def _split(scored: np.ndarray) -> Window:
    return Window(~scored, scored)


def _check(name: str, value: float, is_valid: bool, valid: str) -> None:
    if not is_valid:
        raise ValueError(f"{name} of a holdout must be {valid}, got {value!r}")
