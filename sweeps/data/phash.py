"""Perceptual hashes of images, 64 bits each, and the pairs of hashes that differ in few bits."""

from collections.abc import Iterator

import numpy as np
from scipy.fft import dctn

__all__ = ["HASH_SIZE", "hash_images", "near_pairs"]

HASH_SIZE = 32  # side in pixels of the images that are hashed
_LOW = 8  # frequencies a side that are kept
_BATCH = 4096
_GREY = np.array([0.299, 0.587, 0.114], np.float32)  # luma of ITU-R BT.601
_NUM_BANDS, _BAND_BITS = 4, 16
_MAX_PAIRS = 2_000_000  # compared at a time


def hash_images(pixels: np.ndarray) -> np.ndarray:
    """The hash of each image, uint64 (n,): which low frequencies of its cosine transform lie above their median.

    Args:
        pixels: uint8 (n, 32, 32, 3).

    Source: Zauner 2010, Implementation and benchmarking of perceptual image hash functions, section 3.2.1; with the
    frequencies 0 to 7 of each axis and the median of all 64, as the library imagehash does.
    """
    hashes = np.empty(len(pixels), np.uint64)
    for start in range(0, len(pixels), _BATCH):
        grey = pixels[start : start + _BATCH].astype(np.float32) @ _GREY
        low = np.asarray(dctn(grey, axes=(1, 2)))[:, :_LOW, :_LOW].reshape(len(grey), -1)
        bits = low > np.median(low, axis=1, keepdims=True)
        hashes[start : start + _BATCH] = np.packbits(bits, axis=1).view(">u8")[:, 0]
    return hashes


def near_pairs(first: np.ndarray, second: np.ndarray, max_bits: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All pairs (row of `first`, row of `second`) whose hashes differ in at most `max_bits`, some at a time.

    Of the four bands of 16 bits of such a pair one differs in at most `max_bits // 4`: only pairs that agree in a band
    but for so many bits are compared. A pair comes once for each band in which it agrees so.

    Args:
        first, second: uint64 (n,), (m,).
        max_bits: from 0 to 7.

    >>> rows = list(near_pairs(np.array([0b1011], np.uint64), np.array([0b1000, 0b1], np.uint64), max_bits=2))
    >>> sorted({(int(i), int(j)) for pair in rows for i, j in zip(*pair)})
    [(0, 0), (0, 1)]
    """
    if not 0 <= max_bits < 2 * _NUM_BANDS:
        raise ValueError(f"max_bits must be from 0 to {2 * _NUM_BANDS - 1}, got {max_bits}")
    flips = [0, *(1 << bit for bit in range(_BAND_BITS))] if max_bits >= _NUM_BANDS else [0]
    for band in range(_NUM_BANDS):
        keys, wanted = (_band(hashes, band) for hashes in (first, second))
        order = np.argsort(keys, kind="stable")
        starts = np.searchsorted(keys[order], np.arange(2**_BAND_BITS + 1))
        for flip in flips:
            low, high = starts[wanted ^ flip], starts[(wanted ^ flip) + 1]
            for i, j in _expanded(low, high):
                close = _num_bits(first[order[i]] ^ second[j]) <= max_bits
                yield order[i[close]], j[close]


def _band(hashes: np.ndarray, band: int) -> np.ndarray:
    return ((hashes >> np.uint64(band * _BAND_BITS)) & np.uint64(2**_BAND_BITS - 1)).astype(np.int64)


def _expanded(low: np.ndarray, high: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(i, j) for every i from low[j] up to high[j], in pieces of bounded size."""
    ends = np.cumsum(high - low)
    for start in range(0, int(ends[-1]) if len(ends) else 0, _MAX_PAIRS):
        place = np.arange(start, min(start + _MAX_PAIRS, int(ends[-1])))
        j = np.searchsorted(ends, place, side="right")
        yield low[j] + place - (ends[j] - (high[j] - low[j])), j


def _num_bits(values: np.ndarray) -> np.ndarray:
    """Bits set in each uint64."""
    if hasattr(np, "bitwise_count"):  # numpy 2
        return np.bitwise_count(values)
    return np.unpackbits(values[:, None].view(np.uint8), axis=1).sum(axis=1)
