"""Fashion-MNIST: 60,000 + 10,000 grey photographs of clothes, 28x28, as gzipped idx files."""

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np
from filelock import FileLock

from .places import HOME

__all__ = ["DEBIAN_FOLDER", "load", "place", "read_idx"]

DEBIAN_FOLDER = "/usr/share/datasets/fashion-mnist"  # of Debian's package dataset-fashion-mnist
_PREFIX = {"train": "train", "test": "t10k"}
_MAGIC = {1: 0x801, 3: 0x803}  # labels, images: unsigned bytes in one and three dimensions


def load(split: str, num_images: int | None = None, folder: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 (n, 28, 28) and labels int64 (n,) from `folder`, else Debian's package, else torchvision's download.

    Raises:
        FileNotFoundError: `folder` is given and lacks the files.
        ValueError: a file is damaged.

    Source: Xiao, Rasul and Vollgraf 2017 (arXiv 1708.07747).
    """
    root = place(folder)
    if not folder and not _find(root, f"{_PREFIX[split]}-images-idx3-ubyte"):
        root = _download()
    images = read_idx(_need(root, f"{_PREFIX[split]}-images-idx3-ubyte"), num_dims=3)
    labels = read_idx(_need(root, f"{_PREFIX[split]}-labels-idx1-ubyte"), num_dims=1)
    if len(images) != len(labels):
        raise ValueError(f"{root}: {len(images)} images but {len(labels)} labels in the {split} files")
    return images[:num_images], labels[:num_images].astype(np.int64)


def place(folder: str | None = None) -> Path:
    """The folder of the files: `folder`, where Debian puts them, or where torchvision's download goes.

    Raises:
        FileNotFoundError: `folder` is given and lacks the files.
    """
    if folder:
        _need(Path(folder), f"{_PREFIX['train']}-images-idx3-ubyte")
        return Path(folder)
    debian = Path(DEBIAN_FOLDER)
    return debian if _find(debian, f"{_PREFIX['train']}-images-idx3-ubyte") else _downloaded()


def read_idx(path: Path, num_dims: int) -> np.ndarray:
    """An idx file of unsigned bytes, gzipped or not.

    Raises:
        ValueError: not such a file, or its length is not what its header says.
    """
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    header = 4 + 4 * num_dims
    magic, *shape = struct.unpack(f">{1 + num_dims}I", raw[:header]) if len(raw) >= header else (None,)
    if magic != _MAGIC[num_dims] or len(raw) != header + int(np.prod(shape)):
        raise ValueError(
            f"{path} is damaged: not an idx file of {num_dims} dimensions, or cut short ({len(raw)} bytes)"
        )
    return np.frombuffer(raw, np.uint8, offset=header).reshape(shape)


def _find(folder: Path, stem: str) -> Path | None:
    return next((path for path in (folder / f"{stem}.gz", folder / stem) if path.is_file()), None)


def _need(folder: Path, stem: str) -> Path:
    if path := _find(folder, stem):
        return path
    raise FileNotFoundError(f"upstream.folder: no {stem}.gz in {folder}; Debian has it as dataset-fashion-mnist")


def _download() -> Path:
    from torchvision.datasets import FashionMNIST

    root = _downloaded().parents[1]
    root.mkdir(parents=True, exist_ok=True)
    with FileLock(root / ".lock"):  # every worker asks at once, and one download is enough
        FashionMNIST(str(root), download=True)
    return _downloaded()


def _downloaded() -> Path:
    return Path(HOME).expanduser() / "FashionMNIST" / "raw"
