"""Each set of torchvision, read from a few images in its real layout."""

import json
import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torchvision.datasets as tv
from PIL import Image
from scipy.io import savemat

from sweeps.data.cache import open_split
from sweeps.data.datasets import DATASETS
from sweeps.data.image_folder import forget_folders
from sweeps.data.suites import STAND_INS, VTAB, expand_tasks
from sweeps.data.torchvision_readers import kitti_distance_class, seeded_split
from sweeps.data.torchvision_sets import TORCHVISION_SETS

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """The data folder. Checksums of whole archives cannot be right for a few images."""
    monkeypatch.setenv("SWEEPS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("SWEEPS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("SWEEPS_DOWNLOAD", raising=False)
    for module in (tv.cifar, tv.svhn, tv.stl10, tv.flowers102, tv.places365):
        monkeypatch.setattr(module, "check_integrity", lambda path, md5=None: True)
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def photo(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (30, 20), (value, 0, 0)).save(path)


def lines(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{row}\n" for row in rows))


def write_cifar(root, name):
    folder = root / ("cifar-10-batches-py" if name == "cifar10" else "cifar-100-python")
    folder.mkdir()
    key, num_files = ("labels", 5) if name == "cifar10" else ("fine_labels", 1)
    train = [f"data_batch_{i}" for i in range(1, 6)] if num_files == 5 else ["train"]
    test = ["test_batch"] if num_files == 5 else ["test"]
    for start, file in enumerate([*train, *test]):
        batch = {"data": np.full((4, 3072), start, np.uint8), key: [start % 10] * 4}
        (folder / file).write_bytes(pickle.dumps(batch))
    meta = {"label_names": list("abcdefghij"), "fine_label_names": list("abcdefghij")}
    (folder / ("batches.meta" if name == "cifar10" else "meta")).write_bytes(pickle.dumps(meta))
    expected = [i for i in range(len(train)) for _ in range(4)]
    return expected, [len(train)] * 4, lambda value: value


def write_svhn(root):
    for split, values in (("train", [10, 1, 2]), ("test", [3, 10])):
        images = np.zeros((32, 32, 3, len(values)), np.uint8) + np.array(values, np.uint8)
        savemat(root / f"{split}_32x32.mat", {"X": images, "y": np.array(values)[:, None]})
    return [10, 1, 2], [3, 10], lambda value: value % 10  # the file's 10 is the digit 0


def write_stl10(root):
    folder = root / "stl10_binary"
    folder.mkdir()
    lines(folder / "class_names.txt", *"abcdefghij")
    for split, values in (("train", [1, 9, 4]), ("test", [2])):
        np.repeat(np.array(values, np.uint8), 3 * 96 * 96).tofile(folder / f"{split}_X.bin")
        np.array(values, np.uint8).tofile(folder / f"{split}_y.bin")
    return [1, 9, 4], [2], lambda value: value - 1


def write_flowers(root):
    folder = root / "flowers-102"
    for i in range(1, 7):
        photo(folder / "jpg" / f"image_{i:05d}.jpg", 10 * i)
    savemat(folder / "imagelabels.mat", {"labels": np.arange(1, 7)})
    savemat(folder / "setid.mat", {"trnid": [2, 4], "valid": [1, 3], "tstid": [5, 6]})
    return [20, 40, 10, 30], [50, 60], lambda value: value // 10 - 1


def write_dtd(root):
    folder = root / "dtd" / "dtd"
    for i, name in enumerate(("banded", "dotted", "woven")):
        for j in range(3):
            photo(folder / "images" / name / f"{j}.jpg", 60 * i + 20 * j)
    for j, split in enumerate(("train", "val", "test")):
        lines(folder / "labels" / f"{split}1.txt", *(f"{name}/{j}.jpg" for name in ("banded", "dotted", "woven")))
    return [0, 60, 120, 20, 80, 140], [40, 100, 160], lambda value: value // 60


def write_pets(root):
    folder = root / "oxford-iiit-pet"
    for i in range(6):
        photo(folder / "images" / f"Race_{i % 3}_{i}.jpg", 10 * i)
    row = "Race_{0}_{1} {2} 1 1"
    lines(folder / "annotations" / "trainval.txt", *(row.format(i % 3, i, i % 3 + 1) for i in (0, 1, 2, 3)))
    lines(folder / "annotations" / "test.txt", *(row.format(i % 3, i, i % 3 + 1) for i in (4, 5)))
    return [0, 10, 20, 30], [40, 50], lambda value: value // 10 % 3


def write_food(root):
    for name, first in (("apple", 0), ("bread", 100)):
        for j in range(3):
            photo(root / "food-101" / "images" / name / f"{j}.jpg", first + 20 * j)
    for split, rows in (("train", (0, 1)), ("test", (2,))):
        listed = {name: [f"{name}/{j}" for j in rows] for name in ("apple", "bread")}
        lines(root / "food-101" / "meta" / f"{split}.json", json.dumps(listed))
    return [0, 20, 100, 120], [40, 140], lambda value: value // 100


def write_aircraft(root):
    data = root / "fgvc-aircraft-2013b" / "data"
    lines(data / "variants.txt", "A 320", "Boeing 747")
    for i in range(5):
        photo(data / "images" / f"{i}.jpg", 40 * i)
    lines(data / "images_variant_trainval.txt", "0 A 320", "1 Boeing 747", "2 A 320")
    lines(data / "images_variant_test.txt", "3 Boeing 747", "4 A 320")
    return [0, 40, 80], [120, 160], lambda value: value // 40 % 2


def write_cars(root):
    folder = root / "stanford_cars"
    annotation = np.dtype([("fname", "O"), ("class", "O")])
    for split, file, values in (
        ("train", folder / "devkit" / "cars_train_annos.mat", [20, 40, 60]),
        ("test", folder / "cars_test_annos_withlabels.mat", [80, 100]),
    ):
        for value in values:
            photo(folder / f"cars_{split}" / f"{value}.jpg", value)
        (folder / "devkit").mkdir(exist_ok=True)
        savemat(file, {"annotations": np.array([(f"{v}.jpg", v // 20) for v in values], annotation)})
    savemat(folder / "devkit" / "cars_meta.mat", {"class_names": np.array(list("abcde"), object)})
    return [20, 40, 60], [80, 100], lambda value: value // 20 - 1


def write_clevr(root):
    folder = root / "clevr" / "CLEVR_v1.0"
    for split, values in (("train", [3, 10, 5]), ("val", [4, 7])):
        scenes = []
        for value in values:
            photo(folder / "images" / split / f"{value:03d}.png", 20 * value)
            scenes.append({"image_filename": f"{value:03d}.png", "objects": [{}] * value})
        lines(folder / "scenes" / f"CLEVR_{split}_scenes.json", json.dumps({"scenes": scenes}))
    return [60, 100, 200], [80, 140], lambda value: value // 20 - 3


def write_places(root):
    lines(root / "categories_places365.txt", "/a/abbey 0", "/b/bar 1")
    for file, folder, rows in (
        ("train_standard", "data_256_standard", [(10, 0), (30, 1)]),
        ("val", "val_256", [(60, 1)]),
    ):
        lines(root / f"places365_{file}.txt", *(f"/{value}.jpg {label}" for value, label in rows))
        for value, _ in rows:
            photo(root / folder / f"{value}.jpg", value)
    return [10, 30], [60], lambda value: int(value >= 20)


def write_imagenet(root):
    for split, values in (("train", [10, 20, 110]), ("val", [30, 130])):
        for value in values:
            photo(root / "imagenet" / split / f"n{value // 100:08d}" / f"{value}.JPEG", value)
    return [10, 20, 110], [30, 130], lambda value: value // 100


WRITERS = {
    "cifar10": lambda root: write_cifar(root, "cifar10"), "cifar100": lambda root: write_cifar(root, "cifar100"),
    "svhn": write_svhn, "stl10": write_stl10, "flowers102": write_flowers, "dtd": write_dtd, "pets": write_pets,
    "food101": write_food, "fgvc-aircraft": write_aircraft, "cars": write_cars, "clevr-count": write_clevr,
    "places365": write_places, "imagenet": write_imagenet,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(WRITERS))
@pytest.mark.parametrize("inside", [False, True])
def test_the_splits_hold_the_images_and_labels_of_their_files(root, name, inside, monkeypatch):
    forget_folders()
    if inside:  # a folder of the set's own
        (root / name).mkdir()
    *splits, label_of = WRITERS[name](root / name if inside and name != "imagenet" else root)
    row = replace(DATASETS[name], num_train=len(splits[0]), num_test=len(splits[1]))
    for split, values in zip(("train", "test"), splits, strict=True):
        pixels, labels = open_split(row, split, 16)
        assert labels.tolist() == [label_of(value) for value in values]
        assert pixels[:, 8, 8, 0] == pytest.approx(np.array(values), abs=3)  # JPEG


def test_eurosat_is_split_the_same_however_the_disk_lists_it(root, monkeypatch):
    for value in range(40):
        photo(root / "eurosat" / "2750" / f"class{value % 4}" / f"{value}.jpg", value)
    monkeypatch.setattr("sweeps.data.torchvision_readers._NUM_TEST", {"eurosat": 10})
    train, test = (DATASETS["eurosat"].load(split, None, str(root)) for split in ("train", "test"))
    assert (len(train[0]), len(test[0])) == (30, 10)
    assert len({*train[0].paths, *test[0].paths}) == 40
    for photos, labels in (train, test):
        assert [int(Path(path).stem) % 4 for path in photos.paths] == labels.tolist()


def test_sun397_and_its_labels(root, monkeypatch):
    lines(root / "SUN397" / "ClassName.txt", "/a/abbey", "/b/bar/indoor")
    for i in range(10):
        photo(root / "SUN397" / ("a/abbey" if i % 2 else "b/bar/indoor") / f"sun_{i}.jpg", i)
    monkeypatch.setattr("sweeps.data.torchvision_readers._NUM_TEST", {"sun397": 3})
    for split, n in (("train", 7), ("test", 3)):
        photos, labels = DATASETS["sun397"].load(split, None, str(root))
        assert len(photos) == n
        assert [int("bar" in path) for path in photos.paths] == labels.tolist()


def test_caltech101_trains_on_thirty_a_class(root):
    folder = root / "caltech101" / "101_ObjectCategories"
    for name, count in (("BACKGROUND_Google", 3), ("ant", 40), ("bass", 33), ("crab", 31)):
        for i in range(1, count + 1):
            photo(folder / name / f"image_{i:04d}.jpg", i)
    train, test = (DATASETS["caltech101"].load(split, None, str(root)) for split in ("train", "test"))
    assert Counter(train[1].tolist()) == {0: 30, 1: 30, 2: 30}
    assert Counter(test[1].tolist()) == {0: 10, 1: 3, 2: 1}
    assert not set(train[0].paths) & set(test[0].paths)


def test_kitti_is_labelled_by_the_nearest_vehicle(root, monkeypatch):
    monkeypatch.setattr("sweeps.data.torchvision_readers._NUM_TEST", {"kitti": 1})
    raw = root / "Kitti" / "raw" / "training"
    rest = "0 0 0 0 0 0 0 1 1 1 {x} 1.5 {z} 0"
    for i, z in enumerate((5.0, 12.0, 50.0)):
        photo(raw / "image_2" / f"{i}.png", i)
        lines(raw / "label_2" / f"{i}.txt", "Pedestrian " + rest.format(x=0, z=1), "Van " + rest.format(x=9, z=z))
    photo(raw / "image_2" / "3.png", 3)
    lines(raw / "label_2" / "3.txt", "Tram " + rest.format(x=0, z=3))
    labels = {}
    for split in ("train", "test"):
        photos, of_split = DATASETS["kitti"].load(split, None, str(root))
        labels |= {int(Path(path).stem): label for path, label in zip(photos.paths, of_split, strict=True)}
    assert labels == {0: 0, 1: 1, 2: 2, 3: 3}


@pytest.mark.parametrize(("z", "expected"), [(-3, 0), (7.9, 0), (8.1, 1), (19.9, 1), (20.1, 2), (998, 2)])
def test_distances_in_classes(z, expected):
    assert kitti_distance_class([{"type": "Car", "location": [0, 0, z]}]) == expected


def test_a_seeded_split_parts_the_images():
    labels = RNG.integers(0, 5, 200)
    for rule in ({"num_test": 50}, {"per_class": 10}):
        train, test = (seeded_split(labels, split, **rule) for split in ("train", "test"))
        assert sorted([*train, *test]) == list(range(200))
        assert len(train) == (150 if "num_test" in rule else 50)
        assert np.array_equal(train, seeded_split(labels, "train", **rule))


@pytest.mark.parametrize("row", TORCHVISION_SETS, ids=lambda row: row.name)
def test_what_is_not_there_is_told_with_where_it_was_looked_for(row, root):
    with pytest.raises(
        FileNotFoundError, match=rf"data set '{row.name}' is not there: no .* in {root}.*SWEEPS_DATA_DIR"
    ):
        open_split(row, "train", 16)
    with pytest.raises(FileNotFoundError, match=r"in /nowhere \(upstream.folder\)"):
        row.load("train", None, "/nowhere")


def test_a_set_of_another_size_than_published_is_refused(root):
    write_stl10(root)
    with pytest.raises(ValueError, match="stl10: 5000 train images are expected, and there are 3"):
        open_split(DATASETS["stl10"], "train", 16)


# Suites -------------------------------------------------------------------------------------------------------


def test_the_suite_takes_what_is_there_and_names_the_rest(root):
    (root / "svhn").mkdir()
    write_svhn(root / "svhn")
    for split in ("train", "test"):
        photo(root / "resisc45" / split / "airport" / "1.jpg", 3)
    tasks, missing = expand_tasks(["shapes", "vtab-like", "svhn"])
    assert tasks[0] == "shapes"
    assert len(set(tasks)) == len(tasks)
    assert {"svhn", "digits", "count", f"image-folder:{root / 'resisc45'}"} <= set(tasks)
    assert "shuffled_labels" not in tasks
    assert f"vtab-like: no pets (natural) in {root}" in missing
    assert f"vtab-like: no dmlab (structured) in {root}" in missing
    names = [name for groups in (VTAB, STAND_INS) for group in groups.values() for name in group]
    assert len(names) == len(tasks) + len(missing)


def test_vtab_has_its_nineteen_tasks():
    assert {group: len(names) for group, names in VTAB.items()} == {"natural": 7, "specialised": 4, "structured": 8}
