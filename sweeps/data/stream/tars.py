"""WebDataset tar shards: members of one stem are one sample, an image and its label as .cls or in .json."""

import json
import os
import tarfile

from ..image_folder import SUFFIXES
from .layout import Rows, split_of

__all__ = ["TarReader", "scan_tars"]


def scan_tars(root: str, files: list[str]) -> Rows:
    """Where every image lies, from the members' headers; of the data only the labels are read.

    Raises:
        ValueError: a shard is damaged, or a sample has no label or two images.
    """
    rows = Rows()
    for file in files:
        path = os.path.join(root, file)
        try:
            _scan(rows, path, file)
        except (tarfile.TarError, EOFError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"upstream.folder: {path} is damaged: {error}") from error
    return rows


class TarReader:
    """The first `size` bytes of a member by its place in its shard."""

    def __init__(self, root: str):
        self._root = root

    def read(self, file: str, block: int, offset: int, size: int) -> bytes:
        # Opened anew each time: that takes a hundredth of the decoding, and a thousand shards would be too many files.
        with open(os.path.join(self._root, file), "rb", buffering=0) as shard:
            return os.pread(shard.fileno(), size, offset)


def _scan(rows: Rows, path: str, file: str) -> None:
    images: dict[str, tuple[int, int]] = {}
    labels: dict[str, str | int] = {}
    with tarfile.open(path, "r:") as tar:
        for member in tar:
            folder, name = os.path.split(member.name)
            stem, _, extension = name.partition(".")
            key = f"{folder}/{stem}"
            if not member.isfile() or not stem:
                continue
            if f".{extension.lower()}" in SUFFIXES:
                if key in images:
                    raise ValueError(f"upstream.folder: {path} has two images for the sample {key.lstrip('/')!r}")
                images[key] = (member.offset_data, member.size)
            elif extension in ("cls", "json") and (label := _label(tar, member, extension)) is not None:
                labels[key] = label
    split = split_of(file)
    for key, (offset, size) in images.items():
        if key not in labels:
            raise ValueError(f"upstream.folder: {path} has no label (.cls, or .json with one) for {key.lstrip('/')!r}")
        rows.add(file, labels[key], split, offset=offset, size=size)


def _label(tar: tarfile.TarFile, member: tarfile.TarInfo, extension: str) -> str | int | None:
    data = tar.extractfile(member)
    text = data.read().decode() if data else ""
    if extension == "cls":
        return text.strip()
    value = json.loads(text)
    label = value.get("label", value.get("cls")) if isinstance(value, dict) else None
    return label if isinstance(label, str | int) else None
