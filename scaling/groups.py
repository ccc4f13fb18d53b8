"""Labels of groups of points as numbers."""

import re
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .errors import issue

__all__ = ["number_groups", "warn_of_spelled_alike"]


def number_groups(groups: ArrayLike, n: int) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """Labels in the order in which they come, each point's place among them (n,), and where the label is null (n,).

    A point without a label is a group of its own.

    Raises:
        ValueError: not one label a point.

    Warns:
        UserWarning: two labels differ in their spelling alone.
    """
    labels = np.asarray(groups, dtype=object)
    each = labels.ravel().tolist()
    if len(each) != n:
        raise ValueError(f"groups must have one label a point, shape ({n},), got {labels.shape}")
    if not all(isinstance(label, Hashable) for label in each):
        raise ValueError("groups must have one label a point, such as text or a number, got a list or a dict")
    is_null = np.array([label is None or str(label) in ("<NA>", "nan", "NaT") for label in each], dtype=bool)
    keys = [("of its own", row) if null else label for row, (label, null) in enumerate(zip(each, is_null, strict=True))]
    place = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    warn_of_spelled_alike("groups", place)
    return list(place), np.array([place[key] for key in keys]), is_null


def warn_of_spelled_alike(what: str, labels: Iterable[Any]) -> None:
    """Labels that differ in case, blanks, - and _ alone, as "ViT-S" and "vit s", are groups of their own."""
    first: dict[str, str] = {}
    for label in (each for each in labels if isinstance(each, str)):
        other = first.setdefault(re.sub(r"[\s_-]+", "-", label.strip()).lower(), label)
        if other != label:
            issue(UserWarning(f"{what}: {other!r} and {label!r} are two groups; write both one way if they are one"))
