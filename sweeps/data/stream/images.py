"""Images that stay on disk, or a subset of them: labels are at hand, pixels are read when they are asked for."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from ..cache import open_split
from ..images import Images
from ..places import base_name
from ..rows import DataSet
from .index import ImageIndex, find_index
from .workers import Decoder, ImageError, pieces, read_ahead

__all__ = ["StreamedImages", "stream_images"]

_CPU = torch.device("cpu")
_BATCH = 500  # images that are put together when all are read


@dataclass(frozen=True, eq=False)
class StreamedImages:
    """Rows of an index, at the size that the model sees. Labels and subsets need no decoding.

    Attributes:
        rows: int64, shape (n,).
        workers: processes that read; 0 reads in this one.
    """

    index: ImageIndex
    rows: np.ndarray
    image_size: int
    workers: int = 1
    device: torch.device = _CPU

    @cached_property
    def labels(self) -> torch.Tensor:
        """int64, shape (n,), on the CPU."""
        return torch.from_numpy(self.index.labels[self.rows].astype(np.int64))

    def take(self, index: np.ndarray) -> "StreamedImages":
        return replace(self, rows=self.rows[index])

    def to(self, device: torch.device) -> "StreamedImages":
        """The same images, read to that device."""
        return replace(self, device=device)

    def decoder(self) -> Decoder:
        """What workers do with these images: cut out the centre."""
        return Decoder(self.index.path, self.index.version, self.image_size)

    def batches(self, batch_size: int = _BATCH) -> Iterator[Images]:
        """All images in their order, cut to the centre, on the device: for evaluation.

        Raises:
            ImageError: an image cannot be decoded.
        """
        starts = range(0, len(self.rows), batch_size)
        todo = (piece for start in starts for piece in pieces(0, self.rows[start : start + batch_size]))
        decoded = iter(read_ahead(self.decoder(), todo, self.workers, batch_size))
        for start in starts:
            labels = self.labels[start : start + batch_size]
            yield Images(gather(decoded, len(labels)), labels).to(self.device)

    def read_once(self) -> Images:
        """All images, mapped from the cache of decoded images: for parts that every run of a sweep is asked about."""
        if not len(self.rows):
            return self.read()
        digest = hashlib.sha256(np.ascontiguousarray(self.rows, np.int64).data).hexdigest()[:16]
        part = DataSet(
            base_name(self.index.root), self.index.num_classes, self.image_size, len(self.rows), 0,
            lambda split, num_images, folder: (self, self.labels.numpy()), f"{self.index.version}-{digest}",
        )  # fmt: skip
        return Images(*map(torch.from_numpy, open_split(part, "train", self.image_size)))

    def read(self) -> Images:
        """All images at once, on the device."""
        if not len(self.rows):
            return Images(torch.empty((0, self.image_size, self.image_size, 3), dtype=torch.uint8), self.labels)
        parts = list(self.batches())
        return Images(torch.cat([part.pixels for part in parts]), torch.cat([part.labels for part in parts]))


def stream_images(
    folder: str | Path, split: str, image_size: int, *, dataset: str = "image-folder", workers: int = 1
) -> StreamedImages:
    """A split of the images in a folder; its files, or `dataset="shards"`.

    Raises:
        FileNotFoundError: no such folder.
        ValueError: nothing there, or no such split.
    """
    index = find_index(folder, dataset)
    return StreamedImages(index, index.split(split), image_size, workers)


def gather(decoded: Iterator[torch.Tensor | str], num_images: int) -> torch.Tensor:
    """The next pieces, put together to so many images."""
    found: list[torch.Tensor] = []
    while sum(map(len, found)) < num_images:
        piece = next(decoded)
        if isinstance(piece, str):
            raise ImageError(piece)
        found.append(piece)
    return found[0] if len(found) == 1 else torch.cat(found)
