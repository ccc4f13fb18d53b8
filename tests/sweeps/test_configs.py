"""Every spec that ships: its header is whole and names calls that are there, its grid can be had, and one run of every
kind in it trains for three steps and leaves records."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

import scaling
from scaling import read_records, validate_records
from sweeps.data.image_folder import forget_folders
from sweeps.grid import make_plan
from sweeps.jobs import run_trunk
from sweeps.paths import SweepPaths
from sweeps.spec import parse_spec

from .short import one_of_each_kind

pytestmark = pytest.mark.usefixtures("one_thread")

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "sweeps" / "configs").glob("*.yaml"))
FIELDS = ("Question", "Papers", "Expected", "Cost", "Command", "Analysis")
EXPERIMENTS = ROOT / "docs" / "experiments.md"
TINY = "test_vit"  # of timm's own tests: stands for every released model
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


# Runs ---------------------------------------------------------------------------------------------------------


def brought(value, folder):
    """A spec with what a user has to bring, in small: folders of images, released models, teachers, label sets."""
    if isinstance(value, list):
        return [brought(item, folder) for item in value]
    if isinstance(value, str) and value.startswith("image-folder:"):
        return f"image-folder:{image_folder(folder / Path(value).name)}"
    if not isinstance(value, dict):
        return value
    found = {key: brought(item, folder) for key, item in value.items()}
    if found.get("dataset") == "image-folder":
        found["folder"] = str(image_folder(folder / Path(found["folder"]).name))
    if "timm" in found:
        found["timm"] = {"name": TINY, "checkpoint": str(released_model(folder))}
    if "label_sets" in found:
        found["label_sets"] = str(folder / "label_sets.json")
        Path(found["label_sets"]).write_text(json.dumps([[0]] * NUM_TEST))
    return found


NUM_CLASSES, NUM_TEST = 10, 20


def image_folder(path: Path) -> Path:
    rng = np.random.default_rng(0)
    for split, count in (("train", 3), ("val", NUM_TEST // NUM_CLASSES)):
        for label in range(NUM_CLASSES):
            for i in range(count):
                file = path / split / f"class{label}" / f"{i}.png"
                file.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(rng.integers(0, 256, (40, 36, 3), dtype=np.uint8)).save(file)
    return path


def released_model(folder: Path) -> Path:
    """An untrained model of 1,000 classes, as released ones have them."""
    import timm
    import torch

    path = folder / f"{TINY}.pth"
    if not path.exists():
        torch.save(timm.create_model(TINY, num_classes=1000).state_dict(), path)
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """What stands for data that are not there, for all specs."""
    yield tmp_path_factory.mktemp("data")
    forget_folders()


@each_spec
def test_one_run_of_each_kind_leaves_its_records(path, data, tmp_path):
    spec = parse_spec(brought(yaml.safe_load(path.read_text()), data))
    plan = make_plan(spec)
    sweep = SweepPaths(tmp_path)
    trunks = one_of_each_kind(plan.configs, data)
    for trunk in trunks:
        statuses = run_trunk(trunk, sweep, spec.name, "cpu", lambda images, runs: None)
        run = sweep.run(trunk.configs[0].run_id)
        assert statuses == {"ok": 1}, run.traceback.read_text()
        assert not run.traceback.exists(), run.traceback.read_text()  # of a measurement
    records = read_records(tmp_path)
    validate_records(records)
    assert records["run_id"].nunique() == len(trunks)
