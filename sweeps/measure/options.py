"""Options of measurements that are files, checked before training: by their content they belong to a run, not by their
place. Reading them takes no torch."""

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.datasets import find_dataset
from ..specs.class_map import num_outputs
from ..training.saved_model import file_sha256, read_config

if TYPE_CHECKING:
    from ..specs.config import MeasureConfig, RunConfig

__all__ = ["check_read", "check_unchanged", "read_label_sets", "resolve_options"]

_READERS = {
    "against": ("cka",), "label_sets": ("multi_label",), "curvature_examples": ("curvature",),
    "attack_radii": ("adversarial",), "attack_steps": ("adversarial",),
    "robustness_examples": ("corruptions", "adversarial"), "landscape_points": ("loss_landscape",),
    "landscape_examples": ("loss_landscape",),
}  # fmt: skip


def check_read(asked: "MeasureConfig") -> None:
    """Nothing, where each option that is given is of a measurement that is asked for.

    Raises:
        ValueError: no measurement reads it.
    """
    defaults = type(asked)()
    for option, readers in _READERS.items():
        is_given = getattr(asked, option) != getattr(defaults, option)
        if is_given and not {"all", *readers} & set(asked.names):
            read_by = " and ".join(readers)
            raise ValueError(f"measure.{option}: is read by {read_by}, which measure.names lacks: {list(asked.names)}")


def resolve_options(config: "RunConfig") -> "MeasureConfig":
    """The measurements of a run, with the versions of the files that they read.

    Raises:
        ValueError: a file that is not there or not of this run's kind.
    """
    asked = config.measure
    versions: dict[str, Any] = {"against_version": None, "label_sets_version": None}
    if asked.against is not None:
        versions["against_version"] = _check_against(asked.against, config)
    if asked.label_sets is not None:
        read_label_sets(config)
        versions["label_sets_version"] = file_sha256(asked.label_sets)
    return asked.model_copy(update=versions)


def check_unchanged(option: str, asked: "MeasureConfig") -> None:
    """Nothing, where a file is that with which the run was planned.

    Raises:
        ValueError: it has changed or gone.
    """
    path = getattr(asked, option)
    if not Path(path).is_file() or file_sha256(path) != getattr(asked, f"{option}_version"):
        raise ValueError(f"measure.{option}: {path} has changed since the run was planned")


def read_label_sets(config: "RunConfig") -> list[list[int]]:
    """The valid labels of each test image of the upstream set, in their order; [] of one that has none.

    The labels are numbers of the model's outputs. The file is JSON as ReaL's `real.json`: a list of lists.

    Raises:
        ValueError: no such file, or no such lists, as many as the set has test images.
    """
    path, field = config.measure.label_sets or "", "measure.label_sets"
    try:
        sets = _parsed(path, Path(path).stat().st_mtime_ns)
    except OSError as error:
        raise ValueError(f"{field}: no file can be read: {error.strerror}, got {path!r}") from error
    except ValueError as error:
        raise ValueError(f"{field}: {path} is not JSON: {error}") from error
    _check_sets(sets, path, num_outputs(config.model, config.image_size, config.num_classes))  # type: ignore[arg-type]
    if len(sets) != (num_images := _num_test_images(config)):
        name = config.upstream.dataset
        raise ValueError(
            f"{field}: must have a list for each of the {num_images} test images of {name!r}, got {len(sets)}"
        )
    return sets


@lru_cache(maxsize=4)
def _parsed(path: str, changed: int) -> Any:
    """Once for all cells of a grid."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def _check_sets(sets: Any, path: str, num_classes: int) -> None:
    if not isinstance(sets, list) or not any(sets):
        raise ValueError(
            f"measure.label_sets: must be a list of lists of classes, not all empty, got another in {path}"
        )
    for row, labels in enumerate(sets):
        is_valid = isinstance(labels, list) and all(type(x) is int and 0 <= x < num_classes for x in labels)
        if not is_valid:
            raise ValueError(
                f"measure.label_sets: image {row} must have a list of classes 0 to {num_classes - 1}, got {labels!r} in"
                f" {path}"
            )


def _num_test_images(config: "RunConfig") -> int:
    """Of a generated set as many as are asked for."""
    dataset = find_dataset(config.upstream.dataset, config.upstream.folder)
    return (config.evaluate.max_upstream if dataset.generated else None) or dataset.num_test


def _check_against(against: str, config: "RunConfig") -> str:
    if against == "init":
        if not config.model.trainable:
            raise ValueError(f"measure.against: model.{config.model.family} is not trained here, so it has no 'init'")
        return against
    try:
        theirs = read_config(against).image_size
    except ValueError as error:
        raise ValueError(f"measure.against: {error}") from error
    if theirs != config.image_size:
        raise ValueError(f"measure.against: must take images of {config.image_size} px, got {theirs} in {against}")
    return file_sha256(against)
