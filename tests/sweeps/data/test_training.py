"""The images of a run from each kind of source: repeated, resumed, branched, and held in memory or not."""

import os

import numpy as np
import pytest
import torch

from sweeps.data import images as images_module
from sweeps.data.batches import ResidentSource
from sweeps.data.datasets import find_dataset
from sweeps.data.image_folder import forget_folders
from sweeps.data.images import Images, MappedImages, load_images, subset
from sweeps.data.prepare import prepare_data
from sweeps.data.stream import describe, verify, workers
from sweeps.data.subsets import sample_rows
from sweeps.data.training import load_training_data
from sweeps.paths import TrunkPaths
from sweeps.specs.faults import SpecError
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec
from sweeps.training.train import train_trunk

from .stream_sets import DATASETS, KINDS, photo, write_set

CPU = torch.device("cpu")
SIZE = 12


@pytest.fixture(autouse=True)
def forget(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEPS_CACHE_DIR", str(tmp_path / "cache"))
    forget_folders()
    for remembered in (load_images, describe.describe_shards):
        remembered.cache_clear()


@pytest.fixture
def sets(tmp_path):
    return {kind: write_set(tmp_path / kind, kind, num_train=48) for kind in KINDS}


def configs_of(sets, kind="folder", stream=True, augment="crop_flip", evaluate=None, tasks=(), **upstream):
    """Two runs of one trunk that read in this process."""
    spec = {
        "name": "t",
        "upstream": {
            "dataset": DATASETS[kind], "folder": str(sets[kind]), "stream": stream, "image_size": SIZE,
            "val_fraction": 0.125, **upstream,
        },
        "model": {"vit": [{"width": 8, "depth": 1, "heads": 1, "patch": 4}]},
        "train_examples": 20, "steps": [6, 10],
        "recipe": {"name": "small_scale", "batch_size": 8, "lr": 1e-2, "augment": augment},
        "schedule": {"kind": "constant", "warmup": "2 steps", "cooldown": "2 steps"},
        "evaluate": {"every": "3 steps", **(evaluate or {})},
        "downstream": {"tasks": list(tasks), "shots": [1], "draws": 1},
    }  # fmt: skip
    (trunk,) = make_plan(parse_spec(spec)).trunks
    return [in_process(config) for config in trunk.configs]


def in_process(config):
    return config.model_copy(update={"upstream": config.upstream.model_copy(update={"workers": 0})})


def train(configs, folder, on_step=lambda num_images: None):
    """What each run leaves, but for its times."""
    data = load_training_data(configs[-1], CPU)
    found = []
    for run in train_trunk(configs, data, TrunkPaths(folder), CPU, on_step):
        columns = [e["columns"] for e in run.evaluations]
        kept = [{k: v for k, v in c.items() if "second" not in k} for c in columns]
        weights = {name: value.clone() for name, value in run.model.state_dict().items()}
        found.append((kept, run.log, weights))
    return found


def assert_same(first, second):
    assert len(first) == len(second) > 0
    for (columns, log, weights), (other_columns, other_log, other_weights) in zip(first, second, strict=True):
        assert columns == other_columns
        assert log == other_log
        assert all(torch.equal(value, other_weights[name]) for name, value in weights.items())


class Killed(BaseException):
    pass


def killed_after(steps):
    left = iter(range(steps))

    def on_step(num_images):
        if next(left, None) is None:
            raise Killed

    return on_step


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("augment", ["crop_flip", "inception_flip"])
def test_a_streamed_run_is_itself_when_repeated_branched_and_resumed(sets, tmp_path, monkeypatch, kind, augment):
    configs = configs_of(sets, kind, augment=augment)
    whole = train(configs, tmp_path / "whole")
    assert_same(whole, train(configs, tmp_path / "again"))
    assert_same(whole, [run for config in configs for run in train([config], tmp_path / str(config.steps))])
    monkeypatch.setenv("SWEEPS_CHECKPOINT_SECONDS", "0")
    with pytest.raises(Killed):
        train(configs, tmp_path / "killed", killed_after(3))
    assert list((tmp_path / "killed").rglob("checkpoint-*.pt"))
    assert_same(whole, train(configs, tmp_path / "killed"))


def test_a_streamed_folder_trains_to_the_last_bit_as_the_decoded_one(sets, tmp_path):
    streamed, decoded = (train(configs_of(sets, stream=s), tmp_path / str(s)) for s in (True, False))
    assert_same(streamed, decoded)


def test_cut_by_the_readers_or_on_the_device(sets, tmp_path):
    """The same crops of other images: readers cut them out of photographs, the device out of decoded squares."""
    streamed, decoded = (
        train(configs_of(sets, stream=s, augment="inception_flip"), tmp_path / str(s)) for s in (True, False)
    )
    assert streamed[0][1][0]["loss"] != decoded[0][1][0]["loss"]
    assert [len(run[0]) for run in streamed] == [len(run[0]) for run in decoded]


@pytest.mark.parametrize("stream", [True, False])
def test_nothing_held_out_and_few_asked(sets, tmp_path, stream):
    configs = configs_of(sets, stream=stream, val_fraction=0, evaluate={"max_train": 0, "max_upstream": 2})
    data = load_training_data(configs[0], CPU)
    assert [len(part.labels) for part in (data.train, data.seen, data.val, data.test)] == [20, 0, 0, 2]
    (columns, *_), *_ = train(configs, tmp_path / "run")
    assert columns[-1]["upstream_num_eval"] == 2
    assert columns[-1]["upstream_val_error"] is columns[-1]["train_error"] is None


def test_duplicates_are_removed_from_a_streamed_folder_and_not_from_shards(sets):
    copied = sets["folder"] / "train" / "cat" / "copy.png"
    copied.write_bytes(photo(10_001))  # a test image of another class
    (config, _) = configs_of(sets, remove_duplicates=True)
    assert config.upstream.num_duplicates == 1
    data = load_training_data(config, CPU)
    files = {str(data.train.index.table["file"][row]) for row in data.train.rows}
    assert len(files) == 20
    assert "train/cat/copy.png" not in files
    with pytest.raises(SpecError, match=r"upstream\.remove_duplicates: .* got dataset 'shards'"):
        configs_of(sets, "tar", remove_duplicates=True)


@pytest.mark.parametrize("kind", KINDS)
def test_what_every_run_is_asked_about_is_decoded_once(sets, monkeypatch, kind):
    (config, _) = configs_of(sets, kind, evaluate={"max_train": 5})
    first = load_training_data(config, CPU)
    decoded = []
    decode = workers.Decoder.__getitem__
    monkeypatch.setattr(workers.Decoder, "__getitem__", lambda self, p: decoded.append(len(p.rows)) or decode(self, p))
    again = load_training_data(config, CPU)
    assert decoded == [5]
    for part in ("seen", "val", "test"):
        assert torch.equal(getattr(first, part).pixels, getattr(again, part).pixels)
        assert torch.equal(getattr(first, part).labels, getattr(again, part).labels)
    val = load_training_data(config.model_copy(update={"seed": 1}), CPU).val
    assert torch.equal(val.pixels, first.val.pixels)  # the same for every seed
    other = config.upstream.model_copy(update={"num_val": config.upstream.num_val - 1})
    assert len(load_training_data(config.model_copy(update={"upstream": other}), CPU).val.labels) == other.num_val


def test_a_name_that_is_not_text_is_told(sets):
    (sets["folder"] / "train" / "cat" / os.fsdecode(b"\xff.png")).write_bytes(photo(0))
    configs_of(sets, stream=False)
    with pytest.raises(ValueError, match=r"upstream.stream: names of streamed files must be UTF-8, got .*udcff.png"):
        prepare_data(configs_of(sets))


# Which test images ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False])
def test_the_test_images_asked_for_are_not_those_of_the_first_classes(tmp_path, stream):
    sets = {"folder": write_set(tmp_path / "set", "folder", num_train=48, num_test=90)}
    (config, _) = configs_of(sets, stream=stream, evaluate={"max_upstream": 30})
    labels = load_training_data(config, CPU).test.labels
    assert len(labels) == 30
    assert torch.bincount(labels, minlength=3).min() >= 5  # of 10 that are expected; all 30 would be of the first


def test_so_are_those_of_a_task(tmp_path):
    from sweeps.evaluation.evaluate import task_images

    sets = {"folder": write_set(tmp_path / "set", "folder", num_train=48, num_test=90)}
    (config, _) = configs_of(sets, tasks=[f"image-folder:{sets['folder']}"])
    downstream = config.downstream.model_copy(update={"max_eval": 30})
    labels = task_images(downstream.tasks[0], SIZE, downstream)[1].labels
    assert torch.bincount(labels, minlength=3).min() >= 5


def test_samples_are_nested_and_of_sets_in_no_order_the_first():
    samples = [set(sample_rows(50, n, shuffled=False)) for n in (10, 30, None)]
    assert samples[0] < samples[1] < samples[2] == set(range(50))
    assert sample_rows(50, 10, shuffled=True).tolist() == list(range(10))
    assert sample_rows(5, 10, shuffled=False).tolist() == list(range(5))
    assert all(find_dataset(name).shuffled for name in ("digits", "fashion-mnist", "shapes", "procedural"))


# What changed since the plan --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("which", ["upstream", "downstream.tasks"])
def test_data_that_changed_since_the_plan_are_told_before_they_are_decoded(sets, tmp_path, monkeypatch, stream, which):
    task = write_set(tmp_path / "task", "folder", num_train=9)
    (config, _) = configs_of(sets, stream=stream, tasks=[f"image-folder:{task}"])
    changed = sets["folder"] if which == "upstream" else task
    (changed / "train" / "cat" / "more.png").write_bytes(photo(7))
    forget_folders()
    monkeypatch.setattr("sweeps.data.cache._decode", None)
    with pytest.raises(ValueError, match=rf"{which}: .*have changed since this run was planned"):
        load_training_data(config, CPU)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("split", ["train", "test"])
def test_streams_are_looked_at_once_before_the_first_run(sets, tmp_path, monkeypatch, kind, split):
    configs = configs_of(sets, kind)
    looked = []
    check = verify._check
    monkeypatch.setattr(
        verify, "_check", lambda *arguments, **options: looked.append(0) or check(*arguments, **options)
    )
    prepare_data(configs)
    assert looked
    del looked[:]
    prepare_data(configs)
    assert not looked
    if kind == "folder":
        bad = next((sets[kind] / split).rglob("*.png"))
        bad.write_bytes(bad.read_bytes()[:200])
        forget_folders()
        with pytest.raises(ValueError, match=rf"upstream.folder: 1 of \d+ images are damaged: .*{split}/"):
            prepare_data(configs_of(sets, kind))


# Sets too large to copy -------------------------------------------------------------------------------------------


def resident(num_images=60, size=8):
    rng = np.random.default_rng(0)
    pixels = torch.from_numpy(rng.integers(0, 256, (num_images, size, size, 3), dtype=np.uint8))
    return Images(pixels, torch.from_numpy(rng.integers(0, 3, num_images)))


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_mapped_subset_is_the_copied_one(monkeypatch, repeats):
    images, rows = resident(), np.array([5, 3, 59, 0, 17, 17, 2])
    copied = subset(images, rows)
    monkeypatch.setattr(images_module, "_COPIED_BYTES", 7 * 8 * 8 * 3 - 1)
    mapped = subset(images, rows)
    assert isinstance(copied, Images)
    assert isinstance(mapped, MappedImages)
    assert mapped.num_bytes == copied.num_bytes
    sources = [ResidentSource(part, seed=1, batch_size=5, repeats=repeats) for part in (copied, mapped)]
    for step in (4, 0, 1, 9):
        first, second = (source.batch(step) for source in sources)
        assert torch.equal(first.pixels, second.pixels)
        assert torch.equal(first.labels, second.labels)
    for part in (mapped.take(np.array([6, 1])).read(), mapped.to(CPU).take(np.array([6, 1])).read()):
        assert torch.equal(part.pixels, images.pixels[[2, 3]])
        assert torch.equal(part.labels, images.labels[[2, 3]])


def test_to_a_device_a_mapped_subset_goes_in_pieces(monkeypatch):
    monkeypatch.setattr(images_module, "_PIECE", 3)
    taken = []
    select = torch.Tensor.index_select
    monkeypatch.setattr(torch.Tensor, "index_select", lambda t, d, rows: taken.append(len(rows)) or select(t, d, rows))
    moved = MappedImages(resident(), torch.arange(7)).to(torch.device("meta"))
    assert isinstance(moved, Images)
    assert (moved.pixels.shape, moved.labels.shape) == ((7, 8, 8, 3), (7,))
    assert taken == [3, 3, 1]
    assert moved.pixels.device.type == moved.labels.device.type == "meta"


def test_a_mapped_set_trains_is_evaluated_and_resumes_to_the_last_bit_as_a_copied_one(sets, tmp_path, monkeypatch):
    configs = configs_of(sets, stream=False)
    copied = train(configs, tmp_path / "copied")
    monkeypatch.setattr(images_module, "_COPIED_BYTES", 0)
    assert isinstance(load_training_data(configs[0], CPU).train, MappedImages)
    assert_same(copied, train(configs, tmp_path / "mapped"))
    monkeypatch.setenv("SWEEPS_CHECKPOINT_SECONDS", "0")
    with pytest.raises(Killed):
        train(configs, tmp_path / "killed", killed_after(3))
    assert_same(copied, train(configs, tmp_path / "killed"))


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="tells memory of its own apart on Linux only")
def test_training_on_a_large_mapped_set_takes_no_memory_of_its_own(tmp_path):
    side, num_images = 32, 200_000  # 614 MB, a sparse file
    with open(tmp_path / "large", "wb") as file:
        file.truncate(num_images * side * side * 3)
    mapped = np.memmap(tmp_path / "large", np.uint8, "c", shape=(num_images, side, side, 3))
    images = Images(torch.from_numpy(mapped), torch.zeros(num_images, dtype=torch.int64))
    source = ResidentSource(MappedImages(images, torch.arange(0, num_images, 2)), seed=0, batch_size=1000)
    source.batch(0)
    before = anonymous_bytes()
    for step in range(40):
        source.batch(step)
    assert anonymous_bytes() - before < 60e6  # of 123 MB that were read; a batch has 3 MB


def anonymous_bytes():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon"))
