"""Tiny image sets on disk in each layout, written by the tests."""

import io
import json
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

KINDS = ("folder", "tar", "parquet")
DATASETS = {"folder": "image-folder", "tar": "shards", "parquet": "shards"}
CLASSES = ("cat", "dog", "owl")


def photo(i, kind="PNG"):
    """Image i: its first pixel tells which it is; heights and widths differ."""
    pixels = np.random.default_rng(i).integers(0, 256, (20 + i % 5, 24 - i % 3, 3), dtype=np.uint8)
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, kind)
    return data.getvalue()


def write_set(root, kind, num_train=90, num_test=6, group=7):
    """The same images in either layout: image i has class i % 3."""
    for split, first, count in (("train", 0, num_train), ("test", 10_000, num_test)):
        images = [(photo(first + i), i % len(CLASSES)) for i in range(count)]
        WRITERS[kind](root, split, images, group)
    return root


def write_folder(root, split, images, group):
    for i, (data, label) in enumerate(images):
        path = root / split / CLASSES[label] / f"{i:05}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def write_tars(root, split, images, group):
    root.mkdir(parents=True, exist_ok=True)
    for shard in range(2):
        members = []
        for i, (data, label) in list(enumerate(images))[shard::2]:
            text = json.dumps({"label": CLASSES[label]}) if i % 2 else CLASSES[label]
            members += [(f"{i:05}.png", data), (f"{i:05}.{'json' if i % 2 else 'cls'}", text.encode())]
        write_tar(root / f"{split}-{shard}.tar", members)


def write_tar(path, members):
    with tarfile.open(path, "w") as tar:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def write_parquets(root, split, images, group):
    root.mkdir(parents=True, exist_ok=True)
    for shard in range(2):
        part = images[shard::2]
        rows = {"image": [{"bytes": data, "path": None} for data, _ in part], "label": [label for _, label in part]}
        pq.write_table(pa.table(rows), root / f"{split}-{shard:05}-of-00002.parquet", row_group_size=group)


WRITERS = {"folder": write_folder, "tar": write_tars, "parquet": write_parquets}
