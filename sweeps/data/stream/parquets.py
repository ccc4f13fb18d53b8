"""Parquet shards as Hugging Face writes them: an image's bytes and its label a row, row groups as blocks."""

import os
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .layout import Rows, split_of

__all__ = ["ParquetReader", "scan_parquets"]

_IMAGE_COLUMNS, _LABEL_COLUMNS = ("image", "img"), ("label", "fine_label")
_MAX_OPEN = 16  # files; of each the footer is held
_UNLABELLED = -1  # Hugging Face's label of test images whose labels are kept back


def scan_parquets(root: str, files: list[str]) -> Rows:
    """Every row with its label, from the label column alone; a shard without labels (all -1) is left out.

    Raises:
        ValueError: a shard is damaged, or has no column of images or of labels.
    """
    rows = Rows()
    for file in files:
        path = os.path.join(root, file)
        try:
            with pq.ParquetFile(path) as shard:
                _image_column(shard, path)
                column = _column(shard, _LABEL_COLUMNS, path)
                labels = shard.read(columns=[column], use_threads=False)[column].to_pylist()
                sizes = [shard.metadata.row_group(i).num_rows for i in range(shard.num_row_groups)]
        except (pa.ArrowInvalid, OSError) as error:
            raise ValueError(f"upstream.folder: {path} is damaged: {error}") from error
        if None in labels:
            raise ValueError(f"upstream.folder: {path} has no label in row {labels.index(None)}")
        if set(labels) == {_UNLABELLED}:
            continue
        blocks = np.repeat(np.arange(len(sizes)), sizes).tolist()
        offsets = np.concatenate([np.arange(size) for size in sizes]).tolist() if sizes else []
        for block, offset, label in zip(blocks, offsets, labels, strict=True):
            rows.add(file, label, split_of(file), offset=offset, block=block)
    return rows


class ParquetReader:
    """Bytes of an image by its row group and row; the last `num_groups` row groups are held."""

    def __init__(self, root: str, num_groups: int):
        self._root = root
        self._open = lru_cache(_MAX_OPEN)(self._open_shard)
        self._group = lru_cache(num_groups)(self.read_group)

    def read(self, file: str, block: int, offset: int, size: int) -> bytes:
        return self._group(file, block)[offset].as_py()

    def read_group(self, file: str, block: int) -> Any:
        """The images of a row group, an Arrow array of bytes."""
        shard, column = self._open(file)
        images = shard.read_row_group(block, columns=[column], use_threads=False).column(0).combine_chunks()
        return images.field("bytes") if pa.types.is_struct(images.type) else images

    def _open_shard(self, file: str) -> tuple[pq.ParquetFile, str]:
        path = os.path.join(self._root, file)
        shard = pq.ParquetFile(path, memory_map=True)
        return shard, _image_column(shard, path)


def _image_column(shard: pq.ParquetFile, path: str) -> str:
    column = _column(shard, _IMAGE_COLUMNS, path)
    kind = shard.schema_arrow.field(column).type
    if pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
        return f"{column}.bytes"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return column
    raise ValueError(f"upstream.folder: {path}: column {column!r} must hold bytes or struct{{bytes, path}}, got {kind}")


def _column(shard: pq.ParquetFile, names: tuple[str, ...], path: str) -> str:
    found = [name for name in names if name in shard.schema_arrow.names]
    if not found:
        raise ValueError(f"upstream.folder: {path} needs a column of {list(names)}, got {shard.schema_arrow.names}")
    return found[0]
