"""The row of a set in tar or parquet shards, which is only ever streamed."""

from functools import lru_cache, partial

from ..places import base_name
from ..rows import Arrays, DataSet
from .index import find_index

__all__ = ["describe_shards"]

_IMAGE_SIZE = 224  # pixels that photographs of any size are given unless the spec says


@lru_cache(maxsize=32)
def describe_shards(folder: str, field: str = "upstream.folder") -> DataSet:
    """What the tar or parquet shards in a folder hold.

    Raises:
        FileNotFoundError: no such folder.
        ValueError: nothing in it, a damaged shard, or a downstream task in shards, which are upstream sets.
    """
    if field != "upstream.folder":
        raise ValueError(f"{field}: shards are read as upstream sets only, got {folder}")
    index = find_index(folder, "shards")
    sizes = {split: len(index.split(split)) for split in ("train", "test")}
    return DataSet(
        base_name(folder), index.num_classes, _IMAGE_SIZE, sizes["train"], sizes["test"],
        partial(_refuse, folder), index.version,
    )  # fmt: skip


def _refuse(place: str, split: str, num_images: int | None, folder: str | None) -> Arrays:
    raise ValueError(f"upstream.stream: {place} holds shards, which are streamed, not decoded at once")
