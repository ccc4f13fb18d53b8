"""`scaling transfer`: each option reaches the library, and the numbers are the library's."""

import numpy as np
import pytest

import scaling as sc
from scaling import transfer
from scaling.selection.usable import trainings
from scaling.transfer.task_columns import find_tasks

from .calls import answer, call, refused, table

pytestmark = pytest.mark.filterwarnings("ignore::scaling.FitWarning")
FEW = ("--draws", 50)
ONE = (*FEW, "--task", "pets")


def direct(runs, selection="stochastic", seed=0, column="pets_10shot_error", **options):
    rng = np.random.default_rng(seed)
    accuracies = 1 - runs["upstream_error"], 1 - runs[column]
    return sc.fit_transfer(*accuracies, selection=selection, num_draws=50, rng=rng, **options)


def test_all_tasks_are_found(path, runs):
    rows = answer("transfer", path, *FEW)["rows"]
    assert [(row["task"], row["num_shots"]) for row in rows] == [("pets", 10), ("pets", 5)]
    for row in rows:
        trans = direct(runs, column=row["column"])
        assert {name: row[name] for name in trans.params} == trans.params
        assert (row["e_ir_low"], row["e_ir_high"]) == trans.interval("e_ir")
        assert row["saturation"] == trans.saturation
        assert (row["saturation_low"], row["saturation_high"]) == trans.saturation_interval(0.95)
        assert (row["num_models"], row["num_selected"]) == (60, trans.selected.size)


@pytest.mark.parametrize(
    ("given", "options"),
    [
        (["--select", "convex_hull"], {"selection": "convex_hull"}),
        (["--select", "pareto"], {"selection": "pareto"}),
        (["--select", "all", "--objective", "log_huber"], {"selection": "all", "objective": "log_huber"}),
        (
            ["--select", "convex_hull", "--anchors", "chance", "--anchors", "flat_right", "--chance", "0.001:0.05"],
            {"selection": "convex_hull", "anchors": ("chance", "flat_right"), "chance": (0.001, 0.05)},
        ),
        (
            ["--select", "convex_hull", "--hull-points", "sampled"],
            {"selection": "convex_hull", "hull_points": "sampled"},
        ),
        (["--window", "0.5:0.88"], {"window": (0.5, 0.88)}),
        (["--bayes-error", "0.05"], {"upstream_bayes_error": 0.05}),
        (
            ["--select", "pareto", "--intervals", "case_bootstrap"],
            {"selection": "pareto", "intervals": "case_bootstrap"},
        ),
        (["--seed", "2"], {"seed": 2}),
        (["--shots", "5"], {"column": "pets_5shot_error"}),
    ],
)
def test_an_option_is_that_of_the_library(path, runs, given, options):
    row, trans = answer("transfer", path, *ONE, *given)["rows"][0], direct(runs, **options)
    assert {name: row[name] for name in trans.params} == trans.params
    assert (row["e_ir_low"], row["e_ir_high"]) == trans.interval("e_ir")
    assert (row["saturation"], row["num_selected"]) == (trans.saturation, trans.selected.size)
    assert row["intervals"] == trans.intervals


def test_draws_and_level(path, runs):
    row = answer("transfer", path, "--task", "pets", "--draws", 60, "--level", 0.8)["rows"][0]
    trans = sc.fit_transfer(
        1 - runs["upstream_error"], 1 - runs["pets_10shot_error"], selection="stochastic", num_draws=60,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert (row["alpha_low"], row["alpha_high"]) == trans.interval("alpha", 0.8)


def test_predictions(path, runs):
    found = answer("transfer", path, *ONE, "--at", "0.9", "--at", "0.95")["predictions"]
    band = direct(runs).predict([0.9, 0.95], 0.95)
    assert [row["median"] for row in found] == band.median.tolist()
    assert [row["high"] for row in found] == band.high.tolist()
    assert found[0]["group"] == "pets_10shot_error"


def test_groups_columns_and_rows(path, runs):
    given = ["--by", "model_family", "--where", "depth > 0"]
    rows = answer("transfer", path, *ONE, *given)["rows"]
    assert [row["group"] for row in rows] == ["all runs", "resnet", "vit"]
    kept = runs[(runs["depth"] > 0) & (runs["model_family"] == "vit")]
    assert rows[2]["k"] == direct(kept).params["k"]
    other = answer("transfer", path, *FEW, "--upstream", "pets_5shot_error", "--y", "pets_10shot_error")["rows"]
    trans = sc.fit_transfer(
        1 - runs["pets_5shot_error"], 1 - runs["pets_10shot_error"], selection="stochastic", num_draws=50,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert [row["k"] for row in other] == [trans.params["k"]]


def test_branches_of_a_trunk_are_drawn_together(tmp_path, runs):
    trunks = runs.assign(trunk_id=[f"t{i // 3}" for i in range(len(runs))])
    trunks.to_parquet(tmp_path / "r.parquet")
    row = answer("transfer", tmp_path / "r.parquet", *ONE, "--select", "pareto")["rows"][0]
    assert (row["k_low"], row["k_high"]) == direct(trunks, "pareto", groups=trainings(trunks)).interval("k")


def test_scalings(path, runs):
    found = answer("transfer", path, "--task", "pets", "--scalings", "--level", 0.9)["rows"]
    expected = transfer.compare_scalings(1 - runs["upstream_error"], 1 - runs["pets_10shot_error"], level=0.9)
    assert [row["scaling"] for row in found] == expected.index.tolist()
    assert [row["r2_accuracy"] for row in found] == expected["r2_accuracy"].tolist()
    assert [row["slope_low"] for row in found] == expected["slope_low"].tolist()


def test_tasks_of_other_ways(tmp_path, runs):
    columns = {"pets_10shot_error": "pets_zero_shot_error", "pets_5shot_error": "cars_finetune_error"}
    wide = runs.rename(columns=columns).assign(empty_5shot_error=np.nan)
    wide.to_parquet(tmp_path / "r.parquet")
    rows = answer("transfer", tmp_path / "r.parquet", *FEW)["rows"]
    assert [(row["task"], row["num_shots"]) for row in rows] == [("pets", None), ("cars", None)]
    for task, method in (("pets", "zero_shot"), ("cars", "finetune")):
        given = ["--task", task, "--method", method]
        assert len(answer("transfer", tmp_path / "r.parquet", *FEW, *given)["rows"]) == 1
    assert find_tasks(wide)[0] == ("pets", None, "pets_zero_shot_error")


def test_a_task_without_a_law_has_its_reason(tmp_path, runs):
    runs.assign(flat_10shot_error=0.5).to_parquet(tmp_path / "r.parquet")
    rows = answer("transfer", tmp_path / "r.parquet", *FEW, "--select", "convex_hull")["rows"]
    assert [bool(row["reason"]) for row in rows] == [False, False, True]
    alone = ["--task", "flat", "--select", "convex_hull"]
    assert answer("transfer", tmp_path / "r.parquet", *FEW, *alone, exit_code=1)["rows"][0]["reason"]


def test_what_is_left_out_and_warned_of_is_told(tmp_path, runs):
    runs.assign(pets_10shot_error=[0.0, *runs["pets_10shot_error"][1:]]).to_parquet(tmp_path / "r.parquet")
    shown = call("transfer", tmp_path / "r.parquet", *FEW, "--select", "convex_hull").stdout
    assert "pets_10shot_error: left out: 1 with pets_10shot_error of 0" in shown
    found = answer("transfer", tmp_path / "r.parquet", *FEW)
    assert found["left_out"]["pets_10shot_error"] == {"with pets_10shot_error of 0, which has no logarithm": 1}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--task", "pet"], "near: pets_10shot_error"),
        (["--task", "cars"], "tasks: pets (10-shot), pets (5-shot)"),
        (["--task", "pets", "--shots", "25"], "pets_25shot_error"),
        (["--upstream", "upstream_err"], "upstream_error"),
        (["--select", "hull"], "selection must be one of"),
        (["--window", "0.45"], "LOW:HIGH"),
        (["--chance", "a:b"], "LOW:HIGH"),
        (["--window", "0.5:0.2"], "window"),
        (["--select", "convex_hull", "--anchors", "chance"], "chance"),
        (["--select", "convex_hull", "--hull-points", "all"], "hull_points"),
        (["--objective", "huber"], "--objective goes with"),
        (["--bayes-error", "0.5"], "upstream_bayes_error"),
        (["--at", "1.5"], "upstream_accuracy"),
    ],
)
def test_wrong_use_is_one_line(path, given, said):
    assert said in refused("transfer", path, *FEW, *given)


def test_records_without_tasks(tmp_path, runs):
    runs[["run_id", "step", "weights", "upstream_error"]].to_parquet(tmp_path / "r.parquet")
    assert "no column is named" in refused("transfer", tmp_path / "r.parquet")


def test_figures(path, tmp_path, monkeypatch):
    drawn = []
    plot = sc.plots.plot_transfer
    monkeypatch.setattr(sc.plots, "plot_transfer", lambda *args, **given: drawn.append(given) or plot(*args, **given))
    given = ["--figure", tmp_path / "f.svg", "--beside", "--select", "pareto"]
    assert call("transfer", path, *FEW, *given).exit_code == 0
    assert [given["task"] for given in drawn] == ["pets 10-shot", "pets 5-shot"]
    assert drawn[0]["beside"].selection == "convex_hull"
    assert set(drawn[0]["groups"]) == {"vit", "resnet"}
    call("transfer", path, *ONE, "--figure", tmp_path / "f.svg", "--select", "convex_hull")
    assert drawn[2]["beside"] is None
    assert call("transfer", path, "--scalings", "--figure", tmp_path / "s.png").exit_code == 0
    assert (tmp_path / "s.png").stat().st_size > 0


def test_the_csv_has_the_table(path):
    assert table("transfer", path, *ONE)[0]["task"] == "pets"


def test_of_a_data_set_without_upstream_errors_upstream_is_its_own():
    found = answer("transfer", "dosovitskiy2020_table5", "--select", "all", "--draws", 2)
    assert found == answer(
        "transfer", "dosovitskiy2020_table5", "--select", "all", "--draws", 2, "--upstream", "imagenet_finetune_error"
    )
    columns = [row["column"] for row in found["rows"]]
    assert "cifar100_finetune_error" in columns
    assert "imagenet_finetune_error" not in columns  # a straight line against itself
