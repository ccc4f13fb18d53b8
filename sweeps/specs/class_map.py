"""A model that tells other classes apart than the data set: which of its outputs each of the set's classes is."""

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..models.shape import ModelShape

if TYPE_CHECKING:
    from ..data.images import Images

__all__ = ["check_class_map", "labels_as_outputs", "num_outputs", "resolve_class_map"]


def check_class_map(value: Any) -> Any:
    """A spec's value as a file's name, a tuple of outputs or None.

    Raises:
        ValueError: it is none of them.
    """
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, list | tuple) or not value or not all(type(x) is int and x >= 0 for x in value):
        raise ValueError("must be a list of numbers of the model's outputs, one a class, or a JSON file of one")
    return tuple(value)


def resolve_class_map(
    class_map: str | tuple[int, ...] | None, model: ModelShape, image_size: int, num_classes: int
) -> tuple[int, ...] | None:
    """The output of each class, read from a file where it is one.

    Raises:
        ValueError: not an output of the model for each of the set's classes, or a model that learns these classes.
    """
    if class_map is None:
        return None
    field = "evaluate.class_map"
    if model.trainable:
        raise ValueError(f"{field}: model.{model.family} learns the upstream set's own classes, so it needs none")
    outputs = _read(class_map, field) if isinstance(class_map, str) else class_map
    if len(outputs) != num_classes:
        raise ValueError(f"{field}: must have an output for each of {num_classes} classes, got {len(outputs)}")
    if max(outputs) >= (available := num_outputs(model, image_size, num_classes)):  # pyright: ignore[reportArgumentType] frozen
        raise ValueError(f"{field}: the model has the outputs 0 to {available - 1}, got {max(outputs)}")
    return outputs


@lru_cache(maxsize=256)
def num_outputs(model: ModelShape, image_size: int, num_classes: int) -> int:
    """Classes that a model tells apart: those it learns, of a checkpoint its own; builds that on the meta device."""
    if model.trainable:
        return num_classes
    import torch

    with torch.device("meta"):
        return model.build(image_size, num_classes).num_classes  # type: ignore[return-value]


def labels_as_outputs(images: "Images", class_map: tuple[int, ...] | None) -> "Images":
    """Images whose labels are numbers of the model's outputs."""
    if class_map is None:
        return images
    import torch

    return images._replace(labels=torch.tensor(class_map, device=images.labels.device)[images.labels])


def _read(path: str, field: str) -> tuple[int, ...]:
    try:
        found = check_class_map(json.loads(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise ValueError(f"{field}: no file can be read: {error.strerror}, got {path!r}") from error
    except ValueError as error:
        raise ValueError(f"{field}: {path}: {error}") from error
    if not isinstance(found, tuple):
        raise ValueError(f"{field}: {path} must hold a list of outputs, got {found!r}")
    return found
