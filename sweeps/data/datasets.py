"""Every data set by name: rows of a table, and folders and files that are described by looking there.

To add one, add a loader and a row. A folder is named as upstream by `dataset: image-folder` (or `arrays`, or `shards`:
tars or parquet) and `folder: PATH`, as a downstream task by `image-folder:PATH`; there the task's name is the last
part of the path.
"""

from collections.abc import Iterable

from . import digits, fashion_mnist, procedural
from .array_files import describe_arrays
from .image_folder import describe_image_folder
from .places import base_name
from .rows import Arrays, DataSet
from .stream.describe import describe_shards
from .torchvision_sets import TORCHVISION_SETS

__all__ = [
    "DATASETS", "FOLDER_KINDS", "Arrays", "DataSet", "check_dataset_name", "dataset_is_there", "find_dataset",
    "folder_versions", "task_name", "why_missing",
]  # fmt: skip

FOLDER_KINDS = {"image-folder": describe_image_folder, "arrays": describe_arrays, "shards": describe_shards}


def find_dataset(name: str, folder: str | None = None, field: str = "downstream.tasks") -> DataSet:
    """The data set of that name; of a folder, by looking there.

    Args:
        name: a row of `DATASETS`; a row of `FOLDER_KINDS`, which needs `folder`; or one of these, ":" and a path.
        field: that names the path, for messages.

    Raises:
        ValueError: no data set has that name, or a folder's content is not one.
        FileNotFoundError: no such folder.

    >>> find_dataset("digits").num_classes
    10
    """
    kind, _, path = check_dataset_name(name).partition(":")
    if kind not in FOLDER_KINDS:
        return DATASETS[name]
    if path:
        return FOLDER_KINDS[kind](path, field)
    if not folder:
        raise ValueError(f"upstream.folder: dataset {name!r} needs the folder that it lies in")
    return FOLDER_KINDS[kind](folder)


def check_dataset_name(name: str) -> str:
    """The name, where it is one, without looking whether the data are there.

    Raises:
        ValueError: no data set has that name.
    """
    kind, separator, path = name.partition(":")
    if name not in DATASETS and (kind not in FOLDER_KINDS or (separator and not path)):
        raise ValueError(
            f"data set must be one of {sorted(DATASETS)}, or one of {list(FOLDER_KINDS)} with a folder, got {name!r}"
        )
    return name


def task_name(task: str, folder: str | None = None) -> str:
    """What a data set is called in records: its name, or the last part of its path.

    >>> task_name("digits"), task_name("image-folder:~/data/birds"), task_name("arrays:blood.npz")
    ('digits', 'birds', 'blood')
    """
    kind, _, path = task.partition(":")
    path = path or folder or ""
    return base_name(path) if kind in FOLDER_KINDS and path else task


def folder_versions(tasks: Iterable[str], field: str = "downstream.tasks") -> tuple[str, ...]:
    """Identities of those tasks that lie in folders; of the others the name tells it."""
    return tuple(find_dataset(task, field=field).version for task in tasks if ":" in task)


def why_missing(name: str, folder: str | None = None, field: str = "downstream.tasks") -> str | None:
    """Why the data cannot be read, in a sentence that says how to get them; None where they can.

    A look at the disk, no more, so that it can be told before a run. Raises as `find_dataset` does for faults of data
    that are there.
    """
    try:
        find_dataset(name, folder, field).place(folder)
    except FileNotFoundError as error:
        return str(error)
    return None


def dataset_is_there(name: str, folder: str | None = None) -> bool:
    """Whether the data can be read, generated or, where `SWEEPS_DOWNLOAD=1` asks for it, downloaded."""
    return why_missing(name, folder) is None


def _procedural(name: str, num_classes: int, num_train: int, num_test: int, negative_control: bool = False) -> DataSet:
    def load(split: str, num_images: int | None, folder: str | None) -> Arrays:
        default = num_train if split == "train" else num_test
        return procedural.generate(name, default if num_images is None else num_images, split=split)

    return DataSet(
        name, num_classes, image_size=32, num_train=num_train, num_test=num_test, load=load,
        version=f"procedural-{procedural.VERSION}", generated=True, shuffled=True, negative_control=negative_control,
    )  # fmt: skip


DATASETS = {
    dataset.name: dataset
    for dataset in (
        _procedural("procedural", procedural.UPSTREAM_CLASSES, num_train=50_000, num_test=10_000),
        *(
            _procedural(name, num_classes, num_train=1000, num_test=2000, negative_control=name == "shuffled_labels")
            for name, num_classes in procedural.TASKS.items()
        ),
        DataSet("digits", 10, 8, digits.NUM_TRAIN, digits.NUM_TEST, digits.load, version="uci-8x8", shuffled=True),
        DataSet(
            "fashion-mnist", 10, 28, 60_000, 10_000, fashion_mnist.load, "zalando-2017", shuffled=True,
            place=fashion_mnist.place,
        ),
        *TORCHVISION_SETS,
    )
}  # fmt: skip
