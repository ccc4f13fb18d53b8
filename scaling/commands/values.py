"""Values of options that are more than a number: c=0.05, c=0:0.2, 3e8,1e9, a law's name."""

from collections.abc import Sequence
from difflib import get_close_matches

import pandas as pd

from ..laws import LAWS, Law, find_law

__all__ = ["check_targets", "named_law", "named_numbers", "named_ranges", "number", "numbers"]


def number(option: str, text: str) -> float:
    """
    >>> number("--at", "1e22")
    1e+22
    """
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value != value:
        raise ValueError(f"{option} takes a number, such as 1e22, got {text!r}")
    return value


def numbers(option: str, texts: Sequence[str], how_many: int = 1) -> list[float] | list[list[float]]:
    """A number a text; of several each, numbers joined by commas.

    >>> numbers("--at", ["3e8,1e9"], 2)
    [[300000000.0, 1000000000.0]]
    """
    if how_many == 1:
        return [number(option, text) for text in texts]
    rows = [[number(option, part) for part in text.split(",")] for text in texts]
    for row, text in zip(rows, texts, strict=True):
        if len(row) != how_many:
            raise ValueError(f"{option} takes {how_many} numbers joined by commas with this law, got {text!r}")
    return rows


def named_numbers(option: str, texts: Sequence[str]) -> dict[str, float]:
    """
    >>> named_numbers("--fix", ["c=0.05"])
    {'c': 0.05}
    """
    return {name: number(option, value) for name, value in _pairs(option, texts, "c=0.05")}


def named_ranges(option: str, texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """
    >>> named_ranges("--bound", ["c=0:0.2"])
    {'c': (0.0, 0.2)}
    """
    found = {}
    for name, value in _pairs(option, texts, "c=0:0.2"):
        low, colon, high = value.partition(":")
        if not colon:
            raise ValueError(f"{option} takes NAME=LOW:HIGH, such as c=0:0.2, got {name}={value}")
        found[name] = (number(option, low), number(option, high))
    return found


def named_law(name: str) -> Law:
    """The law of that name, else a ValueError that names near ones."""
    try:
        return find_law(name)
    except ValueError as error:
        near = get_close_matches(name, LAWS, n=2)
        raise ValueError(f"{error}; near: {', '.join(near)}" if near else str(error)) from None


def _pairs(option: str, texts: Sequence[str], example: str) -> list[tuple[str, str]]:
    pairs = [(name.strip(), value.strip()) for name, _, value in (text.partition("=") for text in texts)]
    for (name, value), text in zip(pairs, texts, strict=True):
        if not name or not value:
            raise ValueError(f"{option} takes a parameter and its value, such as {example}, got {text!r}")
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError(f"{option} names each parameter once, got {', '.join(texts)}")
    return pairs


def check_targets(targets: Sequence[float], errors: pd.Series) -> None:
    """A ValueError where a target is above 1 and no error of the runs is."""
    if targets and max(targets) > 1 >= errors.max():
        raise ValueError(f"--target must be a fraction like {errors.name}, got {max(targets):g} (percent?)")
