"""A small sweep on digits: 8x8 images, so that a real training takes a second."""

import copy
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from PIL import Image
from typer.testing import CliRunner

from sweeps.cli import app
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec

SPEC = {
    "name": "tiny",
    "upstream": {"dataset": "digits", "val_fraction": 0.1},
    "model": {"vit": [{"width": 16, "depth": 1, "patch": 4}], "resnet": [{"width": 4, "depth": [1, 1]}]},
    "train_examples": [200, 800],
    "steps": [20, 40],
    "recipe": {"name": "small_scale", "batch_size": 16, "lr": 3e-3},
    "schedule": {"kind": "constant", "warmup": "5 steps", "cooldown": "20%"},
    "seeds": [0],
    "evaluate": {"max_upstream": 300},
    "downstream": {"tasks": ["shapes"], "shots": [1, 5], "draws": 2, "max_eval": 50},
}
# Times and places differ between runs; all else must not.
UNREPEATABLE = [
    "wall_seconds", "training_images_per_second", "inference_images_per_second", "energy_joules", "peak_memory_bytes",
    "host", "device", "git_commit",
]  # fmt: skip


def changed(base=SPEC, **changes):
    """The spec with changes; a double underscore goes into a section; None drops a field."""
    spec = copy.deepcopy(base)
    for path, value in changes.items():
        *sections, field = path.split("__")
        place = spec
        for section in sections:
            place = place[section]
        place.pop(field, None)
        if value is not None:
            place[field] = value
    return spec


def plan_of(**changes):
    return make_plan(parse_spec(changed(**changes)))


def write_photos(folder: Path) -> None:
    """An image folder of two classes, four photographs of 9 pixels in each split."""
    for split in ("train", "test"):
        for name in ("ant", "bee"):
            (folder / split / name).mkdir(parents=True)
            for i in range(4):
                Image.new("RGB", (9, 9), (i, 50, 0)).save(folder / split / name / f"{i}.png")


class FinishedSweep(NamedTuple):
    """That of `SPEC`, of eight runs, with what its command printed."""

    spec: Path
    folder: Path
    output: str


@pytest.fixture(scope="session")
def tiny_sweep(tmp_path_factory):
    """`sweeps run` on the small spec, by two workers, which nothing disturbed: to be read, or copied."""
    place = tmp_path_factory.mktemp("tiny")
    spec, folder = place / "spec.yaml", place / "out"
    spec.write_text(yaml.safe_dump(changed()))
    result = CliRunner().invoke(app, ["run", str(spec), "--out", str(folder), "--slots", "2"])
    assert result.exit_code == 0, result.output
    return FinishedSweep(spec, folder, result.output)


@pytest.fixture
def write_spec(tmp_path):
    def write(**changes) -> Path:
        path = tmp_path / "spec.yaml"
        path.write_text(yaml.safe_dump(changed(**changes)))
        return path

    return write
