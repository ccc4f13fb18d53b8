"""Processes that read and decode pieces of batches ahead of the training (torch's DataLoader)."""

import io
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import parent_process
from multiprocessing.connection import wait
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from ...augment.boxes import crop_boxes, crop_flips
from ...words import one_line
from ..decode import cut, read_photo, read_whole
from .index import ImageIndex, open_index

__all__ = ["WINDOW_GROUPS", "Decoder", "ImageError", "Piece", "pieces", "read_ahead"]

WINDOW_GROUPS = 16  # parquet row groups shuffled together and held by a worker; of 100 ImageNet images each, 180 MB
_PIECE = 32  # images; small, so that all workers share one batch and little is read in vain
_BATCHES_AHEAD = 2
_WHERE = ("file", "block", "offset", "size")


class ImageError(ValueError):
    """An image that cannot be read or decoded; names where it lies."""


class Piece(NamedTuple):
    """Consecutive images of a step's batch: the first one's place in it, and their rows in the index."""

    step: int
    first: int
    rows: np.ndarray


@dataclass
class Decoder(Dataset):
    """What a worker does: a piece to uint8 pixels (n, image_size, image_size, 3), or to the text of an error.

    Args:
        index_path, version: of the index, which each worker maps into memory for itself.
        crop: draw the boxes of `sweeps.augment.boxes` for (seed, step, place in the batch); else the centre is taken,
            as for the decoded sets (`sweeps.data.decode`).
    """

    index_path: str
    version: str
    image_size: int
    crop: bool = False
    seed: int = 0
    batch_size: int = 0

    def __getitem__(self, piece: Piece) -> torch.Tensor | str:
        try:
            # In one tensor from the start, so that it goes to the parent through shared memory uncopied.
            pixels = torch.empty((len(piece.rows), self.image_size, self.image_size, 3), dtype=torch.uint8)
            if self.crop:
                self._cut_randomly(self._decoded(piece.rows, self.decode), piece, pixels.numpy())
            else:
                for i, image in enumerate(self._decoded(piece.rows, self._centre)):
                    pixels[i] = torch.from_numpy(image)
        except ImageError as error:
            return str(error)
        return pixels

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("index", "reader")}

    @cached_property
    def index(self) -> ImageIndex:
        index = open_index(self.index_path)
        if index.version != self.version:
            raise ImageError(f"upstream.folder: the images in {index.root} have changed since the run began")
        return index

    @cached_property
    def reader(self) -> Any:
        return self.index.reader(WINDOW_GROUPS)

    def read(self, row: int, limit: int | None = None) -> bytes:
        """The bytes of an image, or where its store allows it the first `limit`."""
        file, block, offset, size = (self.index.table[name][row].as_py() for name in _WHERE)
        return self.reader.read(file, block, offset, size if limit is None else min(size, limit))

    def decode(self, row: int) -> Image.Image:
        """An image as RGB."""
        return read_whole(io.BytesIO(self.read(row)))

    def _centre(self, row: int) -> np.ndarray:
        return np.array(read_photo(io.BytesIO(self.read(row)), self.image_size))  # a copy, since torch warns of others

    def _decoded(self, rows: np.ndarray, decode: Callable[[int], Any]) -> list[Any]:
        decoded: dict[int, Any] = {}  # repeats of an image are decoded once
        for row in map(int, rows):
            if row in decoded:
                continue
            try:
                decoded[row] = decode(row)
            # PIL's decoders raise what they like on damaged bytes; the image is named, and the run ends.
            except Exception as error:
                raise ImageError(f"image cannot be decoded: {self.index.describe(row)}: {one_line(error)}") from error
        return [decoded[int(row)] for row in rows]

    def _cut_randomly(self, images: list[Image.Image], piece: Piece, out: np.ndarray) -> None:
        places = slice(piece.first, piece.first + len(images))
        # A box depends on its own image only, so that the sizes of the images of other pieces do not matter.
        sizes = np.ones((self.batch_size, 2), np.int64)
        sizes[places] = [(image.height, image.width) for image in images]
        boxes = crop_boxes(self.seed, piece.step, self.batch_size, sizes)[places].tolist()
        flips = crop_flips(self.seed, piece.step, self.batch_size)[places].tolist()
        for i, (image, box, flip) in enumerate(zip(images, boxes, flips, strict=True)):
            out[i] = cut(image, box, self.image_size, flip)


def pieces(step: int, rows: np.ndarray) -> list[Piece]:
    """A batch cut into pieces."""
    return [Piece(step, first, rows[first : first + _PIECE]) for first in range(0, len(rows), _PIECE)]


def read_ahead(decoder: Dataset, todo: Iterable[Any], workers: int, batch_size: int) -> DataLoader:
    """The results for `todo` in its order, made by `workers` processes (0: by this one) up to two batches ahead.

    Workers live as long as the loader, through several passes over it, and leave when this process does.
    """
    ahead = -(-_BATCHES_AHEAD * batch_size // (_PIECE * max(workers, 1)))
    options: dict[str, Any] = {}
    if workers:
        options = {
            # Forked from a server that has no threads and no GPU: forking this process could hang the child.
            "multiprocessing_context": _context(),
            "persistent_workers": True,
            "prefetch_factor": max(2, ahead),
            "worker_init_fn": _leave_with_parent,
        }
    return DataLoader(
        decoder, batch_size=None, sampler=_Todo(todo), num_workers=workers, collate_fn=_same,
        generator=torch.Generator(),  # else each pass would draw from torch's global stream
        **options,
    )  # fmt: skip


class _Todo(torch.utils.data.Sampler):
    def __init__(self, todo: Iterable[Any]):
        self._todo = todo

    def __iter__(self) -> Iterator[Any]:
        return iter(self._todo)


def _context() -> Any:
    import multiprocessing

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _leave_with_parent(worker: int) -> None:
    """End with the process that started this one, however it ends; Ctrl-C is that one's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()


def _same(value: Any) -> Any:
    return value
