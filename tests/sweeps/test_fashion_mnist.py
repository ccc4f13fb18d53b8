"""The shipped Fashion-MNIST sweep, cut down, on the real files."""

from pathlib import Path

import pytest
import yaml

from scaling import read_records
from sweeps.data.fashion_mnist import DEBIAN_FOLDER
from sweeps.runner.collect import collect
from sweeps.runner.run import run_sweep
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec
from sweeps.summary import write_summary

SPEC = Path(__file__).parents[2] / "sweeps" / "configs" / "fashion_mnist.yaml"


@pytest.mark.skipif(not Path(DEBIAN_FOLDER).is_dir(), reason="Debian's package dataset-fashion-mnist is not installed")
def test_a_small_grid_learns_real_photographs(tmp_path):
    raw = yaml.safe_load(SPEC.read_text())
    raw |= {"train_examples": [1000, 60000], "steps": [40, 80, 200], "evaluate": {"max_upstream": 1000}}
    raw["model"]["vit"][0]["depth"] = 1
    raw["model"]["resnet"][0]["width"] = 8
    raw["downstream"] |= {"tasks": ["digits", "shuffled_labels"], "draws": 2, "max_eval": 300}
    plan = make_plan(parse_spec(raw))
    assert run_sweep(plan, yaml.safe_dump(raw), tmp_path).statuses == {"ok": 12}
    runs = read_records(tmp_path)
    assert set(runs["train_examples"]) == {1000, 58_800}
    assert runs["upstream_error"].min() < 0.5  # a guess errs on .9
    longest = runs[runs["step"] == 200].set_index("model_family")["upstream_error"]
    shortest = runs[runs["step"] == 40].set_index("model_family")["upstream_error"]
    for family in ("vit", "resnet"):
        assert longest[family].mean() < shortest[family].mean()
    assert runs["digits_10shot_error"].min() < 0.75
    # A guess among ten, over 300 images and two draws: a standard error of .012.
    assert runs["shuffled_labels_10shot_error"].mean() == pytest.approx(0.9, abs=0.03)
    collect(tmp_path)
    text = write_summary(tmp_path, "fashion")
    assert "E = a C^-b + c" in text
    assert "synthetic" not in text
