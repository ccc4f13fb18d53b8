"""One row a data set: how large it is and how its images are read. To add one, add a loader and a row."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import digits, fashion_mnist, procedural

__all__ = ["DATASETS", "Arrays", "DataSet", "find_dataset"]

Arrays = tuple[np.ndarray, np.ndarray]  # uint8 (n, height, width) or (n, height, width, 3), and int64 (n,)


@dataclass(frozen=True)
class DataSet:
    """A labelled image set.

    Attributes:
        load: (split "train" or "test", number of images or None, folder or None) -> images and labels.
        num_train, num_test: images in each split; of a generated set, the default number.
        generated: any number of images can be had.
        version: identity of the data; it enters the run id.
        negative_control: labels say nothing of the images, so every accuracy above chance is a fault.
    """

    name: str
    num_classes: int
    image_size: int
    num_train: int
    num_test: int
    load: Callable[[str, int | None, str | None], Arrays]
    version: str
    generated: bool = False
    negative_control: bool = False


def find_dataset(name: str) -> DataSet:
    """The data set of that name.

    Raises:
        ValueError: no data set has that name.

    >>> find_dataset("digits").num_classes
    10
    """
    if not isinstance(name, str) or name not in DATASETS:
        raise ValueError(f"data set must be one of {sorted(DATASETS)}, got {name!r}")
    return DATASETS[name]


def _procedural(name: str, num_classes: int, num_train: int, num_test: int, negative_control: bool = False) -> DataSet:
    def load(split: str, num_images: int | None, folder: str | None) -> Arrays:
        default = num_train if split == "train" else num_test
        return procedural.generate(name, default if num_images is None else num_images, split=split)

    return DataSet(
        name, num_classes, image_size=32, num_train=num_train, num_test=num_test, load=load,
        version=f"procedural-{procedural.VERSION}", generated=True, negative_control=negative_control,
    )  # fmt: skip


DATASETS = {
    dataset.name: dataset
    for dataset in (
        _procedural("procedural", procedural.UPSTREAM_CLASSES, num_train=50_000, num_test=10_000),
        *(
            _procedural(name, num_classes, num_train=1000, num_test=2000, negative_control=name == "shuffled_labels")
            for name, num_classes in procedural.TASKS.items()
        ),
        DataSet("digits", 10, 8, digits.NUM_TRAIN, digits.NUM_TEST, digits.load, version="uci-8x8"),
        DataSet("fashion-mnist", 10, 28, 60_000, 10_000, fashion_mnist.load, version="zalando-2017"),
    )
}
