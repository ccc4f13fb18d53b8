"""The index of an image set on disk."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sweeps.data.stream import index as index_module
from sweeps.data.stream.index import find_index
from sweeps.data.stream.layout import encode_labels, split_of
from sweeps.data.subsets import split_train_val

from .stream_sets import CLASSES, KINDS, photo, write_folder, write_set, write_tar


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEPS_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_holds_every_image_with_its_label_and_split(tmp_path, kind):
    index = find_index(write_set(tmp_path / "set", kind))
    assert index.kind == kind
    assert index.classes == (("0", "1", "2") if kind == "parquet" else CLASSES)
    train, test = index.split("train"), index.split("test")
    assert (len(train), len(test), len(index.labels)) == (90, 6, 96)
    assert np.bincount(index.labels[train]).tolist() == [30, 30, 30]
    reader = index.reader(num_groups=1)
    found = {}
    for row in range(96):
        where = (index.table[name][row].as_py() for name in ("file", "block", "offset", "size"))
        found[reader.read(*where)] = index.labels[row]
    written = [(photo(first + i), i % 3) for first, n in ((0, 90), (10_000, 6)) for i in range(n)]
    assert found == dict(written)


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_is_built_once_and_again_when_the_data_change(tmp_path, monkeypatch, kind):
    root = write_set(tmp_path / "set", kind)
    first = find_index(root)
    built = []
    scan = index_module._scan
    monkeypatch.setattr(index_module, "_scan", lambda folder: built.append(folder) or scan(folder))
    assert find_index(root).version == first.version
    assert not built
    write_set(root, kind, num_train=93)
    assert len(find_index(root).split("train")) == 93
    assert len(built) == 1
    assert find_index(root).version != first.version
    assert len(built) == 1
    # A damaged cache costs only time.
    (cached,) = (tmp_path / "cache" / "indexes").iterdir()
    cached.write_bytes(cached.read_bytes()[:100])
    assert len(find_index(root).split("train")) == 93


@pytest.mark.parametrize("kind", KINDS)
def test_the_version_is_of_the_data_not_of_the_place(tmp_path, kind):
    here, there = (find_index(write_set(tmp_path / name, kind)) for name in "ab")
    assert here.version == there.version
    assert here.path != there.path


def test_subsets_need_labels_only(tmp_path):
    root = write_set(tmp_path / "set", "folder")
    for path in root.rglob("*.png"):
        path.write_bytes(b"no image")
    index = find_index(root)
    labels = index.labels[index.split("train")]
    subset, held_out = split_train_val(labels, num_val=9, num_train=30, seed=0)
    assert np.bincount(labels[subset]).tolist() == [10, 10, 10]
    assert not set(subset) & set(held_out)


def test_a_validation_split_stands_in_for_the_test_split_of_imagenet(tmp_path):
    root = write_set(tmp_path / "set", "folder")
    (root / "test").rename(root / "val")
    index = find_index(root)
    assert index.split("test").tolist() == index.split("val").tolist()
    assert len(index.split("val")) == 6


def test_a_class_called_train_is_a_class_where_other_folders_are_no_splits(tmp_path):
    for name in ("bus", "train"):
        (tmp_path / "set" / name).mkdir(parents=True)
        (tmp_path / "set" / name / "1.png").write_bytes(photo(0))
    index = find_index(tmp_path / "set")
    assert index.classes == ("bus", "train")
    assert len(index.split("train")) == 2
    with pytest.raises(ValueError, match=r"upstream\.folder: .* has no split 'test', only \['train'\]"):
        index.split("test")


def test_hidden_and_other_files_are_left_out_and_folders_are_searched_to_the_bottom(tmp_path):
    deep = tmp_path / "set" / "cat" / "a" / "b"
    deep.mkdir(parents=True)
    for name in ("1.JPEG", ".2.jpg", "notes.txt"):
        (deep / name).write_bytes(photo(0))
    assert find_index(tmp_path / "set").table["file"].to_pylist() == ["cat/a/b/1.JPEG"]


def test_labels_are_numbered_in_the_order_of_their_values():
    assert encode_labels([10, 2, 10])[0] == ("2", "10")
    assert encode_labels(["n2", "n10"])[0] == ("n10", "n2")


@pytest.mark.parametrize(
    ("path", "split"),
    [("train/0.tar", "train"), ("a/val_3.tar", "val"), ("Test.parquet", "test"), ("contest-1.tar", "train")],
)
def test_a_shards_path_names_its_split(path, split):
    assert split_of(path) == split


def test_parquet_takes_binary_columns_and_leaves_unlabelled_shards_out(tmp_path):
    root = tmp_path / "set"
    root.mkdir()
    for split, labels in (("train", ["b", "a"]), ("validation", ["a", "b"])):
        pq.write_table(pa.table({"image": [photo(0), photo(1)], "label": labels}), root / f"{split}-0.parquet")
    pq.write_table(pa.table({"image": [photo(2)], "label": [-1]}), root / "test-0.parquet")
    index = find_index(root)
    assert index.classes == ("a", "b")
    assert index.labels.tolist() == [1, 0, 0, 1]
    assert index.split("test").tolist() == [2, 3]
    assert index.reader(1).read("train-0.parquet", 0, 1, 1) == photo(1)


def tar(*members):
    return lambda root: write_tar(root / "train-0.tar", members)


def parquet(**columns):
    return lambda root: pq.write_table(pa.table(columns), root / "train-0.parquet")


def cut_short(root):
    tar(("1.png", b"x" * 2000), ("1.cls", b"1"))(root)
    (root / "train-0.tar").write_bytes((root / "train-0.tar").read_bytes()[:1500])


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda root: None, "no labelled image in"),
        (lambda root: (root / "cat").mkdir(), "no labelled image in"),
        (tar(("1.png", b"x")), r"train-0.tar has no label .* for '1'"),
        (tar(("1.png", b"x"), ("1.json", b'{"caption": "a cat"}')), "has no label"),
        (tar(("1.png", b"x"), ("1.jpg", b"x"), ("1.cls", b"1")), "has two images for the sample '1'"),
        (tar(("1.png", b"x"), ("1.json", b"{")), "train-0.tar is damaged"),
        (cut_short, "train-0.tar is damaged"),
        (tar(("1.png", b""), ("1.cls", b"1")), "1 images in .* are empty, the first in train-0.tar"),
        (
            lambda root: write_folder(root, "train", [(b"x", 0)], 1) or write_folder(root, "val", [(b"x", 1)], 1),
            "has 1 classes without training images, the first 'dog'",
        ),
        (lambda root: (root / "train-0.parquet").write_bytes(b"PAR1"), "train-0.parquet is damaged"),
        (parquet(image=[b"x"], target=[1]), r"needs a column of \['label', 'fine_label'\], got \['image', 'target'\]"),
        (parquet(image=["x"], label=[1]), "column 'image' must hold bytes"),
        (parquet(image=[b"x", b"y"], label=[1, None]), "has no label in row 1"),
    ],
)
def test_a_folder_that_cannot_be_used_is_told(tmp_path, write, message):
    root = tmp_path / "set"
    root.mkdir()
    write(root)
    with pytest.raises(ValueError, match=r"upstream\.folder: .*" + message) as error:
        find_index(root)
    assert "\n" not in str(error.value)


def test_no_folder_is_told(tmp_path):
    with pytest.raises(ValueError, match=r"upstream\.folder: must be a folder"):
        find_index(tmp_path / "nothing")


def test_an_index_needs_no_torch():
    code = "import sys, sweeps.data.stream.index; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
