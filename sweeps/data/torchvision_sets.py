"""The sets that torchvision reads, one table: sizes from their papers, which split is which, and where they lie.

They are looked for in the spec's `folder`, else `SWEEPS_DATA_DIR`, and there in the folder that torchvision gives each
(`marker`). They are downloaded only with `SWEEPS_DOWNLOAD=1`, and where torchvision can.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .image_folder import index_folder
from .places import data_folder, may_download
from .rows import Arrays, DataSet, Photos

__all__ = ["TORCHVISION_SETS", "kitti_distance_class", "seeded_split"]

_SPLIT_SEED = 0
_NUM_TEST = {"eurosat": 5400, "sun397": 21_750, "kitti": 711}  # of sets without a split of their own
_CALTECH_PER_CLASS = 30  # for training, as in Fei-Fei et al. 2004
_LARGEST_NATIVE = 224


def seeded_split(
    labels: np.ndarray, split: str, *, num_test: int | None = None, per_class: int | None = None
) -> np.ndarray:
    """Rows of a split of a set that has none: `per_class` of each class train, or all but `num_test` in random order.

    The order is that of seed 0, so that the split is the same everywhere.

    >>> seeded_split(np.array([0, 0, 1, 1, 1]), "test", per_class=1).size
    3
    """
    order = np.random.default_rng([_SPLIT_SEED, len(labels)]).permutation(len(labels))
    if per_class is None:
        test = order[:num_test]
    else:
        test = np.concatenate([order[labels[order] == label][per_class:] for label in np.unique(labels)])
    return np.sort(test) if split == "test" else np.setdiff1d(order, test)


def kitti_distance_class(objects: list[dict[str, Any]]) -> int:
    """Of the nearest car, van or truck: 0 below 8 m, 1 below 20 m, 2 beyond, 3 where there is none.

    Source: Zhai et al. 2019 (arXiv 1910.04867), task KITTI-Dist; thresholds of its code, task_adaptation.

    >>> kitti_distance_class([{"type": "Car", "location": [0, 0, 12.0]}, {"type": "Tram", "location": [0, 0, 5.0]}])
    1
    """
    vehicles = [o["location"][2] for o in objects if o["type"] in ("Car", "Van", "Truck")]
    return int(np.searchsorted([8.0, 20.0, 999.0], min(vehicles, default=1000.0), side="left"))


# Readers: (a torchvision class, its folder, a split, whether to download) -> images and labels ----------------


@dataclass(frozen=True)
class _Row:
    """A line of the table.

    Attributes:
        read: (folder, split, download) -> images and labels.
        marker: what lies in the folder when the set is there.
        automatic: torchvision can download it.
    """

    name: str
    num_classes: int
    image_size: int
    num_train: int
    num_test: int
    read: Callable[[Path, str, bool], Arrays]
    marker: str
    automatic: bool = True
    keeps_aspect: bool = True
    version: str = "1"


def _open(cls: str, root: Path, download: bool, **arguments: Any) -> Any:
    import torchvision.datasets

    return getattr(torchvision.datasets, cls)(str(root), **arguments, **({"download": True} if download else {}))


def _cifar(root: Path, split: str, download: bool, *, cls: str) -> Arrays:
    data = _open(cls, root, download, train=split == "train")
    return data.data, np.asarray(data.targets, np.int64)


def _channels_first(root: Path, split: str, download: bool, *, cls: str) -> Arrays:
    data = _open(cls, root, download, split=split)
    return data.data.transpose(0, 2, 3, 1), np.asarray(data.labels, np.int64)


def _listed(
    root: Path, split: str, download: bool, *, cls: str, train: tuple[str, ...], test: str, files: str, labels: str,
    **arguments: Any,
) -> Arrays:  # fmt: skip
    """A class with a list of files and one of labels, named `files` and `labels`; training joins several splits."""
    parts = [_open(cls, root, download, split=part, **arguments) for part in (train if split == "train" else (test,))]
    paths = [str(path) for part in parts for path in getattr(part, files)]
    return Photos(paths), np.concatenate([np.asarray(getattr(part, labels), np.int64) for part in parts])


def _paired(root: Path, split: str, download: bool, *, cls: str, train: str, test: str, pairs: str, **arguments: Any):
    """A class with one list of (file, label)."""
    data = _open(cls, root, download, split=train if split == "train" else test, **arguments)
    return Photos([str(path) for path, _ in getattr(data, pairs)]), _second(getattr(data, pairs))


def _second(pairs: list[tuple[str, int]]) -> np.ndarray:
    return np.array([int(label) for _, label in pairs], np.int64)


def _sorted_rows(paths: list[str], labels: np.ndarray, split: str, **rule: int | None) -> Arrays:
    """Some list files in the order in which the disk holds them."""
    order = np.argsort(np.array(paths))
    rows = order[seeded_split(labels[order], split, **rule)]
    return Photos(paths).take(rows), labels[rows]


def _eurosat(root: Path, split: str, download: bool) -> Arrays:
    samples = _open("EuroSAT", root, download).samples
    return _sorted_rows([path for path, _ in samples], _second(samples), split, num_test=_NUM_TEST["eurosat"])


def _sun397(root: Path, split: str, download: bool) -> Arrays:
    data = _open("SUN397", root, download)
    paths = [str(path) for path in data._image_files]
    return _sorted_rows(paths, np.asarray(data._labels), split, num_test=_NUM_TEST["sun397"])


def _caltech101(root: Path, split: str, download: bool) -> Arrays:
    data = _open("Caltech101", root, download)
    folder = Path(data.root) / "101_ObjectCategories"
    paths = [str(folder / data.categories[y] / f"image_{i:04d}.jpg") for y, i in zip(data.y, data.index, strict=True)]
    return _sorted_rows(paths, np.asarray(data.y), split, per_class=_CALTECH_PER_CLASS)


def _kitti(root: Path, split: str, download: bool) -> Arrays:
    data = _open("Kitti", root, download, train=True)
    labels = np.array([kitti_distance_class(data._parse_target(i)) for i in range(len(data))], np.int64)
    return _sorted_rows(list(data.images), labels, split, num_test=_NUM_TEST["kitti"])


def _clevr_count(root: Path, split: str, download: bool) -> Arrays:
    data = _open("CLEVRClassification", root, download, split="train" if split == "train" else "val")
    return Photos([str(path) for path in data._image_files]), np.asarray(data._labels, np.int64) - 3  # 3 to 10 objects


def _pcam(root: Path, split: str, download: bool) -> Arrays:
    try:
        import h5py  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ImportError("data set 'pcam' lies in HDF5 files: pip install h5py") from error
    data = _open("PCAM", root, download, split=split)
    files = data._FILES[split]
    with (
        h5py.File(data._base_folder / files["images"][0]) as images,
        h5py.File(data._base_folder / files["targets"][0]) as targets,
    ):
        return np.asarray(images["x"]), np.asarray(targets["y"]).reshape(-1).astype(np.int64)


def _imagenet(root: Path, split: str, download: bool) -> Arrays:
    index = index_folder(str(root), split)
    return Photos(index.paths), index.labels


_TABLE = (
    # Krizhevsky 2009, Learning multiple layers of features from tiny images
    _Row("cifar10", 10, 32, 50_000, 10_000, partial(_cifar, cls="CIFAR10"), "cifar-10-batches-py"),
    _Row("cifar100", 100, 32, 50_000, 10_000, partial(_cifar, cls="CIFAR100"), "cifar-100-python"),
    # Netzer et al. 2011; without the 531,131 extra images
    _Row("svhn", 10, 32, 73_257, 26_032, partial(_channels_first, cls="SVHN"), "train_32x32.mat"),
    # Coates, Lee and Ng 2011; without the unlabelled images
    _Row("stl10", 10, 96, 5000, 8000, partial(_channels_first, cls="STL10"), "stl10_binary"),
    # Nilsback and Zisserman 2008; its training and validation parts are ours for training
    _Row(
        "flowers102", 102, _LARGEST_NATIVE, 2040, 6149,
        partial(_listed, cls="Flowers102", train=("train", "val"), test="test", files="_image_files", labels="_labels"),
        "flowers-102",
    ),
    # Parkhi et al. 2012
    _Row(
        "pets", 37, _LARGEST_NATIVE, 3680, 3669,
        partial(_listed, cls="OxfordIIITPet", train=("trainval",), test="test", files="_images", labels="_labels"),
        "oxford-iiit-pet",
    ),
    # Cimpoi et al. 2014, its first partition; its training and validation parts are ours for training
    _Row(
        "dtd", 47, _LARGEST_NATIVE, 3760, 1880,
        partial(_listed, cls="DTD", train=("train", "val"), test="test", files="_image_files", labels="_labels"),
        "dtd/dtd",
    ),
    # Helber et al. 2019; no split of its own: a fifth, drawn with seed 0, is for test
    _Row("eurosat", 10, 64, 21_600, 5400, _eurosat, "eurosat/2750", version="split-0"),
    # Veeling et al. 2018; without the 32,768 validation images
    _Row("pcam", 2, 96, 262_144, 32_768, _pcam, "pcam"),
    # Fei-Fei et al. 2004, without the background class; 30 a class, drawn with seed 0, are for training
    _Row(
        "caltech101", 101, _LARGEST_NATIVE, 3030, 5647, _caltech101, "caltech101/101_ObjectCategories",
        version="split-0",
    ),
    # Xiao et al. 2010; as many as in TensorFlow Datasets, drawn with seed 0, are for test
    _Row("sun397", 397, _LARGEST_NATIVE, 87_004, 21_750, _sun397, "SUN397", version="split-0"),
    # Krause et al. 2013; its site is gone
    _Row(
        "cars", 196, _LARGEST_NATIVE, 8144, 8041,
        partial(_paired, cls="StanfordCars", train="train", test="test", pairs="_samples"),
        "stanford_cars", automatic=False,
    ),
    # Geiger et al. 2012, with the labels of Zhai et al. 2019; drawn with seed 0, not apart by drive as theirs
    _Row("kitti", 4, _LARGEST_NATIVE, 6770, 711, _kitti, "Kitti", keeps_aspect=False, version="split-0"),
    # Johnson et al. 2017, with the labels of Zhai et al. 2019: 3 to 10 objects; its validation part is ours for test
    _Row("clevr-count", 8, _LARGEST_NATIVE, 70_000, 15_000, _clevr_count, "clevr", keeps_aspect=False),
    # Russakovsky et al. 2015; its validation part is ours for test
    _Row("imagenet", 1000, _LARGEST_NATIVE, 1_281_167, 50_000, _imagenet, "train", automatic=False),
    # Bossard et al. 2014
    _Row(
        "food101", 101, _LARGEST_NATIVE, 75_750, 25_250,
        partial(_listed, cls="Food101", train=("train",), test="test", files="_image_files", labels="_labels"),
        "food-101",
    ),
    # Maji et al. 2013, variants
    _Row(
        "fgvc-aircraft", 100, _LARGEST_NATIVE, 6667, 3333,
        partial(_listed, cls="FGVCAircraft", train=("trainval",), test="test", files="_image_files", labels="_labels"),
        "fgvc-aircraft-2013b",
    ),
    # Zhou et al. 2017, the standard training part; its validation part is ours for test; images of 256 pixels
    _Row(
        "places365", 365, _LARGEST_NATIVE, 1_803_460, 36_500,
        partial(_paired, cls="Places365", train="train-standard", test="val", pairs="imgs", small=True),
        "data_256_standard",
    ),
)  # fmt: skip


def _place(folder: str | None, *, row: _Row) -> Path:
    """The folder that holds the marker: the one asked for, one in it of the set's name, or that of which it is part."""
    root = data_folder(folder)
    for place in (root / row.name, root, *([root.parent] if root.name == row.marker.split("/")[0] else [])):
        if (place / row.marker).exists():
            return place
    if row.automatic and may_download():
        return root
    how = "SWEEPS_DOWNLOAD=1 downloads it" if row.automatic else "it has to be fetched by hand"
    raise FileNotFoundError(
        f"data set {row.name!r} is not there: no {row.marker} in {root}"
        f" ({'upstream.folder' if folder else 'SWEEPS_DATA_DIR names another folder'}); {how}"
    )


def _load(split: str, num_images: int | None, folder: str | None, *, row: _Row) -> Arrays:
    place = _place(folder, row=row)
    download = row.automatic and may_download() and not (place / row.marker).exists()
    try:
        images, labels = row.read(place, split, download)
    except RuntimeError as error:  # torchvision's word for files that are missing or damaged
        raise FileNotFoundError(f"data set {row.name!r} in {place}: {error}") from error
    if num_images is None:
        return images, labels
    rows = np.arange(min(num_images, len(labels)))
    return (images.take(rows) if isinstance(images, Photos) else images[rows]), labels[rows]


TORCHVISION_SETS = tuple(
    DataSet(
        row.name, row.num_classes, row.image_size, row.num_train, row.num_test, partial(_load, row=row),
        version=f"torchvision-{row.version}", keeps_aspect=row.keeps_aspect, place=partial(_place, row=row),
    )
    for row in _TABLE
)  # fmt: skip
