"""What the tar or parquet shards in a folder hold."""

import hashlib
import os
from collections.abc import Mapping

import pyarrow as pa

from .layout import SPLITS, Listing, Rows, encode_labels
from .parquets import scan_parquets
from .tars import scan_tars

__all__ = ["are_unchanged", "list_shards"]

_SCANS = {"parquet": scan_parquets, "tar": scan_tars}  # where a folder holds both, parquet


def list_shards(root: str) -> Listing:
    """Every sample, by reading the labels and headers of all shards.

    Raises:
        ValueError: no shards, a damaged one, an image without bytes, or a class without training images.
    """
    shards, stamps = _find(root)
    kind = next((kind for kind in _SCANS if shards[kind]), None)
    if kind is None:
        raise ValueError(f"upstream.folder: no shards in {root} (*.tar or *.parquet)")
    rows = _SCANS[kind](root, sorted(shards[kind]))
    _check(root, rows)
    classes, labels = encode_labels(rows.label)
    columns = {
        "file": pa.array(rows.file).dictionary_encode(),
        "block": pa.array(rows.block, pa.int32()),
        "offset": pa.array(rows.offset, pa.int64()),
        "size": pa.array(rows.size, pa.int64()),
        "label": pa.array(labels),
        "split": pa.array([SPLITS.index(split) for split in rows.split], pa.int8()),
    }
    return Listing(kind, classes, _version(kind, rows), columns, stamps)


def are_unchanged(root: str, stamps: Mapping[str, int]) -> bool:
    """Whether the shards and their folders are those of a listing, by their times."""
    try:
        return all(os.stat(os.path.join(root, name)).st_mtime_ns == stamp for name, stamp in stamps.items())
    except OSError:
        return False


def _find(root: str) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Shards by kind, and when they and their folders were last changed. They lie at most one folder deep; deeper there
    are a million images."""
    shards: dict[str, list[str]] = {kind: [] for kind in _SCANS}
    stamps = {}
    for folder in ["", *(entry.name for entry in os.scandir(root) if entry.is_dir())]:
        stamps[folder] = os.stat(os.path.join(root, folder)).st_mtime_ns
        for entry in os.scandir(os.path.join(root, folder)):
            kind = os.path.splitext(entry.name)[1].removeprefix(".")
            if kind in _SCANS and not entry.name.startswith("."):
                name = os.path.join(folder, entry.name)
                shards[kind].append(name)
                stamps[name] = entry.stat().st_mtime_ns
    return shards, stamps


def _check(root: str, rows: Rows) -> None:
    if not rows.label:
        raise ValueError(f"upstream.folder: no labelled image in the shards in {root}")
    if hollow := [file for file, size in zip(rows.file, rows.size, strict=True) if size == 0]:
        raise ValueError(f"upstream.folder: {len(hollow)} images in {root} are empty, the first in {hollow[0]}")
    known = {label for label, split in zip(rows.label, rows.split, strict=True) if split == "train"}
    if known and (unknown := sorted(set(rows.label) - known)):
        raise ValueError(
            f"upstream.folder: {root} has {len(unknown)} classes without training images, the first {unknown[0]!r}"
        )


def _version(kind: str, rows: Rows) -> str:
    digest = hashlib.sha256(kind.encode())
    for column in (rows.file, rows.block, rows.offset, rows.size, rows.label, rows.split):
        digest.update("\0".join(map(str, column)).encode() + b"\1")
    return f"{kind}-{digest.hexdigest()[:16]}"
