"""The sets that torchvision reads, one table: sizes from their papers, which split is which, and where they lie.

They are looked for in the spec's `folder`, else `SWEEPS_DATA_DIR`, and there in the folder that torchvision gives each
(`marker`). They are downloaded only with `SWEEPS_DOWNLOAD=1`, and where torchvision can.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from . import torchvision_readers as readers
from .places import data_folder, may_download
from .rows import Arrays, DataSet, Photos

__all__ = ["TORCHVISION_SETS"]

_LARGEST_NATIVE = 224


def _set(
    name: str, num_classes: int, image_size: int, num_train: int, num_test: int,
    read: Callable[[Path, str, bool], Arrays], marker: str, *, automatic: bool = True, keeps_aspect: bool = True,
    version: str = "1",
) -> DataSet:  # fmt: skip
    """A line of the table.

    Args:
        read: (folder, split, whether to download) -> images and labels.
        marker: what lies in the folder when the set is there.
        automatic: torchvision can download it.
    """

    def place(folder: str | None) -> Path:
        return _place(folder, name, marker, automatic)

    def load(split: str, num_images: int | None, folder: str | None) -> Arrays:
        root = place(folder)
        try:
            images, labels = read(root, split, automatic and may_download() and not (root / marker).exists())
        except RuntimeError as error:  # torchvision's word for files that are missing or damaged
            raise FileNotFoundError(f"data set {name!r} in {root}: {error}") from error
        if num_images is None:
            return images, labels
        rows = np.arange(min(num_images, len(labels)))
        return (images.take(rows) if isinstance(images, Photos) else images[rows]), labels[rows]

    return DataSet(
        name, num_classes, image_size, num_train, num_test, load, f"torchvision-{version}",
        keeps_aspect=keeps_aspect, place=place,
    )  # fmt: skip


def _place(folder: str | None, name: str, marker: str, automatic: bool) -> Path:
    """The folder that holds the marker: the one asked for, one in it of the set's name, or that of which it is part."""
    root = data_folder(folder)
    for place in (root / name, root, *([root.parent] if root.name == marker.split("/")[0] else [])):
        if (place / marker).exists():
            return place
    if automatic and may_download():
        return root
    how = "SWEEPS_DOWNLOAD=1 downloads it" if automatic else "it has to be fetched by hand"
    raise FileNotFoundError(
        f"data set {name!r} is not there: no {marker} in {root}"
        f" ({'upstream.folder' if folder else 'SWEEPS_DATA_DIR names another folder'}); {how}"
    )


TORCHVISION_SETS = (
    # Krizhevsky 2009, Learning multiple layers of features from tiny images
    _set("cifar10", 10, 32, 50_000, 10_000, partial(readers.read_cifar, cls="CIFAR10"), "cifar-10-batches-py"),
    _set("cifar100", 100, 32, 50_000, 10_000, partial(readers.read_cifar, cls="CIFAR100"), "cifar-100-python"),
    # Netzer et al. 2011; without the 531,131 extra images
    _set("svhn", 10, 32, 73_257, 26_032, partial(readers.read_channels_first, cls="SVHN"), "train_32x32.mat"),
    # Coates, Lee and Ng 2011; without the unlabelled images
    _set("stl10", 10, 96, 5000, 8000, partial(readers.read_channels_first, cls="STL10"), "stl10_binary"),
    # Nilsback and Zisserman 2008; its training and validation parts are ours for training
    _set(
        "flowers102", 102, _LARGEST_NATIVE, 2040, 6149,
        partial(readers.read_listed, cls="Flowers102", train=("train", "val")), "flowers-102",
    ),
    # Parkhi et al. 2012
    _set(
        "pets", 37, _LARGEST_NATIVE, 3680, 3669,
        partial(readers.read_listed, cls="OxfordIIITPet", train=("trainval",), files="_images"), "oxford-iiit-pet",
    ),
    # Cimpoi et al. 2014, its first partition; its training and validation parts are ours for training
    _set(
        "dtd", 47, _LARGEST_NATIVE, 3760, 1880,
        partial(readers.read_listed, cls="DTD", train=("train", "val")), "dtd/dtd",
    ),
    # Helber et al. 2019; no split of its own: a fifth, drawn with seed 0, is for test
    _set("eurosat", 10, 64, 21_600, 5400, readers.read_eurosat, "eurosat/2750", version="split-0"),
    # Veeling et al. 2018; without the 32,768 validation images
    _set("pcam", 2, 96, 262_144, 32_768, readers.read_pcam, "pcam"),
    # Fei-Fei et al. 2004, without the background class; 30 a class, drawn with seed 0, are for training
    _set(
        "caltech101", 101, _LARGEST_NATIVE, 3030, 5647, readers.read_caltech101, "caltech101/101_ObjectCategories",
        version="split-0",
    ),
    # Xiao et al. 2010; as many as in TensorFlow Datasets, drawn with seed 0, are for test
    _set("sun397", 397, _LARGEST_NATIVE, 87_004, 21_750, readers.read_sun397, "SUN397", version="split-0"),
    # Krause et al. 2013; its site is gone
    _set(
        "cars", 196, _LARGEST_NATIVE, 8144, 8041,
        partial(readers.read_paired, cls="StanfordCars", train="train", test="test", pairs="_samples"),
        "stanford_cars", automatic=False,
    ),
    # Geiger et al. 2012, with the labels of Zhai et al. 2019; drawn with seed 0, not apart by drive as theirs
    _set("kitti", 4, _LARGEST_NATIVE, 6770, 711, readers.read_kitti, "Kitti", keeps_aspect=False, version="split-0"),
    # Johnson et al. 2017, with the labels of Zhai et al. 2019: 3 to 10 objects; its validation part is ours for test
    _set("clevr-count", 8, _LARGEST_NATIVE, 70_000, 15_000, readers.read_clevr_count, "clevr", keeps_aspect=False),
    # Russakovsky et al. 2015; its validation part is ours for test
    _set("imagenet", 1000, _LARGEST_NATIVE, 1_281_167, 50_000, readers.read_imagenet, "train", automatic=False),
    # Bossard et al. 2014
    _set(
        "food101", 101, _LARGEST_NATIVE, 75_750, 25_250,
        partial(readers.read_listed, cls="Food101", train=("train",)), "food-101",
    ),
    # Maji et al. 2013, variants
    _set(
        "fgvc-aircraft", 100, _LARGEST_NATIVE, 6667, 3333,
        partial(readers.read_listed, cls="FGVCAircraft", train=("trainval",)), "fgvc-aircraft-2013b",
    ),
    # Zhou et al. 2017, the standard training part; its validation part is ours for test; images of 256 pixels
    _set(
        "places365", 365, _LARGEST_NATIVE, 1_803_460, 36_500,
        partial(readers.read_paired, cls="Places365", train="train-standard", test="val", pairs="imgs", small=True),
        "data_256_standard",
    ),
)  # fmt: skip
