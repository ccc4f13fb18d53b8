import io
import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scipy.fft import dct
from sklearn.datasets import load_sample_images

from sweeps.data import duplicates, phash
from sweeps.data.array_files import describe_arrays
from sweeps.data.decode import fit_photo
from sweeps.data.duplicates import duplicate_rows, find_duplicates, upstream_duplicates
from sweeps.data.fashion_mnist import DEBIAN_FOLDER
from sweeps.data.images import load_images
from sweeps.data.kept import kept_rows
from sweeps.data.phash import hash_images, near_pairs
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec

from ..conftest import changed

RNG = np.random.default_rng(0)
NOISE = RNG.integers(0, 256, (300, 32, 32, 3), dtype=np.uint8)


def photos(n):
    """Parts of two photographs, of many sizes."""
    rng = np.random.default_rng(1)
    whole = [Image.fromarray(image) for image in load_sample_images().images]
    for i in range(n):
        side = int(rng.integers(64, 300))
        left, top = int(rng.integers(0, 640 - side)), int(rng.integers(0, 427 - side))
        yield whole[i % 2].crop((left, top, left + side, top + side))


def recompressed(photo):
    buffer = io.BytesIO()
    photo.save(buffer, "JPEG", quality=75)
    return Image.open(buffer)


def small(images):
    return np.stack([fit_photo(image, 32) for image in images])


# Hashes -------------------------------------------------------------------------------------------------------


def test_the_hash_is_that_of_the_definition_one_by_one():
    """As imagehash writes it: rows and columns transformed in turn, bits from the top left, row by row."""
    for image, ours in zip(NOISE[:20], hash_images(NOISE[:20]), strict=True):
        grey = image.astype(float) @ [0.299, 0.587, 0.114]
        low = dct(dct(grey, axis=0), axis=1)[:8, :8]
        bits = "".join("1" if value > np.median(low) else "0" for value in low.ravel())
        assert f"{int(ours):064b}" == bits


@given(
    seed=st.integers(0, 1000), n=st.integers(0, 12), m=st.integers(0, 12), max_bits=st.integers(0, 7),
    spread=st.integers(1, 10),
)  # fmt: skip
def test_all_near_pairs_are_found(seed, n, m, max_bits, spread):
    rng = np.random.default_rng(seed)
    centre = int(rng.integers(0, 2**63))
    hashes = [centre ^ sum(1 << int(bit) for bit in rng.choice(64, spread, replace=False)) for _ in range(n + m)]
    first, second = (np.array(part, np.uint64) for part in (hashes[:n], hashes[n:]))
    found = {(int(i), int(j)) for pair in near_pairs(first, second, max_bits) for i, j in zip(*pair, strict=True)}
    pairs = product(range(n), range(m))
    assert found == {(i, j) for i, j in pairs if (hashes[i] ^ hashes[n + j]).bit_count() <= max_bits}


def test_pairs_come_in_pieces(monkeypatch):
    monkeypatch.setattr(phash, "_MAX_PAIRS", 7)
    same = np.zeros(6, np.uint64)
    found = {(int(i), int(j)) for pair in near_pairs(same, same[:5], 0) for i, j in zip(*pair, strict=True)}
    assert found == set(product(range(6), range(5)))


def test_more_bits_than_bands_can_find_are_refused():
    for bits in (-1, 8):
        with pytest.raises(ValueError, match=f"max_bits must be from 0 to 7, got {bits}"):
            list(near_pairs(np.zeros(1, np.uint64), np.zeros(1, np.uint64), bits))


# Duplicates ---------------------------------------------------------------------------------------------------


def test_copies_are_found_and_others_are_not():
    train, test = NOISE[:200].copy(), NOISE[190:]
    assert find_duplicates(train, test)[["train", "test"]].values.tolist() == [[190 + i, i] for i in range(10)]
    assert len(find_duplicates(train[:190], test)) == 0
    assert len(find_duplicates(train[:0], test)) == len(find_duplicates(train, test[:0])) == 0


@pytest.mark.parametrize("change", [recompressed, lambda photo: photo.resize((photo.width // 2, photo.height // 2))])
def test_most_compressed_and_resized_photographs_are_found_and_no_others(change):
    originals = list(photos(40))
    table = find_duplicates(small(map(change, originals)), small(originals))
    own = table["train"] == table["test"]
    assert own.sum() >= 36  # 38 and 40; the rest differ in 7 or more bits
    # Parts of one photograph overlap, so that one or two pairs more may be alike.
    assert (~own).sum() <= 2


def test_flat_images_match_only_their_equals():
    """Hashes of flat images are alike, whatever their grey."""
    grey = np.repeat(np.arange(0, 250, 10, dtype=np.uint8), 32 * 32 * 3).reshape(-1, 32, 32, 3)
    faint = (grey[:5].astype(int) + RNG.integers(0, 3, (5, 32, 32, 3))).astype(np.uint8)
    table = find_duplicates(np.concatenate([grey, faint]), grey[3:7])
    assert table[["train", "test"]].values.tolist() == [[3, 0], [4, 1], [5, 2], [6, 3]]


def test_the_same_outline_in_another_colour_is_another_image():
    """Equal in grey, so that their hashes are; procedural tasks tell colours apart."""
    pattern = RNG.integers(0, 100, (4, 32, 32), dtype=np.uint8)
    red, blue = np.zeros((2, 4, 32, 32, 3), np.uint8)
    red[..., 0], blue[..., 1] = pattern, np.round(pattern * 0.299 / 0.587)
    assert len(list(near_pairs(hash_images(red), hash_images(blue), 6))) > 0
    assert len(find_duplicates(red, blue)) == 0


# Removal ------------------------------------------------------------------------------------------------------


@pytest.fixture
def arrays(tmp_path, monkeypatch):
    """100 training images: 3 of them repeat upstream test images, 2 a task's, and one both."""
    monkeypatch.setenv("SWEEPS_CACHE_DIR", str(tmp_path / "cache"))
    describe_arrays.cache_clear()
    upstream_duplicates.cache_clear()
    train, test, task = NOISE[:100].copy(), NOISE[100:130], NOISE[130:160].copy()
    train[[5, 50, 60]] = test[[1, 2, 3]]
    train[[7, 8]] = task[[4, 5]]
    task[9] = test[1]
    labels = np.arange(100) % 10
    np.savez(tmp_path / "up.npz", x_train=train, y_train=labels, x_test=test, y_test=labels[:30])
    np.savez(tmp_path / "down.npz", x_train=NOISE[200:260], y_train=labels[:60], x_test=task, y_test=labels[:30])
    return tmp_path


def plan(arrays, **changes):
    upstream = {"dataset": "arrays", "folder": str(arrays / "up.npz"), "val_fraction": 0.1}
    tasks = {"downstream__tasks": [f"arrays:{arrays / 'down.npz'}", "shapes"]}
    fields = {"train_examples": "100%", "upstream": upstream, **tasks} | changes
    return make_plan(parse_spec(changed(**fields, model__resnet=None, steps=[20])))


def test_duplicates_are_known_when_a_sweep_is_planned(arrays):
    (config,) = plan(arrays, upstream__remove_duplicates=True).configs
    assert (config.upstream.num_train, config.upstream.num_duplicates, config.upstream.num_val) == (100, 5, 10)
    assert config.train_examples == 85
    kept = kept_rows(config.upstream, config.downstream.tasks)
    assert sorted({*range(100)} - set(kept.tolist())) == [5, 7, 8, 50, 60]
    found = upstream_duplicates("arrays", str(arrays / "up.npz"), 100, config.downstream.tasks)
    assert found.num_by_dataset == {"up": 3, "down": 3}
    assert json.loads(json.dumps(found.report))["num_removed"] == 5
    assert [(row["dataset"], row["value"]) for row in duplicate_rows(found)] == [("up", 3.0), ("down", 3.0)]
    assert {row["name"] for row in duplicate_rows(found)} == {"near_duplicates"}


def test_without_the_flag_nothing_is_removed_and_it_is_another_run(arrays):
    configs = [plan(arrays, upstream__remove_duplicates=flag).configs[0] for flag in (False, True)]
    assert configs[0].train_examples == 90
    assert len(kept_rows(configs[0].upstream, ())) == 100
    assert configs[0].run_id != configs[1].run_id


def test_they_are_looked_for_once(arrays, monkeypatch):
    first = upstream_duplicates("arrays", str(arrays / "up.npz"), 100, ())
    upstream_duplicates.cache_clear()
    monkeypatch.setattr(duplicates, "find_duplicates", None)
    again = upstream_duplicates("arrays", str(arrays / "up.npz"), 100, ())
    assert (again.rows.tolist(), again.num_by_dataset) == (first.rows.tolist(), first.num_by_dataset)


def test_of_generated_sets_nothing_is_looked_for():
    assert len(upstream_duplicates("procedural", None, 10**9, ("shapes",)).rows) == 0


def test_a_run_trains_on_the_images_that_are_left(arrays):
    import torch

    from sweeps.data.training import load_training_data

    (config,) = plan(arrays, upstream__remove_duplicates=True).configs
    data = load_training_data(config, torch.device("cpu"))
    assert (len(data.train.labels), len(data.val.labels), len(data.test.labels)) == (85, 10, 30)
    shown = torch.cat([data.train.pixels, data.val.pixels]).numpy()
    tested = {image.tobytes() for image in (*NOISE[100:130], NOISE[134], NOISE[135])}
    assert not {image.tobytes() for image in shown} & tested


# What a plan knows of folders -----------------------------------------------------------------------------------


def test_the_run_id_is_that_of_the_data_and_not_of_their_place(arrays):
    (before,) = plan(arrays).configs
    moved = arrays / "moved"
    moved.mkdir()
    for name in ("up.npz", "down.npz"):
        (arrays / name).rename(moved / name)
    (after,) = plan(moved).configs
    assert before.run_id == after.run_id
    assert before.downstream.tasks != after.downstream.tasks
    with np.load(moved / "down.npz") as content:
        fields = dict(content)
    fields["x_test"][0, 0, 0, 0] ^= 1
    np.savez(moved / "down.npz", **fields)
    describe_arrays.cache_clear()
    assert plan(moved).configs[0].run_id != before.run_id


def test_data_that_changed_since_the_plan_are_refused(arrays):
    (config,) = plan(arrays).configs
    np.savez(arrays / "up.npz", x_train=NOISE[:100], y_train=np.arange(100) % 5, x_test=NOISE[:9], y_test=np.zeros(9))
    describe_arrays.cache_clear()
    with pytest.raises(ValueError, match="upstream: the data of 'arrays' have changed since this run was planned"):
        kept_rows(config.upstream, ())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"downstream__tasks": ["arrays:/a/x.npz", "image-folder:/b/x"]}, "downstream.tasks: 'x' names two tasks"),
        ({"downstream__tasks": ["image-folder:/nowhere"]}, "downstream.tasks: no folder /nowhere"),
        ({"upstream__folder": "/nowhere"}, "upstream.folder: no file or folder /nowhere"),
        ({"upstream__folder": None}, "upstream.folder: dataset 'arrays' needs the folder"),
        ({"upstream__dataset": "image-folder"}, r"upstream.folder: no folder .*up.npz"),
        ({"train_examples": 101}, "train_examples: 'arrays' has 100 training images, asked for 101"),
        ({"downstream__tasks": ["foo"]}, "downstream.tasks.0: data set must be one of"),
    ],
)
def test_faults_are_told_by_field_when_a_sweep_is_planned(arrays, changes, message):
    with pytest.raises(ValueError, match=message):
        plan(arrays, **changes)


def test_a_suite_is_resolved_to_the_tasks_that_are_there(arrays, monkeypatch):
    monkeypatch.setenv("SWEEPS_DATA_DIR", str(arrays / "none"))
    (config,) = plan(arrays, downstream__tasks=["vtab-like"]).configs
    assert {"digits", "shapes", "count"} <= set(config.downstream.tasks)
    assert "vtab-like" not in config.downstream.tasks
    assert config.downstream.folder_versions == ()


@pytest.mark.slow
@pytest.mark.skipif(not Path(DEBIAN_FOLDER).is_dir(), reason="Debian's package dataset-fashion-mnist is not installed")
def test_fashion_mnist_repeats_itself():
    """131 of 60,000 training images when the rule was made; what looks the same is the same kind of garment."""
    train, test = (load_images("fashion-mnist", split, 32) for split in ("train", "test"))
    table = find_duplicates(train.pixels.numpy(), test.pixels.numpy())
    assert 120 < table["train"].nunique() < 145  # other roundings in resizing move a few over the threshold
    assert np.mean(train.labels.numpy()[table["train"]] == test.labels.numpy()[table["test"]]) > 0.95
