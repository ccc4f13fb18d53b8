"""The index of an image set on disk."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from sweeps.data.datasets import find_dataset
from sweeps.data.image_folder import forget_folders, index_folder
from sweeps.data.stream import index as index_module
from sweeps.data.stream.index import find_index
from sweeps.data.stream.layout import encode_labels, split_of
from sweeps.data.subsets import split_train_val

from .stream_sets import CLASSES, DATASETS, KINDS, photo, write_set, write_tar


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEPS_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_holds_every_image_with_its_label_and_split(tmp_path, kind):
    index = find_index(write_set(tmp_path / "set", kind), DATASETS[kind])
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
    def find():
        forget_folders()  # as another process would
        return find_index(root, DATASETS[kind])

    root = write_set(tmp_path / "set", kind)
    first = find()
    built = []
    write = index_module._write
    monkeypatch.setattr(index_module, "_write", lambda *arguments: built.append(0) or write(*arguments))
    assert find().version == first.version
    assert not built
    write_set(root, kind, num_train=93)
    assert len(find().split("train")) == 93
    assert len(built) == 1
    assert find().version != first.version
    assert len(built) == 1
    # A damaged cache costs only time.
    (cached,) = (tmp_path / "cache" / "indexes").iterdir()
    cached.write_bytes(cached.read_bytes()[:100])
    assert len(find().split("train")) == 93


def test_an_overwritten_image_makes_another_version(tmp_path):
    root = write_set(tmp_path / "set", "folder")
    before = find_index(root, "image-folder").version
    (root / "train" / "cat" / "00000.png").write_bytes(photo(3) + b"x")
    forget_folders()
    assert find_index(root, "image-folder").version != before


def test_a_shard_in_a_folder_that_had_none_is_noticed(tmp_path):
    root = write_set(tmp_path / "set", "tar")
    (root / "more").mkdir()
    assert len(find_index(root, "shards").split("train")) == 90
    write_tar(root / "more" / "train-9.tar", [("x.png", photo(0)), ("x.cls", b"cat")])
    assert len(find_index(root, "shards").split("train")) == 91


def test_a_streamed_folder_is_the_decoded_one(tmp_path):
    """Folders that are no split, archives beside them, classes that are numbers, any kind of image."""
    root = write_set(tmp_path / "set", "folder", num_train=12)
    (root / "extra" / "emu").mkdir(parents=True)
    (root / "extra" / "emu" / "1.png").write_bytes(photo(0))
    write_tar(root / "train.tar", [("x.png", photo(0)), ("x.cls", b"emu")])
    for name in ("10", "9"):
        (root / "train" / name).mkdir()
        Image.new("RGB", (9, 9)).save(root / "train" / name / "1.GIF")
    dataset, index = find_dataset("image-folder", str(root)), find_index(root, "image-folder")
    assert index.classes == index_folder(str(root), "train").classes == ("10", "9", *CLASSES)
    assert (index.version, index.kind) == (dataset.version, "folder")
    for split in ("train", "test"):
        listed, labels = dataset.load(split, None, None)
        rows = index.split(split)
        assert [f"{root}/{index.table['file'][row]}" for row in rows] == list(listed.paths)
        assert np.array_equal(index.labels[rows], labels)
        assert len(rows) == dataset.num_images(split)


def test_shards_are_not_looked_for_where_there_are_images_only(tmp_path):
    with pytest.raises(ValueError, match=r"upstream\.folder: no shards in .*set \(\*\.tar or \*\.parquet\)"):
        find_index(write_set(tmp_path / "set", "folder"), "shards")


@pytest.mark.parametrize("kind", KINDS)
def test_the_version_is_of_the_data_not_of_the_place(tmp_path, kind):
    here, there = (find_index(write_set(tmp_path / name, kind), DATASETS[kind]) for name in "ab")
    assert here.version == there.version
    assert here.path != there.path


def test_subsets_need_labels_only(tmp_path):
    root = write_set(tmp_path / "set", "folder")
    for path in root.rglob("*.png"):
        path.write_bytes(b"no image")
    index = find_index(root, "image-folder")
    labels = index.labels[index.split("train")]
    subset, held_out = split_train_val(labels, num_val=9, num_train=30, seed=0)
    assert np.bincount(labels[subset]).tolist() == [10, 10, 10]
    assert not set(subset) & set(held_out)


def test_a_validation_split_stands_in_for_the_test_split_of_imagenet(tmp_path):
    root = write_set(tmp_path / "set", "tar")
    for shard in root.glob("test-*"):
        shard.rename(root / shard.name.replace("test", "val"))
    index = find_index(root, "shards")
    assert index.split("test").tolist() == index.split("val").tolist()
    assert len(index.split("val")) == 6
    for shard in root.glob("val-*"):
        shard.unlink()
    with pytest.raises(ValueError, match=r"upstream\.folder: .* has no split 'test', only \['train'\]"):
        find_index(root, "shards").split("test")


def test_labels_are_numbered_in_the_order_of_their_values():
    assert encode_labels(["10", "2", "10"])[0] == ("2", "10")
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
    index = find_index(root, "shards")
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
        (lambda root: None, "no shards in"),
        (tar(("1.cls", b"1")), "no labelled image in the shards in"),
        (tar(("1.png", b"x")), r"train-0.tar has no label .* for '1'"),
        (tar(("1.png", b"x"), ("1.json", b'{"caption": "a cat"}')), "has no label"),
        (tar(("1.png", b"x"), ("1.jpg", b"x"), ("1.cls", b"1")), "has two images for the sample '1'"),
        (tar(("1.png", b"x"), ("1.json", b"{")), "train-0.tar is damaged"),
        (cut_short, "train-0.tar is damaged"),
        (tar(("1.png", b""), ("1.cls", b"1")), "1 images in .* are empty, the first in train-0.tar"),
        (
            lambda root: (
                write_tar(root / "val.tar", [("1.png", b"x"), ("1.cls", b"2")])
                or tar(("1.png", b"x"), ("1.cls", b"1"))(root)
            ),
            "has 1 classes without training images, the first '2'",
        ),
        (tar(("1.png", b"x"), ("1.json", b'{"label": [1, 2]}')), r"has no label .* for '1'"),
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
        find_index(root, "shards")
    assert "\n" not in str(error.value)


def test_no_folder_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"upstream\.folder: no folder .*nothing"):
        find_index(tmp_path / "nothing", "shards")


def test_a_label_is_the_same_as_number_and_as_text(tmp_path):
    members = [("1.png", b"x"), ("1.cls", b"3"), ("2.png", b"x"), ("2.json", b'{"label": 3}')]
    write_tar(tmp_path / "train.tar", members)
    write_tar(tmp_path / "val.tar", members[2:])
    index = find_index(tmp_path, "shards")
    assert (index.classes, index.labels.tolist()) == (("3",), [0, 0, 0])


def test_an_index_needs_no_torch():
    code = "import sys, sweeps.data.stream.index; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
