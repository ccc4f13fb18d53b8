import errno
import fcntl
import json
import multiprocessing
import os
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from sweeps.data import cache, decode_all
from sweeps.data.cache import CacheWarning, open_split, verify_cache
from sweeps.data.images import Images
from sweeps.data.rows import DataSet, Photos

PIXELS = np.random.default_rng(0).integers(0, 256, (10, 6, 6, 3), dtype=np.uint8)
LABELS = np.arange(10) % 3


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEPS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def loads():
    return []


@pytest.fixture
def dataset(loads):
    def load(split, num_images, folder):
        loads.append(split)
        return PIXELS[:num_images], LABELS[:num_images]

    return DataSet("ten", 3, 6, 10, 10, load, "v1")


def files(folder, suffix):
    return sorted(folder.rglob(f"*{suffix}"))


def test_what_is_loaded_is_what_is_opened_and_it_is_decoded_once(dataset, loads, folder):
    for _ in range(2):
        pixels, labels = open_split(dataset, "train", 6)
        assert np.array_equal(pixels, PIXELS)
        assert np.array_equal(labels, LABELS)
    assert loads == ["train"]
    assert open_split(dataset, "train", 6, num_images=4)[0].shape == (4, 6, 6, 3)
    assert loads == ["train"]
    assert np.array_equal(np.load(files(folder, "px.npy")[0]), PIXELS)  # a plain npy file


def test_size_split_version_and_number_of_a_generated_set_have_files_of_their_own(dataset, loads):
    for split, size, n in (("train", 6, None), ("test", 6, None), ("train", 8, None)):
        open_split(dataset, split, size, n)
    open_split(replace(dataset, version="v2"), "train", 6)
    for n in (4, 5):
        assert len(open_split(replace(dataset, name="made", generated=True), "train", 6, n)[0]) == n
    assert len(loads) == 6


def test_torch_takes_the_map_without_a_warning_and_a_write_stays_in_memory(dataset):
    pixels, labels = open_split(dataset, "train", 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tensor = torch.from_numpy(pixels)
        torch.from_numpy(labels)
    assert tensor.data_ptr() == pixels.ctypes.data
    tensor[0] = 0
    assert np.array_equal(open_split(dataset, "train", 6)[0], PIXELS)


@pytest.mark.parametrize("damage", ["cut pixels", "no pixels", "cut labels", "no shape", "not json"])
def test_damage_that_shows_in_sizes_is_mended_with_a_warning(dataset, loads, folder, damage):
    open_split(dataset, "train", 6)
    pixels, labels, facts = (files(folder, end)[0] for end in ("px.npy", "labels.npy", ".json"))
    if damage == "no pixels":
        pixels.unlink()
    elif damage == "no shape":
        facts.write_text(json.dumps({k: v for k, v in json.loads(facts.read_text()).items() if k != "shape"}))
    elif damage == "not json":
        facts.write_text("{")
    else:
        path = pixels if damage == "cut pixels" else labels
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(CacheWarning, match="is damaged and is made anew"):
        assert np.array_equal(open_split(dataset, "train", 6)[0], PIXELS)
    assert loads == ["train", "train"]
    assert verify_cache() == []


def test_a_changed_byte_is_found_on_demand(dataset, loads, folder):
    open_split(dataset, "train", 6)
    path = files(folder, "px.npy")[0]
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.warns(CacheWarning, match="train-6px.npy is damaged"):
        assert verify_cache() == [path]
    assert np.array_equal(open_split(dataset, "train", 6)[0], PIXELS)
    assert len(loads) == 2


def test_a_decoding_that_fails_leaves_nothing(folder):
    def load(split, num_images, place):
        return Photos(["/nowhere.png"]), np.zeros(1, np.int64)

    with pytest.raises(ValueError, match=r"1 of 1 image files cannot be decoded: /nowhere.png \(.*No such file"):
        open_split(DataSet("bad", 1, 6, 1, 1, load, "v1"), "train", 6)
    assert not [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]


def test_all_files_that_cannot_be_decoded_are_counted(tmp_path):
    paths = []
    for i in range(1100):  # more than two pieces
        paths.append(str(tmp_path / f"{i:04d}.png"))
        if i % 300 == 7:
            (tmp_path / f"{i:04d}.png").write_bytes(b"no image")
        elif i < 2:
            Image.new("L", (5, 5)).save(paths[-1])
        else:
            os.link(tmp_path / "0000.png", paths[-1])
    dataset = DataSet("bad", 1, 5, 1100, 1, lambda *_: (Photos(paths), np.zeros(1100, np.int64)), "v1")
    with pytest.raises(ValueError, match=r"4 of 1100 .*: .*0007.png \(.*\); .*0307.png \(.*\); .*0607.png [^;]*$"):
        open_split(dataset, "train", 5)


def test_photographs_keep_their_order(tmp_path):
    values = np.random.default_rng(0).permutation(200)
    for i, value in enumerate(values):
        Image.new("L", (4, 4), int(value)).save(tmp_path / f"{i}.png")
    photos = Photos([str(tmp_path / f"{i}.png") for i in range(200)])
    dataset = DataSet("photos", 1, 4, 200, 1, lambda *_: (photos, np.zeros(200, np.int64)), "v1")
    assert open_split(dataset, "train", 4)[0][:, 0, 0, 0].tolist() == values.tolist()


def test_fewer_images_than_the_row_says_are_refused(dataset):
    with pytest.raises(ValueError, match="ten: 11 train images are expected, and there are 10"):
        open_split(replace(dataset, num_train=11), "train", 6)


def test_no_room_is_told_before_decoding(dataset, monkeypatch):
    monkeypatch.setattr(cache.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 1079}))
    with pytest.raises(OSError, match=r"no room for decoded images in .*: 1,080 bytes are needed and 1,079 are free"):
        open_split(dataset, "train", 6)


def test_a_disk_that_fills_on_the_way_is_one_clear_line_and_leaves_nothing(dataset, monkeypatch, folder):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(decode_all, "fit_arrays", full)
    with pytest.raises(OSError, match=r"no room for decoded images in .*: the disk is full; SWEEPS_CACHE_DIR"):
        open_split(dataset, "train", 6)
    assert not files(folder, ".npy")
    assert not files(folder, ".tmp")


def _hold_and_die(path):
    file = open(path, "w")  # noqa: SIM115
    fcntl.flock(file, fcntl.LOCK_EX)
    os._exit(1)


def _open_and_count(out):
    def load(split, num_images, folder):
        with open(out, "a") as file:
            file.write("x")
        return PIXELS, LABELS

    pixels, _ = open_split(DataSet("ten", 3, 6, 10, 10, load, "v1"), "train", 6)
    assert np.array_equal(pixels, PIXELS)


def test_a_dead_holder_of_the_lock_does_not_block(dataset, folder):
    open_split(dataset, "train", 6)
    (lock,) = files(folder, ".lock")
    files(folder, ".json")[0].unlink()
    process = multiprocessing.get_context("fork").Process(target=_hold_and_die, args=(lock,))
    process.start()
    process.join()
    assert np.array_equal(open_split(dataset, "train", 6)[0], PIXELS)


def test_what_a_killed_process_left_is_cleared_away(dataset, folder):
    open_split(dataset, "train", 6)
    files(folder, ".json")[0].unlink()
    left = files(folder, "px.npy")[0].with_name("train-6px.npy.123.tmp")
    left.write_bytes(b"half")
    open_split(dataset, "train", 6)
    assert not left.exists()


def test_of_several_processes_one_decodes(tmp_path):
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=_open_and_count, args=(tmp_path / "count",)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert (tmp_path / "count").read_text() == "x"


@pytest.mark.parametrize("rows", [[3, 1, 1], [0, 1, 2], [], range(10)])
def test_taking_rows_is_indexing(rows):
    images = Images(torch.from_numpy(PIXELS), torch.from_numpy(LABELS))
    taken = images.take(np.array(rows, np.int64))
    assert np.array_equal(taken.pixels, PIXELS[np.array(rows, np.int64)])
    assert np.array_equal(taken.labels, LABELS[np.array(rows, np.int64)])
