"""How few training images the smallest class of a set has, without decoding any."""

from collections.abc import Callable

import numpy as np

from .datasets import find_dataset
from .places import may_download
from .rows import DataSet

__all__ = ["fewest_in_class"]

_CLEARLY_ENOUGH = 4  # times what is asked for, on the average over the classes; then a set's labels are not read


def fewest_in_class(task: str, wanted: int) -> int | None:
    """Training images of the smallest class of a data set; None where it has clearly more than `wanted`, or is not
    there to be looked at.

    >>> fewest_in_class("shapes", 200)
    100
    """
    try:
        dataset = find_dataset(task)
        dataset.place(None)
        return _fewest(dataset, wanted, is_indexed=task.startswith("image-folder:"))
    except (ValueError, OSError, ImportError):  # told where the data are read
        return None


def _fewest(dataset: DataSet, wanted: int, is_indexed: bool) -> int | None:
    mean = dataset.num_train // dataset.num_classes
    if dataset.generated:  # its classes are about as large
        return mean if mean < wanted else None
    if may_download() or (mean >= _CLEARLY_ENOUGH * wanted and not is_indexed):
        return None
    load: Callable[..., tuple[object, np.ndarray]] = dataset.load
    return int(np.bincount(load("train", None, None)[1], minlength=dataset.num_classes).min())
