"""`scaling frontier`: each option reaches the library, and the numbers are the library's."""

import numpy as np
import pytest

import scaling as sc
from scaling.selection.usable import trainings

from .calls import answer, call, refused, table

pytestmark = pytest.mark.filterwarnings("ignore::scaling.FitWarning")
FEW = ("--draws", 50)


def direct(runs, selection="stochastic", seed=0, **options):
    x, y = runs["compute_flops"], runs["upstream_error"]
    return sc.fit_frontier(x, y, selection=selection, num_draws=50, rng=np.random.default_rng(seed), **options)


def test_the_default_is_the_lower_edge_of_all_runs(path, runs):
    found, front = answer("frontier", path, *FEW), direct(runs)
    row = found["rows"][0]
    assert {name: row[name] for name in "abc"} == front.params
    assert (row["b_low"], row["b_high"]) == front.interval("b")
    assert (row["num_runs"], row["num_selected"]) == (60, front.selected.size)
    assert row["irreducible_error"] == front.params["c"]
    assert row["intervals"] == "posterior"
    assert found["fits"]["all runs"]["run_ids"] == runs["run_id"].iloc[front.selected].tolist()
    assert "left_out" in found


@pytest.mark.parametrize(
    ("given", "options"),
    [
        (["--select", "pareto"], {"selection": "pareto"}),
        (["--select", "all"], {"selection": "all"}),
        (["--select", "convex_hull", "--hull-axes", "log"], {"selection": "convex_hull", "hull_axes": "log"}),
        (["--select", "pareto", "--objective", "least_squares"], {"selection": "pareto", "objective": "least_squares"}),
        (
            ["--select", "pareto", "--intervals", "case_bootstrap"],
            {"selection": "pareto", "intervals": "case_bootstrap"},
        ),
        (["--law", "power"], {"law": "power"}),
        (["--seed", "3"], {"seed": 3}),
    ],
)
def test_an_option_is_that_of_the_library(path, runs, given, options):
    row, front = answer("frontier", path, *FEW, *given)["rows"][0], direct(runs, **options)
    assert {name: row[name] for name in front.params} == front.params
    assert (row["b_low"], row["b_high"]) == front.interval("b")
    assert row["num_selected"] == front.selected.size
    assert row["intervals"] == front.intervals


def test_level_and_draws(path, runs):
    row = answer("frontier", path, "--draws", 60, "--level", 0.8)["rows"][0]
    front = sc.fit_frontier(
        runs["compute_flops"], runs["upstream_error"], selection="stochastic", num_draws=60,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert (row["b_low"], row["b_high"]) == front.interval("b", 0.8)


def test_groups_are_told_beside_all_runs(path, runs):
    rows = answer("frontier", path, *FEW, "--by", "model_family")["rows"]
    assert [row["group"] for row in rows] == ["all runs", "resnet", "vit"]
    of_vit = runs[runs["model_family"] == "vit"]
    assert rows[2]["b"] == direct(of_vit).params["b"]
    assert rows[2]["num_runs"] == len(of_vit)


def test_predictions_and_targets(path, runs):
    given = ["--at", "1e23", "--at", "2e22", "--target", "0.12"]
    found, front = answer("frontier", path, *FEW, *given)["predictions"], direct(runs)
    band = front.predict([1e23, 2e22], 0.95)
    assert [row["low"] for row in found[:2]] == band.low.tolist()
    assert [row["median"] for row in found[:2]] == band.median.tolist()
    assert [found[2][name] for name in ("median", "low", "high")] == [
        ends[0] if np.isfinite(ends[0]) else "inf" for ends in front.solve_for_x([0.12], 0.95)
    ]
    assert found[2]["quantity"] == "compute_flops"
    assert table("frontier", path, *FEW, *given)[0]["at"] == "1e+23"


def test_a_target_that_is_never_reached_is_no(path):
    found = answer("frontier", path, *FEW, "--target", "0.001", exit_code=1)
    assert found["predictions"][0]["median"] == "inf"


def test_the_runs_on_the_frontier(path, runs):
    rows = table("frontier", path, *FEW, "--select", "pareto", "--runs")
    front = direct(runs, "pareto")
    assert [row["run_id"] for row in rows] == runs["run_id"].iloc[front.selected].tolist()
    assert {"group", "depth", "num_params", "compute_flops", "upstream_error"} <= rows[0].keys()


def test_other_columns_and_rows(path, runs):
    found = answer("frontier", path, *FEW, "--x", "num_params", "--task", "pets", "--where", "depth > 1")
    kept = runs[runs["depth"] > 1]
    front = sc.fit_frontier(
        kept["num_params"], kept["pets_10shot_error"], selection="stochastic", num_draws=50,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert found["rows"][0]["b"] == front.params["b"]


def test_branches_of_a_trunk_are_drawn_together(tmp_path, runs):
    trunks = runs.assign(trunk_id=[f"t{i // 3}" for i in range(len(runs))])
    trunks.to_parquet(tmp_path / "r.parquet")
    row = answer("frontier", tmp_path / "r.parquet", *FEW, "--select", "pareto")["rows"][0]
    front = direct(trunks, "pareto", groups=trainings(trunks))
    assert row["intervals"] == "case_bootstrap"
    assert (row["b_low"], row["b_high"]) == front.interval("b")
    alone = answer("frontier", tmp_path / "r.parquet", *FEW, "--select", "pareto", "--intervals", "simulated_world")
    assert alone["rows"][0]["intervals"] == "simulated_world"


def test_what_is_left_out_is_told_and_so_are_warnings(tmp_path, runs):
    status = ["diverged", *["ok"] * 59]
    runs.assign(status=status).to_parquet(tmp_path / "r.parquet")
    shown = call("frontier", tmp_path / "r.parquet", *FEW, "--select", "pareto").stdout
    assert "left out: 1 not ok (diverged, failed)" in shown
    given = ["--where", "compute_flops < 8e18", "--select", "all"]
    short = call("frontier", tmp_path / "r.parquet", *FEW, *given)
    assert "under_one_decade" in short.stdout


def test_a_group_without_a_law_has_its_reason(tmp_path, runs):
    runs.assign(model_family=["rare", *["vit"] * 59]).to_parquet(tmp_path / "r.parquet")
    rows = answer("frontier", tmp_path / "r.parquet", *FEW, "--by", "model_family")["rows"]
    assert rows[1]["group"] == "rare"
    assert rows[1]["reason"]
    assert rows[1].get("b") is None
    none = answer("frontier", tmp_path / "r.parquet", "--where", "model_family == 'rare'", exit_code=1)
    assert none["rows"][0]["reason"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--select", "best"], "selection must be one of"),
        (["--law", "powr"], "power"),
        (["--objective", "huber"], "--objective goes with"),
        (["--intervals", "case_bootstrap"], "posterior"),
        (["--select", "pareto", "--hull-axes", "log"], "hull_axes"),
        (["--x", "compute_flop"], "compute_flops"),
        (["--by", "family"], "model_family"),
        (["--y", "pets_10shot_error", "--task", "pets"], "--y and --task"),
    ],
)
def test_wrong_use_is_one_line(path, given, said):
    assert said in refused("frontier", path, *FEW, *given)


def test_figures(path, tmp_path, monkeypatch):
    """Coloured by family, with the units of the columns, and of several groups side by side."""
    drawn = []
    plot = sc.plots.plot_frontier
    monkeypatch.setattr(sc.plots, "plot_frontier", lambda *args, **given: drawn.append(given) or plot(*args, **given))
    file = tmp_path / "f.svg"
    assert call("frontier", path, *FEW, "--figure", file, "--x", "num_params", "--beside").exit_code == 0
    assert file.read_text().startswith("<?xml")
    assert drawn[0]["x_label"] == "model size (parameters)"
    assert set(drawn[0]["groups"]) == {"vit", "resnet"}
    assert drawn[0]["beside"].selection == "pareto"
    call("frontier", path, *FEW, "--figure", tmp_path / "g.png", "--by", "model_family", "--select", "all")
    assert len(drawn) == 4
    assert drawn[1]["beside"] is None


def test_a_run_of_any_name(tmp_path, runs):
    names = [r"$\frac{", "<script>alert(1)</script>", "_x", "long" * 2500, "\U0001f9ea", *runs["run_id"][5:]]
    hostile = runs.assign(run_id=names, model_family=[r"$\frac{", "_x", "\U0001f9ea"] * 20)
    hostile.to_parquet(tmp_path / "r.parquet")
    given = ["--select", "all", "--intervals", "case_bootstrap"]
    result = call("frontier", tmp_path / "r.parquet", *FEW, *given, "--figure", tmp_path / "f.svg")
    assert result.exit_code == 0
    assert "<script>" not in (tmp_path / "f.svg").read_text()
    rows = table("frontier", tmp_path / "r.parquet", *FEW, *given, "--runs")
    assert [row["run_id"] for row in rows] == names  # whole


def test_a_target_in_percent_is_refused(path):
    assert "percent" in refused("frontier", path, "--target", 15)
