import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from sweeps.data.datasets import DATASETS, find_dataset
from sweeps.data.fashion_mnist import DEBIAN_FOLDER, load, read_idx
from sweeps.data.images import load_images
from sweeps.data.procedural import TASKS

OFFLINE = {"procedural", *TASKS, "digits"}


def write_idx(path: Path, array: np.ndarray, compress: bool = True) -> None:
    magic = {1: 0x801, 3: 0x803}[array.ndim]
    raw = struct.pack(f">{1 + array.ndim}I", magic, *array.shape) + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(raw) if compress else raw)


@pytest.fixture
def fashion_folder(tmp_path):
    rng = np.random.default_rng(0)
    for prefix, n in (("train", 12), ("t10k", 5)):
        write_idx(tmp_path / f"{prefix}-images-idx3-ubyte.gz", rng.integers(0, 256, (n, 28, 28)))
        write_idx(tmp_path / f"{prefix}-labels-idx1-ubyte.gz", rng.integers(0, 10, n))
    return tmp_path


@pytest.mark.parametrize("name", sorted(OFFLINE))
def test_every_set_gives_what_its_row_says(name):
    dataset = DATASETS[name]
    for split, n in (("train", 300), ("test", 200)):
        images, labels = dataset.load(split, n, None)
        assert images.dtype == np.uint8
        assert images.shape[:3] == (n, dataset.image_size, dataset.image_size)
        assert labels.dtype == np.int64
        assert set(np.unique(labels)) <= set(range(dataset.num_classes))


@pytest.mark.parametrize("name", sorted(OFFLINE))
def test_train_and_test_share_no_image(name):
    train, test = (DATASETS[name].load(split, 500, None)[0] for split in ("train", "test"))
    keys = [{image.tobytes() for image in part} for part in (train, test)]
    assert len(keys[0] & keys[1]) <= (2 if name == "digits" else 0)  # 8x8 digits repeat by themselves


def test_digits_are_whole():
    assert len(load_images("digits", "train").labels) + len(load_images("digits", "test").labels) == 1797


def test_images_are_rgb_at_the_size_asked_for():
    images = load_images("digits", "test", 32)
    assert images.pixels.shape == (797, 32, 32, 3)
    assert images.pixels.dtype == torch.uint8
    assert torch.equal(images.pixels[..., 0], images.pixels[..., 2])
    # Resizing keeps the mean brightness: to a grey level, since borders weigh a little more.
    assert images.pixels.float().mean() == pytest.approx(load_images("digits", "test").pixels.float().mean(), abs=1.5)


def test_one_set_is_a_negative_control():
    assert [name for name, dataset in DATASETS.items() if dataset.negative_control] == ["shuffled_labels"]


def test_unknown_set_lists_the_known():
    with pytest.raises(ValueError, match=r"data set must be one of \['caltech101', .*got 'foo'"):
        find_dataset("foo")


# Fashion-MNIST ------------------------------------------------------------------------------------------------


def test_idx_files_of_a_folder_are_read(fashion_folder):
    images, labels = load("train", None, str(fashion_folder))
    assert images.shape == (12, 28, 28)
    assert labels.shape == (12,)
    assert load("test", 3, str(fashion_folder))[0].shape == (3, 28, 28)


def test_idx_files_without_compression_are_read(tmp_path):
    array = np.arange(12).reshape(3, 2, 2)
    write_idx(tmp_path / "x", array, compress=False)
    assert read_idx(tmp_path / "x", 3).tolist() == array.tolist()


@pytest.mark.parametrize("damage", ["cut", "gzip", "labels as images", "empty"])
def test_damaged_idx_files_are_named(fashion_folder, damage):
    path = fashion_folder / "train-images-idx3-ubyte.gz"
    raw = path.read_bytes()
    if damage == "cut":
        path.write_bytes(gzip.compress(gzip.decompress(raw)[:-10]))
    elif damage == "gzip":
        path.write_bytes(raw[: len(raw) // 2])
    elif damage == "empty":
        path.write_bytes(b"")
    else:
        path.write_bytes((fashion_folder / "train-labels-idx1-ubyte.gz").read_bytes())
    with pytest.raises(ValueError, match=r"train-images-idx3-ubyte.gz is damaged"):
        load("train", None, str(fashion_folder))


def test_a_folder_without_the_files_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"upstream.folder: no train-images.* dataset-fashion-mnist"):
        load("train", None, str(tmp_path))


def test_unequal_numbers_of_images_and_labels(fashion_folder):
    write_idx(fashion_folder / "train-labels-idx1-ubyte.gz", np.zeros(7))
    with pytest.raises(ValueError, match="12 images but 7 labels"):
        load("train", None, str(fashion_folder))


@pytest.mark.skipif(not Path(DEBIAN_FOLDER).is_dir(), reason="Debian's package dataset-fashion-mnist is not installed")
def test_the_real_files():
    for split, n in (("train", 60_000), ("test", 10_000)):
        images, labels = load(split)
        assert images.shape == (n, 28, 28)
        assert np.bincount(labels).tolist() == [n // 10] * 10
        assert 70 < images.mean() < 76  # the mean grey level, 72.94 in the training set
