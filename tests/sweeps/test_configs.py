"""Every spec that ships: its header is whole and names calls that are there, its grid can be had, and one run of every
kind in it trains for three steps and leaves records."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from PIL import Image

import scaling
from scaling import read_measurements, read_records, validate_records
from sweeps.data.image_folder import forget_folders
from sweeps.paths import SweepPaths
from sweeps.runner.jobs import run_trunk
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec
from sweeps.training.initial import initial_model
from sweeps.training.saved_model import save_model

from .short import one_of_each_kind

pytestmark = pytest.mark.usefixtures("one_thread")

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "sweeps" / "configs").glob("*.yaml"))
FIELDS = ("Question", "Papers", "Expected", "Cost", "Command", "Analysis")
EXPERIMENTS = ROOT / "docs" / "experiments.md"
TINY = "test_vit"  # of timm's own tests: stands for every released model
NUM_CLASSES, NUM_TEST = 10, 20  # of an image folder
each_spec = pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)


# Headers ------------------------------------------------------------------------------------------------------


def header(path: Path) -> dict[str, str]:
    """The fields of the comment that a spec begins with, each as one line of text."""
    lines = re.match(r"(?:#.*\n)*", path.read_text()).group()
    found = re.findall(r"^# (\w[\w' ]*): +(.*(?:\n#  .*)*)", lines, flags=re.MULTILINE)
    return {name: " ".join(text.replace("\n#", " ").split()) for name, text in found}


@each_spec
def test_a_header_says_what_is_asked_and_how_it_is_answered(path):
    found = header(path)
    assert [name for name in FIELDS if not found.get(name)] == []
    assert "?" in found["Question"]
    assert re.search(r"arXiv \d{4}\.\d{4,5}", found["Papers"])
    assert f"sweeps run sweeps/configs/{path.name}" in found["Command"]
    assert yaml.safe_load(path.read_text())["name"] == path.stem  # the analysis reads runs/<name>


@each_spec
def test_the_analysis_of_a_header_can_be_called(path):
    text = header(path)["Analysis"]
    names = re.findall(r"\b(?:sc|scaling)\.((?:\w+\.)*\w+)", text)
    assert names, "the analysis names no call"
    for name in names:
        place = scaling
        for part in name.split("."):
            assert part in place.__all__, f"sc.{name}"
            place = getattr(place, part)
    for module in re.findall(r"python -m ([\w.]+)", text):
        assert importlib.util.find_spec(module), module


def test_every_spec_has_its_row_and_every_row_its_spec():
    rows = [line for line in EXPERIMENTS.read_text().splitlines() if line.startswith("| ")]
    named = {name for row in rows for name in re.findall(r"`(\w+)\.yaml`", row)}
    assert named == {path.stem for path in SPECS}


# What a user has to bring ---------------------------------------------------------------------------------------


def brought(raw: dict, folder: Path) -> dict:
    """A spec with small files in place of those that it names: images, released models, label sets, trained models."""
    return _replaced(raw, folder, trained_model=lambda: str(trained_model(raw, folder)))


def _replaced(value, folder, trained_model):
    if isinstance(value, list):
        return [_replaced(item, folder, trained_model) for item in value]
    if isinstance(value, str) and value.startswith("image-folder:"):
        return f"image-folder:{image_folder(folder / Path(value).name)}"
    if not isinstance(value, dict):
        return value
    found = {key: _replaced(item, folder, trained_model) for key, item in value.items()}
    if found.get("dataset") == "image-folder":
        found["folder"] = str(image_folder(folder / Path(found["folder"]).name))
    if "timm" in found:
        found["timm"] = {"name": TINY, "checkpoint": str(released_model(folder))}
    if "label_sets" in found:
        found["label_sets"] = str(label_sets(folder))
    for field in {"teacher", "against"} & set(found):
        found[field] = found[field] if found[field] in (None, "init") else trained_model()
    return found


def image_folder(path: Path) -> Path:
    rng = np.random.default_rng(0)
    for split, count in (("train", 3), ("val", NUM_TEST // NUM_CLASSES)):
        for label in range(NUM_CLASSES):
            for i in range(count):
                file = path / split / f"class{label}" / f"{i}.png"
                file.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(rng.integers(0, 256, (40, 36, 3), dtype=np.uint8)).save(file)
    return path


def label_sets(folder: Path) -> Path:
    """As ReaL's file: the first two classes are right for every test image."""
    path = folder / "label_sets.json"
    path.write_text(json.dumps([[0, 1]] * NUM_TEST))
    return path


def released_model(folder: Path) -> Path:
    """An untrained model of 1,000 classes, as released ones have them."""
    import timm

    path = folder / f"{TINY}.pth"
    if not path.exists():
        torch.save(timm.create_model(TINY, num_classes=1000).state_dict(), path)
    return path


def trained_model(raw: dict, folder: Path) -> Path:
    """What a run on the spec's upstream set leaves, untrained."""
    model = {"resnet": {"width": 4, "depth": [1, 1, 1]}}
    spec = {"name": "trained", "upstream": _replaced(raw["upstream"], folder, None), "model": model, "steps": 1}
    config = make_plan(parse_spec(spec | {"schedule": {"kind": "constant"}})).configs[0]
    path = folder / f"{config.run_id}.safetensors"
    save_model(path, initial_model(config), config)
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The folder of these files, for all specs."""
    yield tmp_path_factory.mktemp("data")
    forget_folders()


# Runs ---------------------------------------------------------------------------------------------------------


@each_spec
def test_one_run_of_each_kind_leaves_its_records(path, data, tmp_path):
    raw = yaml.safe_load(path.read_text())
    trunks = one_of_each_kind(make_plan(parse_spec(brought(raw, data))).configs, data)
    sweep = SweepPaths(tmp_path)
    for trunk in trunks:
        statuses = run_trunk(trunk, sweep, raw["name"], ("cpu",), lambda images, runs: None)
        trace = sweep.run(trunk.configs[0].run_id).traceback
        assert not trace.exists(), trace.read_text()  # of a measurement too, without which a run is whole
        assert statuses == {"ok": 1}
    records = read_records(tmp_path)
    validate_records(records)
    assert set(records["run_id"]) == {trunk.configs[0].run_id for trunk in trunks}
    asked = {name for trunk in trunks for name in trunk.configs[0].measure.names}
    assert not asked or len(read_measurements(tmp_path)) > 0
