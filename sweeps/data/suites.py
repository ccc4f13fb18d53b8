"""Suites of downstream tasks by name; a suite takes what is there and says what is missing."""

from collections.abc import Iterable
from typing import NamedTuple

from .datasets import DATASETS, dataset_is_there
from .places import data_folder

__all__ = ["STAND_INS", "SUITES", "VTAB", "Expanded", "expand_tasks"]

VTAB = {
    "natural": ("caltech101", "cifar100", "dtd", "flowers102", "pets", "svhn", "sun397"),
    "specialised": ("pcam", "eurosat", "resisc45", "retinopathy"),
    "structured": (
        "clevr-count", "clevr-distance", "dmlab", "kitti", "dsprites-location", "dsprites-orientation",
        "smallnorb-azimuth", "smallnorb-elevation",
    ),
}  # fmt: skip
"""The 19 tasks of Zhai et al. 2019 (arXiv 1910.04867). Those without a reader are taken from image folders of these
names in the data folder."""

STAND_INS = {
    "natural": ("digits", "fashion-mnist", "shapes", "textures", "colours"),
    "structured": ("position", "count"),
}
"""Small tasks that need no download: real images first, then procedural ones."""

SUITES = {"vtab-like": (VTAB, STAND_INS)}


class Expanded(NamedTuple):
    """Tasks that are there, and a sentence for each that is not."""

    tasks: tuple[str, ...]
    missing: tuple[str, ...]


def expand_tasks(tasks: Iterable[str]) -> Expanded:
    """Tasks with each suite replaced by those of its tasks that are there; other tasks stay as they are.

    >>> expand_tasks(["digits"])
    Expanded(tasks=('digits',), missing=())
    >>> "count" in expand_tasks(["vtab-like"]).tasks
    True
    """
    found: dict[str, None] = {}
    missing: dict[str, None] = {}
    for task in tasks:
        if task not in SUITES:
            found[task] = None
            continue
        for groups in SUITES[task]:
            for group, names in groups.items():
                for name in names:
                    if there := _there(name):
                        found[there] = None
                    else:
                        missing[f"{task}: no {name} ({group}) in {data_folder()}"] = None
    return Expanded(tuple(found), tuple(missing))


def _there(name: str) -> str | None:
    if name in DATASETS:
        return name if dataset_is_there(name) else None
    task = f"image-folder:{data_folder() / name}"
    return task if dataset_is_there(task) else None
