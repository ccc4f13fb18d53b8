"""`scaling compare`: laws by held-out error and families at equal error, as the library has them."""

import numpy as np
import pytest

import scaling as sc

from .calls import answer, call, refused, table

pytestmark = pytest.mark.filterwarnings("ignore::scaling.FitWarning")
TWO = ("--laws", "power", "--laws", "saturating_power")
FAMILIES = ("--by", "model_family", "--reference", "vit", "--draws", 60)


def compared(runs, **options):
    x, y = (runs[name].to_numpy() for name in ("compute_flops", "upstream_error"))
    return sc.compare_laws(x, y, ["power", "saturating_power"], **options)


def ratios(runs, **options):
    x, y, family = (runs[name].to_numpy() for name in ("compute_flops", "upstream_error", "model_family"))
    options = {"reference": "vit", "rival": "resnet", "num_draws": 60, "rng": np.random.default_rng(0)} | options
    return sc.frontier.cost_ratio(x, y, family, **options)


def test_laws_side_by_side(path, runs):
    rows = answer("compare", path, *TWO)["rows"]
    expected = compared(runs)
    assert [row["law"] for row in rows] == expected["law"].tolist()
    assert rows[0]["heldout_log_rmse"] == expected["heldout_log_rmse"][0]
    assert rows[0]["aicc"] == expected["aicc"][0]


@pytest.mark.slow
def test_without_names_all_laws_that_fall_with_x(runs, tmp_path):
    few = runs.iloc[::4]
    few.to_parquet(tmp_path / "runs.parquet")
    rows = answer("compare", tmp_path / "runs.parquet")["rows"]
    assert [row["law"] for row in rows] == sc.compare_laws(few["compute_flops"], few["upstream_error"])["law"].tolist()


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--holdout", "rolling", {"holdout": "rolling"}),
        ("--holdout", "largest:9", {"holdout": ("largest", 9)}),
        ("--objective", "least_squares", {"objective": "least_squares"}),
    ],
)
def test_options(path, runs, option, value, expected):
    rows = answer("compare", path, *TWO, option, value)["rows"]
    scores = [row["heldout_log_rmse"] for row in rows]
    assert scores == compared(runs, **expected)["heldout_log_rmse"].tolist()
    assert scores != compared(runs)["heldout_log_rmse"].tolist()


def test_by_is_a_table_a_group(path, runs):
    rows = answer("compare", path, *TWO, "--by", "model_family")["rows"]
    assert [row["group"] for row in rows] == ["resnet"] * 4 + ["vit"] * 4
    expected = compared(runs[runs["model_family"] == "vit"])
    assert rows[4]["heldout_log_rmse"] == expected["heldout_log_rmse"][0]


def test_at_predicts_by_the_weighted_mean(path, runs):
    found = answer("compare", path, *TWO, "--at", 1e23, "--level", 0.9)
    mean = sc.fit_ensemble(runs["compute_flops"], runs["upstream_error"], ["power", "saturating_power"])
    [row] = found["predictions"]
    assert (row["median"], row["low"], row["high"]) == tuple(float(v) for v in mean.predict(1e23, 0.9))
    assert row["prediction_low"] == mean.predict(1e23, 0.9, "prediction").low
    assert len(found["ensembles"]["all runs"]["members"]) == len(mean.members)


def test_families_at_equal_error(path, runs):
    found = answer("compare", path, *FAMILIES, "--target", 0.2, "--target", 0.02)
    expected = ratios(runs, targets=[0.2, 0.02])
    assert [row["ratio"] for row in found["rows"]] == expected.table["ratio"].tolist()
    assert [row["low"] for row in found["rows"]] == expected.table["low"].tolist()
    assert found["rows"][0]["reference"] == "vit"
    assert any("left out (interpolation) at 0.02" in note for note in found["notes"])
    assert found["comparisons"]["resnet"]["reference_law"]["params"] == expected.reference_law.params


def test_law_selection_level_and_seed_of_families(path, runs):
    args = ("--target", 0.2, "--law", "power", "--select", "all", "--level", 0.8, "--seed", 5)
    rows = answer("compare", path, *FAMILIES, *args)["rows"]
    options = {"law": "power", "selection": "all", "level": 0.8, "rng": np.random.default_rng(5)}
    expected = ratios(runs, targets=[0.2], **options).table
    assert [row["high"] for row in rows] == expected["high"].tolist()


@pytest.mark.slow
def test_all_rivals_unless_named(runs, tmp_path):
    labels = np.resize(["vit", "resnet", "mixer"], 60)
    runs.assign(model_family=labels).to_parquet(tmp_path / "runs.parquet")
    args = ("compare", tmp_path / "runs.parquet", *FAMILIES, "--target", 0.2)
    assert {row["rival"] for row in answer(*args)["rows"]} == {"mixer", "resnet"}
    assert {row["rival"] for row in answer(*args, "--rival", "mixer")["rows"]} == {"mixer"}


def test_families_that_share_no_error_are_exit_code_1(runs, tmp_path):
    labels = np.where(np.arange(60) < 30, "vit", "resnet")
    runs.assign(model_family=labels, upstream_error=np.geomspace(0.5, 0.1, 60)).to_parquet(tmp_path / "runs.parquet")
    found = answer("compare", tmp_path / "runs.parquet", *FAMILIES, exit_code=1)
    assert "no error in common" in found["reasons"]["resnet"]


def test_too_few_runs_are_exit_code_1(runs, tmp_path):
    runs.head(1).to_parquet(tmp_path / "runs.parquet")
    result = call("compare", tmp_path / "runs.parquet", *TWO)
    assert result.exit_code == 1
    assert "no point to fit" in result.stdout


def test_csv(path, runs):
    rows = table("compare", path, *TWO)
    assert float(rows[0]["heldout_log_rmse"]) == compared(runs)["heldout_log_rmse"][0]


@pytest.mark.parametrize("args", [TWO, (*TWO, "--by", "model_family"), (*FAMILIES, "--target", "0.2")])
def test_figures(path, tmp_path, args):
    result = call("compare", path, *args, "--figure", tmp_path / "a.png")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "a.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--laws", "powr"], "near: power"),
        (["--laws", "power", "--laws", "power"], "once"),
        (["--holdout", "half"], "above_share"),
        (["--holdout", "largest:x"], "takes a number"),
        (["--objective", "huber"], "likelihood"),
        (["--reference", "vit"], "--by"),
        (["--rival", "vit"], "--reference"),
        (["--by", "model_family", "--reference", "vitt"], "there is resnet, vit"),
        (["--by", "model_family", "--reference", "vit", "--rival", "mixer"], "there is resnet, vit"),
        (["--by", "model_family", "--reference", "vit", "--at", "1e23"], "one of them"),
        (["--by", "status", "--reference", "ok"], "no rival"),
        (["--by", "model_family", "--reference", "vit", "--target", "20"], "percent"),
        (["--by", "model_family", "--reference", "vit", "--select", "best"], "selection"),
    ],
)
def test_what_cannot_be_is_one_line(path, args, said):
    assert said in refused("compare", path, *args)
