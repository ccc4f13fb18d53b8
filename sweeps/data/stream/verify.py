"""Look for damaged images before a training, not after an hour of it."""

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image
from torch.utils.data import Dataset

from ...words import one_line
from .images import StreamedImages
from .workers import Decoder, pieces, read_ahead

__all__ = ["verify_images"]

_HEADER_BYTES = 16_384  # enough for most headers; where it is not, the whole file is read
_AHEAD = 500  # images given to the workers at once
_SHOWN = 3


def verify_images(images: StreamedImages, num_decoded: int = 1000, *, seed: int = 0) -> None:
    """Read the header of every image, and decode `num_decoded` of them, drawn by `seed`.

    Raises:
        ValueError: how many are damaged, and where the first ones lie.
    """
    order = np.random.default_rng(seed).permutation(len(images.rows))
    bad = _check(images, images.rows, whole=False)
    bad |= _check(images, np.sort(images.rows[order[:num_decoded]]), whole=True)
    if bad:
        shown = "; ".join(text for _, text in sorted(bad.items())[:_SHOWN])
        raise ValueError(f"upstream.folder: {len(bad)} of {len(images.rows)} images are damaged: {shown}")


def _check(images: StreamedImages, rows: np.ndarray, whole: bool) -> dict[int, str]:
    checker = _Checker(images.decoder(), whole)
    todo = pieces(0, rows)
    found = iter(read_ahead(checker, todo, images.workers, _AHEAD))
    return {row: text for part in found for row, text in part.items()}


@dataclass
class _Checker(Dataset):
    decoder: Decoder
    whole: bool

    def __getitem__(self, piece) -> dict[int, str]:
        return {row: text for row in map(int, piece.rows) if (text := self._fault(row))}

    def _fault(self, row: int) -> str | None:
        try:
            if self.whole:
                self.decoder.decode(row)
            else:
                self._read_header(row)
        # PIL's decoders raise what they like on damaged bytes; it is told.
        except Exception as error:
            return f"{self.decoder.index.describe(row)}: {one_line(error)}"
        return None

    def _read_header(self, row: int) -> None:
        try:
            Image.open(io.BytesIO(self.decoder.read(row, _HEADER_BYTES)))
        except OSError:
            Image.open(io.BytesIO(self.decoder.read(row)))
