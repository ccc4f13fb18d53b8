"""Training batches of images on disk, read and decoded ahead by worker processes."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from ..batches import batch_indices
from ..images import Images
from .images import StreamedImages, gather
from .order import BlockOrder
from .workers import WINDOW_GROUPS, Piece, pieces, read_ahead

__all__ = ["StreamSource"]


class StreamSource:
    """Batches of streamed images; a batch is a function of (seed, step), whatever the workers and the first step.

    Steps are asked for in order; another step than the next one starts reading anew there, which costs what is read
    ahead. Images lie in the order of `batch_indices`; those of parquet shards in that of `BlockOrder`.

    In memory: the order of an epoch (8 bytes an image), two batches read ahead, and of parquet shards
    `WINDOW_GROUPS` row groups a worker.

    Args:
        images: the training subset.
        seed, batch_size, repeats: see `batch_indices`.
        crops: cut and mirror at random (`sweeps.augment.boxes`); else the centre is cut out.
    """

    def __init__(self, images: StreamedImages, *, seed: int, batch_size: int, repeats: int = 1, crops: bool = False):
        self.crops = crops
        self._images = images
        self._order = (seed, batch_size, len(images.rows), repeats)
        self._epoch = BlockOrder(images.index.blocks[images.rows], WINDOW_GROUPS) if _in_blocks(images) else None
        self._next = 0
        decoder = replace(images.decoder(), crop=crops, seed=seed, batch_size=batch_size)
        self._loader = read_ahead(decoder, _From(self), images.workers, batch_size)
        self._decoded: Iterator | None = None

    def batch(self, step: int) -> Images:
        """Pixels uint8 (b, image_size, image_size, 3) and labels int64 (b,) of a step, on the device.

        Raises:
            ImageError: an image cannot be decoded.
            RuntimeError: a worker died.
        """
        if self._loader is None:
            raise ValueError("the source is closed")
        if self._decoded is None or step != self._next:
            self._next = step
            self._decoded = iter(self._loader)
        index = self.indices(step)
        try:
            pixels = gather(self._decoded, len(index))
        except (RuntimeError, OSError, EOFError) as error:  # whichever the loader meets first
            self.close()
            raise RuntimeError(f"a process that reads images died (memory, or killed): {error}") from error
        self._next = step + 1
        return Images(pixels, self._images.labels[index]).to(self._images.device)

    def indices(self, step: int) -> np.ndarray:
        """Which of the images a step trains on, shape (b,)."""
        seed, batch_size, num_images, repeats = self._order
        return batch_indices(seed, step, batch_size, num_images, repeats, self._epoch)

    def close(self) -> None:
        """Stop the workers."""
        self._decoded = self._loader = None

    def pieces_from(self, step: int) -> Iterator[Piece]:
        while True:
            yield from pieces(step, self._images.rows[self.indices(step)])
            step += 1


class _From(Iterable[Piece]):
    """Pieces from the step that the source is at when a pass begins."""

    def __init__(self, source: StreamSource):
        self._source = source

    def __iter__(self) -> Iterator[Piece]:
        return self._source.pieces_from(self._source._next)


def _in_blocks(images: StreamedImages) -> bool:
    return images.index.kind == "parquet"
