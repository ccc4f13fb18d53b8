"""Sets that are described by looking at a folder or a file."""

import os
import tracemalloc

import numpy as np
import pytest
from PIL import Image

from sweeps.data.array_files import describe_arrays
from sweeps.data.cache import open_split
from sweeps.data.datasets import check_dataset_name, dataset_is_there, find_dataset, task_name, why_missing
from sweeps.data.image_folder import describe_image_folder, forget_folders, index_folder

CLASSES = ("cat", "dog", "eel")


@pytest.fixture(autouse=True)
def forget(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEPS_CACHE_DIR", str(tmp_path / "cache"))
    forget_folders()
    describe_arrays.cache_clear()


def write_photos(folder, split="train", classes=CLASSES, per_class=3, size=(20, 14)):
    for value, name in enumerate(classes):
        place = folder / split / name
        place.mkdir(parents=True)
        for i in range(per_class):
            Image.new("RGB", size, (40 * value, 10 * i, 7)).save(place / f"{i}.{'png' if i % 2 else 'JPEG'}")


@pytest.fixture
def photos(tmp_path):
    write_photos(tmp_path / "pets")
    write_photos(tmp_path / "pets", "val", per_class=2)
    return tmp_path / "pets"


def again(folder):
    forget_folders()
    return describe_image_folder(str(folder))


def test_a_folder_is_described_by_its_files(photos):
    for dataset in (find_dataset("image-folder", str(photos)), find_dataset(f"image-folder:{photos}")):
        assert (dataset.name, dataset.num_classes, dataset.num_train, dataset.num_test) == ("pets", 3, 9, 6)
        assert dataset.image_size == 14
    assert task_name(f"image-folder:{photos}/") == task_name("image-folder", str(photos)) == "pets"


def test_its_images_are_decoded_with_the_labels_of_their_folders(photos):
    pixels, labels = open_split(find_dataset(f"image-folder:{photos}"), "train", 14)
    assert labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert pixels[:, 0, 0, 0] == pytest.approx(40 * labels, abs=3)  # JPEG
    assert len(open_split(find_dataset("image-folder", str(photos)), "test", 14, num_images=4)[1]) == 4


def test_the_version_is_that_of_the_content_and_not_of_the_place(photos, tmp_path):
    before = again(photos).version
    os.rename(photos, tmp_path / "moved")
    assert again(tmp_path / "moved").version == before
    (tmp_path / "moved" / "train" / "cat" / "notes.txt").write_text("not an image")
    assert again(tmp_path / "moved").version == before
    os.rename(tmp_path / "moved" / "train" / "cat" / "0.JPEG", tmp_path / "moved" / "train" / "cat" / "9.JPEG")
    renamed = again(tmp_path / "moved").version
    with open(tmp_path / "moved" / "val" / "cat" / "0.JPEG", "ab") as file:
        file.write(b"x")
    assert len({before, renamed, again(tmp_path / "moved").version}) == 3


def test_a_test_part_may_lack_a_class_and_not_have_one_more(photos):
    for path in (photos / "val" / "cat").iterdir():
        path.unlink()
    (photos / "val" / "cat").rmdir()
    assert index_folder(str(photos), "test").labels.tolist() == [1, 1, 2, 2]
    os.rename(photos / "val" / "dog", photos / "val" / "emu")
    with pytest.raises(ValueError, match=r"upstream.folder: .*val has classes that .*train lacks: emu"):
        again(photos)


@pytest.mark.parametrize(
    ("break_it", "error", "message"),
    [
        (lambda p: os.rename(p / "val", p / "later"), FileNotFoundError, "has no folder 'test' or 'val' or"),
        (lambda p: os.rename(p / "train", p / "later"), FileNotFoundError, "has no folder 'train' of class folders"),
        (lambda p: os.rename(p, p.parent / "later"), FileNotFoundError, "upstream.folder: no folder .*pets"),
        (lambda p: (p / "train" / "ant").mkdir(), ValueError, r"1 class folders of .*train hold no images: ant"),
        (lambda p: (p / "train" / "dog" / "8.jpg").touch(), ValueError, r"1 image files of .* are empty: dog/8.jpg"),
    ],
)
def test_a_folder_that_is_no_set_is_told(photos, break_it, error, message):
    break_it(photos)
    with pytest.raises(error, match=message):
        again(photos)


def test_a_folder_without_class_folders_is_told(tmp_path):
    (tmp_path / "train").mkdir()
    with pytest.raises(ValueError, match=r"upstream.folder: .*train holds no class folders with images \(.jpg,"):
        again(tmp_path)


def test_names_of_sets():
    assert check_dataset_name("image-folder:/nowhere") == "image-folder:/nowhere"
    for name in ("image-folder:", "arrays:", "digits:x", "foo:/x", ""):
        with pytest.raises(ValueError, match=r"data set must be one of .* with a folder, got"):
            check_dataset_name(name)
    with pytest.raises(ValueError, match=r"upstream.folder: dataset 'image-folder' needs the folder"):
        find_dataset("image-folder")


def test_whether_data_are_there(photos, monkeypatch, tmp_path):
    monkeypatch.setenv("SWEEPS_DATA_DIR", str(tmp_path / "data"))
    assert dataset_is_there("digits")
    assert dataset_is_there(f"image-folder:{photos}")
    assert not dataset_is_there("image-folder:/nowhere")
    assert why_missing("image-folder:/nowhere") == "downstream.tasks: no folder /nowhere"
    assert "SWEEPS_DOWNLOAD=1 downloads it" in (why_missing("cifar10") or "")
    assert "fetched by hand" in (why_missing("imagenet") or "")


# Arrays -------------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (12, 5, 5), dtype=np.uint8)
RGB = RNG.integers(0, 256, (12, 5, 5, 3), dtype=np.uint8)
LABELS = np.arange(12) % 4


def write_arrays(path, train=RGB, labels=LABELS, names=("train_images", "train_labels", "test_images", "test_labels")):
    arrays = dict(zip(names, (train, labels, RGB[:4], np.asarray(labels)[:4]), strict=True))
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    else:
        path.mkdir()
        for name, array in arrays.items():
            np.save(path / f"{name}.npy", array)
    return str(path)


@pytest.mark.parametrize("file", ["x.npz", "x"])
@pytest.mark.parametrize("names", [None, ("x_train", "y_train", "x_test", "y_test")])
def test_arrays_are_found_by_their_usual_names(tmp_path, file, names):
    path = write_arrays(tmp_path / file, **({"names": names} if names else {}))
    dataset = find_dataset(f"arrays:{path}")
    assert (dataset.name, dataset.num_classes, dataset.image_size) == ("x", 4, 5)
    assert (dataset.num_train, dataset.num_test) == (12, 4)
    pixels, labels = open_split(dataset, "train", 5)
    assert np.array_equal(pixels, RGB)
    assert np.array_equal(labels, LABELS)
    assert len(open_split(dataset, "test", 5, 3)[0]) == 3


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        (GREY, GREY), (GREY[..., None], GREY), (GREY[:, None], GREY), (RGB.transpose(0, 3, 1, 2), RGB),
        (np.concatenate([RGB, RGB[..., :1]], axis=3), RGB), (RGB / 255, RGB), (RGB.astype(np.int64), RGB),
        (RGB.astype(np.uint16) * 257, RGB), (RGB.astype(np.uint16), RGB), (np.asfortranarray(RGB), RGB),
        (GREY > 100, 255 * (GREY > 100)),
    ],
)  # fmt: skip
def test_kinds_of_images(tmp_path, images, expected):
    dataset = find_dataset("arrays", write_arrays(tmp_path / "x.npz", images))
    pixels, _ = open_split(dataset, "train", 5)
    assert np.array_equal(pixels, expected if expected.ndim == 4 else np.stack([expected] * 3, axis=3))


@pytest.mark.parametrize(
    "labels", [LABELS[:, None], 7 * LABELS - 3, np.array(list("abcd"))[LABELS], LABELS.astype(float), LABELS % 2 == 0]
)
def test_labels_of_any_kind_are_numbered_in_sorted_order(tmp_path, labels):
    dataset = find_dataset("arrays", write_arrays(tmp_path / "x.npz", labels=labels))
    expected = np.unique(labels.reshape(-1), return_inverse=True)[1]
    assert np.array_equal(open_split(dataset, "train", 5)[1], expected)
    assert dataset.num_classes == expected.max() + 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": LABELS + 0.5}, "train labels of .* must be one whole number or text an image, got float64"),
        ({"labels": np.eye(12)}, r"must be one whole number or text an image, got float64 of shape \(12, 12\)"),
        ({"labels": np.full(12, np.nan)}, "must be one whole number"),
        ({"labels": LABELS[:9]}, "has 12 train images but 9 labels"),
        ({"train": RGB.astype(float)}, r"must be whole numbers from 0 to 255 or fractions from 0 to 1, got float64"),
        ({"train": GREY[0], "labels": LABELS[:5]}, r"must be \(n, height, width\) or .*, got shape \(5, 5\)"),
        ({"train": RNG.random((12, 5, 5, 7))}, r"got shape \(12, 5, 5, 7\)"),
    ],
)
def test_arrays_that_are_no_set_are_told(tmp_path, changes, message):
    path = write_arrays(tmp_path / "x.npz", **changes)
    with pytest.raises(ValueError, match=f"upstream.folder: .*{message}"):
        find_dataset("arrays", path)


def test_test_labels_that_training_lacks_are_told(tmp_path):
    np.savez(tmp_path / "x.npz", x_train=RGB, y_train=LABELS, x_test=RGB, y_test=LABELS + 2)
    with pytest.raises(ValueError, match=r"has test labels that no training image has: \[4, 5\]"):
        find_dataset("arrays", str(tmp_path / "x.npz"))


@pytest.mark.parametrize("content", [b"", b"no npz", None])
def test_damaged_files_are_named(tmp_path, content):
    path = tmp_path / "x.npz"
    write_arrays(path)
    path.write_bytes(path.read_bytes()[:-300] if content is None else content)
    with pytest.raises(ValueError, match=r"downstream.tasks: .*x.npz cannot be read"):
        find_dataset(f"arrays:{path}")


def test_missing_arrays_are_named(tmp_path):
    np.savez(tmp_path / "x.npz", pictures=RGB)
    with pytest.raises(FileNotFoundError, match=r"lacks train_images and train_labels or .*; it has \['pictures'\]"):
        find_dataset("arrays", str(tmp_path / "x.npz"))
    with pytest.raises(FileNotFoundError, match=r"no file or folder .*y.npz"):
        find_dataset("arrays", str(tmp_path / "y.npz"))


@pytest.mark.parametrize("file", ["x.npz", "x"])
def test_a_changed_pixel_is_another_version(tmp_path, file):
    versions = []
    for i, name in enumerate("abc"):
        (tmp_path / name).mkdir()
        changed = RGB.copy()
        changed[3, 2, 1, 0] ^= i == 2
        versions.append(describe_arrays(write_arrays(tmp_path / name / file, changed)).version)
    assert versions[0] == versions[1] != versions[2]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_npz_file_is_described_without_reading_its_images(tmp_path, save):
    many = np.zeros((4000, 32, 32, 3), np.uint8)  # 12 MB
    save(tmp_path / "x.npz", x_train=many, y_train=np.arange(4000) % 4, x_test=many[:4], y_test=LABELS[:4])
    tracemalloc.start()
    dataset = describe_arrays(str(tmp_path / "x.npz"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (dataset.num_train, dataset.num_classes, dataset.image_size) == (4000, 4, 32)
    assert peak < 2e6
