import numpy as np
import pytest

from sweeps.data.cache import open_split
from sweeps.data.datasets import find_dataset
from sweeps.data.image_folder import forget_folders
from sweeps.data.images import load_images
from sweeps.data.prepare import missing_data, prepare_data
from sweeps.data.suites import expand_tasks
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec

from ..conftest import changed, plan_of, write_photos


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEPS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("SWEEPS_DATA_DIR", str(tmp_path / "data"))
    forget_folders()
    load_images.cache_clear()
    write_photos(tmp_path / "bugs")
    return tmp_path


def test_what_is_not_there_is_told_once_with_its_field():
    configs = plan_of(downstream__tasks=["pets", "shapes"]).configs
    assert len(configs) > 1
    (sentence,) = missing_data(configs)
    assert sentence.startswith("downstream.tasks: data set 'pets' is not there: no oxford-iiit-pet in ")
    upstream = plan_of(upstream={"dataset": "cifar10"}, downstream=None).configs
    (sentence,) = missing_data(upstream)
    assert sentence.startswith("upstream: data set 'cifar10' is not there")
    assert missing_data(plan_of().configs) == []


def test_everything_a_run_reads_is_decoded(folders, monkeypatch):
    configs = plan_of(downstream__tasks=[f"image-folder:{folders / 'bugs'}"]).configs
    prepare_data(configs)
    found = {path.parent.name.split("-")[0] + "/" + path.name for path in (folders / "cache").rglob("*px.npy")}
    assert found == {"digits/train-8px.npy", "digits/test-8px.npy", "bugs/train-8px.npy", "bugs/test-8px.npy"}
    monkeypatch.setattr("sweeps.data.cache._decode", None)
    images = load_images(f"image-folder:{folders / 'bugs'}", "test", 8)
    assert images.labels.tolist() == [0] * 4 + [1] * 4


def test_an_image_that_cannot_be_decoded_is_named_before_training(folders):
    broken = folders / "bugs" / "test" / "bee" / "2.png"
    broken.write_bytes(broken.read_bytes()[:40])
    upstream = {"dataset": "image-folder", "folder": str(folders / "bugs"), "val_fraction": 0.25}
    plan = make_plan(parse_spec(changed(upstream=upstream, model__resnet=None, train_examples=4, model__vit=[{
        "width": 16, "depth": 1, "patch": 3}])))  # fmt: skip
    with pytest.raises(ValueError, match=r"upstream: bugs \(test\): 1 of 8 image files .*: .*bee/2.png \("):
        prepare_data(plan.configs)


def test_generated_sets_are_as_long_as_asked_for():
    pixels, labels = open_split(find_dataset("procedural"), "train", 32, 130)
    assert len(pixels) == len(labels) == 130
    assert np.array_equal(pixels, find_dataset("procedural").load("train", 130, None)[0])


def test_a_plan_looks_for_the_tasks_of_a_suite_once(monkeypatch):
    looked = []
    for module in ("grid", "resolve"):
        where = f"sweeps.specs.{module}.expand_tasks"
        monkeypatch.setattr(where, lambda tasks: looked.append(tasks) or expand_tasks(tasks))
    for _ in range(2):
        assert len(plan_of(downstream__tasks=["vtab-like"], seeds=[0, 1]).configs) > 2
    assert len(looked) == 4  # in each plan, once to resolve its cells and once to say what is left out
