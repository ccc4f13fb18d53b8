"""How a set that torchvision reads becomes images and labels of our two splits.

A reader takes the set's folder, a split and whether to download.
"""

from pathlib import Path
from typing import Any

import numpy as np

from .image_folder import index_folder
from .rows import Arrays, Photos

__all__ = [
    "kitti_distance_class", "read_caltech101", "read_channels_first", "read_cifar", "read_clevr_count",
    "read_eurosat", "read_imagenet", "read_kitti", "read_listed", "read_paired", "read_pcam", "read_sun397",
    "seeded_split",
]  # fmt: skip

_SPLIT_SEED = 0
_NUM_TEST = {"eurosat": 5400, "sun397": 21_750, "kitti": 711}  # of sets without a split of their own
_CALTECH_PER_CLASS = 30  # for training, as in Fei-Fei et al. 2004


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


def _open(cls: str, root: Path, download: bool, **arguments: Any) -> Any:
    import torchvision.datasets

    return getattr(torchvision.datasets, cls)(str(root), **arguments, **({"download": True} if download else {}))


def read_cifar(root: Path, split: str, download: bool, *, cls: str) -> Arrays:
    data = _open(cls, root, download, train=split == "train")
    return data.data, np.asarray(data.targets, np.int64)


def read_channels_first(root: Path, split: str, download: bool, *, cls: str) -> Arrays:
    data = _open(cls, root, download, split=split)
    return data.data.transpose(0, 2, 3, 1), np.asarray(data.labels, np.int64)


def read_listed(
    root: Path, split: str, download: bool, *, cls: str, train: tuple[str, ...], files: str = "_image_files"
) -> Arrays:
    """A class with a list of files and one of labels; training joins several of its splits."""
    parts = [_open(cls, root, download, split=part) for part in (train if split == "train" else ("test",))]
    paths = [str(path) for part in parts for path in getattr(part, files)]
    return Photos(paths), np.concatenate([np.asarray(part._labels, np.int64) for part in parts])


def read_paired(
    root: Path, split: str, download: bool, *, cls: str, train: str, test: str, pairs: str, **arguments: Any
):
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


def read_eurosat(root: Path, split: str, download: bool) -> Arrays:
    samples = _open("EuroSAT", root, download).samples
    return _sorted_rows([path for path, _ in samples], _second(samples), split, num_test=_NUM_TEST["eurosat"])


def read_sun397(root: Path, split: str, download: bool) -> Arrays:
    data = _open("SUN397", root, download)
    paths = [str(path) for path in data._image_files]
    return _sorted_rows(paths, np.asarray(data._labels), split, num_test=_NUM_TEST["sun397"])


def read_caltech101(root: Path, split: str, download: bool) -> Arrays:
    data = _open("Caltech101", root, download)
    folder = Path(data.root) / "101_ObjectCategories"
    paths = [str(folder / data.categories[y] / f"image_{i:04d}.jpg") for y, i in zip(data.y, data.index, strict=True)]
    return _sorted_rows(paths, np.asarray(data.y), split, per_class=_CALTECH_PER_CLASS)


def read_kitti(root: Path, split: str, download: bool) -> Arrays:
    data = _open("Kitti", root, download, train=True)
    labels = np.array([kitti_distance_class(data._parse_target(i)) for i in range(len(data))], np.int64)
    return _sorted_rows(list(data.images), labels, split, num_test=_NUM_TEST["kitti"])


def read_clevr_count(root: Path, split: str, download: bool) -> Arrays:
    data = _open("CLEVRClassification", root, download, split="train" if split == "train" else "val")
    return Photos([str(path) for path in data._image_files]), np.asarray(data._labels, np.int64) - 3  # 3 to 10 objects


def read_pcam(root: Path, split: str, download: bool) -> Arrays:
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


def read_imagenet(root: Path, split: str, download: bool) -> Arrays:
    index = index_folder(str(root), split)
    return Photos(index.paths), index.labels
