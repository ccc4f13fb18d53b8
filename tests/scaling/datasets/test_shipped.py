"""What is shipped: whole, in a checkout and in a wheel."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from scaling import fit_frontier, read_evals, read_records
from scaling.datasets import DATASETS, load, path_or_data_set
from scaling.datasets.shipped import shipped
from scaling.schema import KEY
from scaling.selection.usable import usable_runs

ROOT = Path(__file__).parents[3]
SWEEPS = sorted(name for name, each in DATASETS.items() if each.citation.startswith("sweep:"))
SUMS = ["published/SHA256SUMS", "sweeps/SHA256SUMS"]


@pytest.mark.parametrize("sums", SUMS)
def test_every_file_has_its_digest(sums):
    folder = shipped(sums).parent
    told = dict(line.split("  ")[::-1] for line in shipped(sums).read_text().splitlines())
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert set(told) == there - {"SHA256SUMS"}
    for name, digest in told.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name


def test_every_published_table_is_a_data_set_or_holds_no_models():
    used = {Path(file.path).name for each in DATASETS.values() for file in each.files}
    no_models = {
        "abnar2021_fig1_hull_laws_digitised.csv", "abnar2021_shot_trend_summary.csv",
        "abnar2021_table1_param_shot_corr.csv", "abnar2021_table2_rse.csv",
        "abnar2021_table5_vtab_hwd.csv", "alabdulmohsin2022_table2_nmt_rmse.csv",
        "imagenet_class_names.csv", "oxford_pets_class_names.csv", "zhai2021_fig5_head_body_wd_5shot.csv",
        "zhai2021_printed_laws.csv",
    }  # fmt: skip
    tables = {path.name for path in shipped("published").glob("*.csv")}
    assert tables - used == no_models


def test_what_is_not_shipped_is_said():
    with pytest.raises(FileNotFoundError, match=r"^published/none.csv is not shipped"):
        shipped("published/none.csv")


def test_the_demo_is_read_as_a_sweep_is():
    runs = load("demo")
    assert runs["host"].isna().all()
    assert runs["git_commit"].nunique() == 1
    assert runs["source"].unique() == ["sweep:demo"]
    assert runs["model_family"].value_counts().to_dict() == {"vit": 45, "resnet": 27}
    folder = path_or_data_set("demo")
    assert len(read_evals(folder)) == 9072
    # Which probe the columns show is the reader's choice.
    plain = read_records(folder, probe="plain")
    assert (plain["digits_10shot_error"] != runs["digits_10shot_error"]).any()


def test_the_long_tables_of_a_sweep_are_those_of_its_folder():
    evals = load("demo", table="evals")
    pd.testing.assert_frame_equal(evals, read_evals(path_or_data_set("demo")))
    few = load("demo", table="evals", where="task == 'digits' and num_shots > 1")
    kept = (evals["task"] == "digits") & (evals["num_shots"] > 1)
    pd.testing.assert_frame_equal(few, evals[kept].reset_index(drop=True))
    with pytest.raises(ValueError, match=r"^data set 'demo' has the tables records, evals, got 'measurements'$"):
        load("demo", table="measurements")


def test_rows_of_records_are_chosen_as_read_records_chooses_them():
    vits = load("demo", where="model_family == 'vit'")
    pd.testing.assert_frame_equal(vits, read_records(path_or_data_set("demo"), where="model_family == 'vit'"))
    assert len(load("zhai2021", where="model_variant == 'G/14'")) == 1
    with pytest.raises(ValueError, match=r"^where must be true or false of each row"):
        load("zhai2021", where="nothing > 1")


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_of_our_own_is_whole_and_says_nothing_of_the_machine(name):
    runs = load(name)
    assert runs["host"].isna().all()
    assert runs["git_commit"].nunique() == 1
    assert runs["source"].unique() == [f"sweep:{name}"]
    assert set(runs["status"]) == {"ok"}
    assert runs["cooled_down"].all()
    # Every model was probed at the same tasks, shots and draws.
    evals = load(name, table="evals")
    keys = set(runs[[*KEY]].itertuples(index=False, name=None))
    assert set(evals[[*KEY]].itertuples(index=False, name=None)) == keys
    probes = evals.groupby([*KEY, "layer"])[["task", "probe", "num_shots", "draw"]].value_counts()
    assert (probes == 1).all()
    assert probes.groupby([*KEY, "layer"]).size().nunique() == 1


@pytest.mark.parametrize("name", SWEEPS)
def test_the_negative_control_of_a_sweep_is_at_chance(name):
    runs = load(name)
    control = runs.filter(regex=r"^shuffled_labels_\d+shot_error$")
    assert control.shape[1] >= 3
    # Of ten classes; models share the few images of each draw, so that their mean is off by more than one model's
    # binomial .009 over the square root of their number.
    assert (control.mean() - 0.9).abs().max() < 0.01
    assert control.stack().between(0.85, 0.95).all()


@pytest.mark.parametrize("name", SWEEPS)
def test_its_spec_is_the_one_that_is_kept_with_the_code(name):
    """As it ran; what its head says of results and cost may have been written since."""
    shipped_spec = yaml.safe_load(shipped(f"sweeps/{name}/spec.yaml").read_text())
    assert shipped_spec == yaml.safe_load((ROOT / f"sweeps/configs/{name}.yaml").read_text())


def test_the_demo_gives_a_frontier():
    runs = usable_runs(load("demo"), "compute_flops", "upstream_error").frame
    found = fit_frontier(runs["compute_flops"], runs["upstream_error"], law="power")
    assert 0.1 < found.params["b"] < 1


@pytest.mark.slow
def test_a_wheel_has_the_data_and_they_are_found_without_a_checkout(tmp_path):
    """A wheel of the files that git knows, unpacked elsewhere."""
    copy, target = tmp_path / "copy", tmp_path / "target"
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
    )
    for name in names.stdout.decode().split("\0")[:-1]:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_symlink():
            (copy / name).symlink_to(os.readlink(ROOT / name))
        elif (ROOT / name).is_file():
            (copy / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(copy)]
    subprocess.run(build, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(target), str(wheel)], check=True, capture_output=True)
    code = (
        "import scaling; from scaling.datasets import DATASETS, load;"
        "print(scaling.__file__); print({n: len(load(n)) for n, each in DATASETS.items() if each.is_shipped})"
    )
    env = os.environ | {"PYTHONPATH": str(target)}
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    where, rows = found.stdout.splitlines()
    assert where.startswith(str(target))
    assert rows == str({name: each.num_rows for name, each in DATASETS.items() if each.is_shipped})
