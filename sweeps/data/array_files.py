"""Images in arrays: an npz file, or a folder of npy files, named as keras, MedMNIST or torchvision name them."""

import hashlib
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from .places import base_name
from .rows import Arrays, DataSet

__all__ = ["describe_arrays"]

_NAMES = {
    "train": (("train_images", "train_labels"), ("x_train", "y_train"), ("train_x", "train_y")),
    "test": (("test_images", "test_labels"), ("x_test", "y_test"), ("test_x", "test_y"), ("val_images", "val_labels")),
}
_DAMAGE = (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, KeyError, TypeError, AttributeError)
_SAMPLED_BYTES = 2**16  # of each end of an npy file, hashed beside its length


@lru_cache(maxsize=32)
def describe_arrays(path: str, field: str = "upstream.folder") -> DataSet:
    """The row of the set in an npz file or a folder of npy files.

    Raises:
        FileNotFoundError: no such file, or it lacks an array.
        ValueError: damaged, not images, unequal numbers of images and labels, or labels that are not one a class.
    """
    parts = {split: _pair(path, split, field, whole=False) for split in _NAMES}
    classes = np.unique(_flat_labels(parts["train"][1], path, "train", field))
    sizes = {}
    for split, (images, labels) in parts.items():
        flat = _flat_labels(labels, path, split, field)
        _check_images(images, len(flat), path, split, field)
        if unknown := sorted(set(np.unique(flat).tolist()) - set(classes.tolist()))[:3]:
            raise ValueError(f"{field}: {path} has {split} labels that no training image has: {unknown}")
        sizes[split] = len(flat)
    return DataSet(
        base_name(path), len(classes), min(_channels_last(parts["train"][0]).shape[1:3]),
        sizes["train"], sizes["test"], partial(_load, path=path, field=field), _version(Path(path).expanduser()),
    )  # fmt: skip


def _load(split: str, num_images: int | None, _: str | None, *, path: str, field: str) -> Arrays:
    images, labels = _pair(path, split, field)
    classes = np.unique(_flat_labels(_pair(path, "train", field, whole=False)[1], path, "train", field))
    numbers = np.searchsorted(classes, _flat_labels(labels, path, split, field))
    return _as_bytes(_channels_last(images[:num_images]), path, split, field), numbers[:num_images].astype(np.int64)


def _pair(path: str, split: str, field: str, whole: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels; where they are not to be read whole, of an npz file the first image stands for all."""
    place = Path(path).expanduser()
    if not place.exists():
        raise FileNotFoundError(f"{field}: no file or folder {place}")
    try:
        with _opened(place) as there:
            for names in _NAMES[split]:
                if all(name in there for name in names):
                    images = there[names[0]] if whole or place.is_dir() else _first_for_all(place, names[0])
                    return images, there[names[1]]
            found = sorted(there)
    except _DAMAGE as error:
        raise ValueError(f"{field}: {place} cannot be read: {' '.join(str(error).split())}") from error
    valid = " or ".join(f"{images} and {labels}" for images, labels in _NAMES[split])
    raise FileNotFoundError(f"{field}: {place} lacks {valid}; it has {found}")


def _first_for_all(place: Path, name: str) -> np.ndarray:
    with zipfile.ZipFile(place) as archive, archive.open(f"{name}.npy") as file:
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, in_columns, kind = read_header[np.lib.format.read_magic(file)](file)
        if in_columns or kind.hasobject or not all(shape):
            with np.load(place) as arrays:
                return arrays[name]
        first = np.frombuffer(file.read(int(np.prod(shape[1:])) * kind.itemsize), kind)
    return np.broadcast_to(first.reshape(1, *shape[1:]), shape)


@contextmanager
def _opened(place: Path) -> Iterator[Mapping[str, np.ndarray]]:
    """Arrays by name, each read when it is asked for; those of a folder are mapped."""
    if place.is_dir():
        yield _Folder(place)
        return
    with open(place, "rb") as file, np.load(file) as arrays:
        yield arrays


class _Folder(Mapping[str, np.ndarray]):
    def __init__(self, place: Path):
        self._paths = {path.stem: path for path in place.glob("*.npy")}

    def __getitem__(self, name: str) -> np.ndarray:
        return np.load(self._paths[name], mmap_mode="r")

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def _flat_labels(labels: np.ndarray, path: str, split: str, field: str) -> np.ndarray:
    """One label an image, shape (n,); MedMNIST's are (n, 1)."""
    flat = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    kind_is_good = flat.dtype.kind in "iubUS" or (flat.dtype.kind == "f" and bool(np.all(flat == np.round(flat))))
    if flat.ndim != 1 or not kind_is_good or len(flat) == 0:
        raise ValueError(
            f"{field}: the {split} labels of {path} must be one whole number or text an image,"
            f" got {labels.dtype} of shape {labels.shape}"
        )
    return flat


def _check_images(images: np.ndarray, num_labels: int, path: str, split: str, field: str) -> None:
    if len(images) != num_labels:
        raise ValueError(f"{field}: {path} has {len(images)} {split} images but {num_labels} labels")
    if images.ndim not in (3, 4) or (images.ndim == 4 and not {images.shape[1], images.shape[3]} & {1, 3, 4}):
        raise ValueError(
            f"{field}: the {split} images of {path} must be (n, height, width) or (n, height, width, channels)"
            f" of 1, 3 or 4 channels, got shape {images.shape}"
        )
    _as_bytes(images[:1], path, split, field)


def _channels_last(images: np.ndarray) -> np.ndarray:
    """(n, height, width) or (n, height, width, 3): one channel is grey, a fourth (alpha) is left out."""
    if images.ndim == 3:
        return images
    if images.shape[3] not in (1, 3, 4):
        images = images.transpose(0, 2, 3, 1)
    return images[..., 0] if images.shape[3] == 1 else images[..., :3]


def _as_bytes(images: np.ndarray, path: str, split: str, field: str) -> np.ndarray:
    """Whole numbers from 0 to 255 or 65,535, or fractions from 0 to 1, as uint8."""
    kind = images.dtype
    if kind == np.uint8:
        return images
    low, high = (float(images.min()), float(images.max())) if images.size else (0.0, 0.0)
    if kind == np.uint16 and high > 255:
        return np.round(images / 257).astype(np.uint8)
    if kind.kind == "b" or (kind.kind == "f" and low >= 0 and high <= 1):
        return np.round(images * 255.0).astype(np.uint8)
    if kind.kind in "iu" and low >= 0 and high <= 255:
        return images.astype(np.uint8)
    raise ValueError(
        f"{field}: the {split} images of {path} must be whole numbers from 0 to 255 or fractions from 0 to 1,"
        f" got {kind} from {low:g} to {high:g}"
    )


def _version(place: Path) -> str:
    """Of an npz file its members' checksums, which it holds; of npy files their lengths and ends."""
    digest = hashlib.sha256()
    if place.is_dir():
        for path in sorted(place.glob("*.npy")):
            with open(path, "rb") as file:
                start, size = file.read(_SAMPLED_BYTES), path.stat().st_size
                file.seek(-min(size, _SAMPLED_BYTES), os.SEEK_END)
                digest.update(f"{path.name}\0{size}\n".encode() + start + file.read())
    else:
        with zipfile.ZipFile(place) as archive:
            for member in sorted(archive.infolist(), key=lambda m: m.filename):
                digest.update(f"{member.filename}\0{member.file_size}\0{member.CRC}\n".encode())
    return f"arrays-{digest.hexdigest()[:16]}"
