"""Checks of what users pass to an analysis: one line that says which argument, which row, what is valid."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = [
    "check_accuracies",
    "check_choice",
    "check_flag",
    "check_fractions",
    "check_inside",
    "check_num_draws",
    "check_number",
    "check_positive",
    "check_same_index",
    "check_whole",
    "generator",
    "model_names",
    "numbers",
    "paired",
]

_MOST_DRAWS = 10_000_000


def check_fractions(name: str, values: ArrayLike) -> np.ndarray:
    """Errors or accuracies as float64 in [0, 1], or a ValueError that names the row and asks about percent."""
    values = numbers(name, values)
    bad = np.flatnonzero(~((values.ravel() >= 0) & (values.ravel() <= 1)))
    if bad.size:
        value = values.ravel()[bad[0]]
        percent = " (is this percent? divide by 100)" if value > 1 else ""
        raise ValueError(f"{name} must lie in [0, 1]; row {bad[0]} is {value:g}{percent} ({bad.size} such)")
    return values


def numbers(name: str, values: ArrayLike) -> np.ndarray:
    """The values as float64, or a ValueError: numpy would take dates for nanoseconds and drop imaginary parts."""
    try:
        found = np.asarray(values)
        if found.dtype.kind in "cmM":
            raise TypeError(f"got values of type {found.dtype}")
        return found.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from None


def paired(x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Both as float64 of one shape (n,), or a ValueError: other shapes, or Series that name their rows differently."""
    check_same_index(x=x, y=y)
    x, y = numbers("x", x), numbers("y", y)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"x and y must be one-dimensional and equally long, got shapes {x.shape} and {y.shape}")
    return x, y


def check_whole(name: str, value: Any, least: int) -> None:
    """A ValueError where an option is not a whole number from `least` on."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_num_draws(num_draws: Any) -> None:
    """A ValueError where it is no whole number, or one whose draws no memory holds."""
    check_whole("num_draws", num_draws, 1)
    if num_draws > _MOST_DRAWS:
        raise ValueError(f"num_draws must be at most {_MOST_DRAWS:,}, got {num_draws:g}")


def check_number(name: str, value: Any, *, positive: bool = False, what: str = "") -> None:
    """A ValueError where an option is not one finite number that is positive, or at least 0."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= sys.float_info.max or (positive and value == 0):
        rule = "positive and finite" if positive else "a finite number of at least 0"
        raise ValueError(f"{name} must be {rule}{what}, got {value!r}")


def check_flag(name: str, value: Any) -> None:
    """A ValueError where an option is neither true nor false."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def generator(rng: Any) -> np.random.Generator:
    """The generator given, or one of the seed given; None is `numpy.random.default_rng(0)`. A ValueError otherwise."""
    try:
        return np.random.default_rng(0 if rng is None else rng)
    except (TypeError, ValueError) as error:
        raise ValueError(f"rng must be a numpy Generator, a seed or None, got {rng!r}: {error}") from None


def check_choice(name: str, value: Any, valid: Iterable[str]) -> None:
    """A ValueError where an option is none of the valid words."""
    if not isinstance(value, str) or value not in (valid := tuple(valid)):
        raise ValueError(f"{name} must be one of {tuple(valid)}, got {value!r}")


_SMALLEST = np.finfo(float).tiny  # smaller numbers have fewer digits, and 1 / x overflows


def check_positive(name: str, values: np.ndarray) -> np.ndarray:
    """The values; a ValueError names the first row that is not positive and finite, or too small to divide by."""
    bad = np.flatnonzero(~(values.ravel() >= _SMALLEST) | ~np.isfinite(values.ravel()))
    if bad.size:
        row, value = bad[0] // values.shape[-1] if values.ndim == 2 else bad[0], values.ravel()[bad[0]]
        least = f", at least {_SMALLEST:g}" if 0 < value < _SMALLEST else ""
        raise ValueError(f"{name} must be positive and finite{least}; row {row} is {value} ({bad.size} such)")
    return values


def check_inside(name: str, values: np.ndarray) -> np.ndarray:
    bad = np.flatnonzero(~((values.ravel() > 0) & (values.ravel() < 1)))
    if bad.size:
        value = values.ravel()[bad[0]]
        raise ValueError(f"{name} must lie strictly between 0 and 1; row {bad[0]} is {value:g} ({bad.size} such)")
    return values


def check_same_index(**values: Any) -> None:
    """A ValueError where two Series name their rows differently: they would be matched by place."""
    pandas = sys.modules.get("pandas")  # where it was never imported there is no Series
    if pandas is None:
        return
    series = {name: value for name, value in values.items() if isinstance(value, pandas.Series)}
    for name, value in list(series.items())[1:]:
        first = next(iter(series))
        if not value.index.equals(series[first].index):
            raise ValueError(
                f"{first} and {name} must have the same index in the same order (rows are matched by place):"
                " take both from one table, or .to_numpy() of each"
            )


def check_accuracies(
    upstream: ArrayLike, downstream: ArrayLike, *, below_one: bool = True, least: int = 1,
    names: tuple[str, str] = ("upstream_accuracy", "downstream_accuracy"),
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Two accuracies of each model as float64 in [0, 1], both of shape (n,).

    Args:
        below_one: whether the first must lie below 1, as for a law of its error.
        least: number of models.

    Raises:
        ValueError: which accuracy, which row, what is valid.
    """
    check_same_index(**dict(zip(names, (upstream, downstream), strict=True)))
    first, second = (check_fractions(*pair) for pair in zip(names, (upstream, downstream), strict=True))
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"accuracies must be one-dimensional and equally long, got {first.shape} and {second.shape}")
    if first.size < least:
        raise ValueError(f"accuracies must be of {least} models or more, got {first.size}")
    if below_one and np.any(first == 1):
        raise ValueError(f"{names[0]} must be below 1; row {np.argmax(first)} is 1")
    return first, second


def model_names(names: Sequence[Any] | None, num_models: int) -> list[str]:
    """A name a model, "row 3" where there are none."""
    if isinstance(names, str) or not isinstance(names, Iterable | None):
        raise ValueError(f"names must be a list of one label a model, got {names!r}")
    labels = [f"row {i}" for i in range(num_models)] if names is None else [str(name) for name in names]
    if len(labels) != num_models:
        raise ValueError(f"names must have one label a model, {num_models}, got {len(labels)}")
    return labels
