"""Measurements of real runs: their rows, what they leave alone, what happens where one fails."""

import pandas as pd
import pytest

import scaling as sc
from sweeps.measure import MEASUREMENTS, weight_norms
from sweeps.paths import SweepPaths
from sweeps.runner.jobs import run_trunk

from ..conftest import plan_of

TINY = {"model": {"vit": [{"width": 16, "depth": 1, "patch": 4}]}, "train_examples": 200, "downstream": None}


def run(folder, **changes):
    plan = plan_of(**TINY, **changes)
    for trunk in plan.trunks:
        run_trunk(trunk, SweepPaths(folder), plan.name, ("cpu",), lambda images, runs: None)
    return sc.read_records(folder, weights=None)


def test_each_model_is_measured_at_its_end(tmp_path):
    changes = {"measure": {"names": ["weight_norms"]}, "recipe__ema_decay": 0.9, "evaluate__every": "10 steps"}
    records = run(tmp_path, **changes)
    rows = sc.read_measurements(tmp_path)
    keys = rows[["run_id", "step", "weights"]].drop_duplicates()
    ends = records[(records["step"] == records["planned_steps"]) & (records["weights"] != "best")]
    assert set(keys[keys["weights"] != "best"].itertuples(index=False)) == set(
        ends[["run_id", "step", "weights"]].itertuples(index=False)
    )
    assert set(rows["name"]) == {"weight_norm", "weight_norm_body", "distance_to_init"}
    assert (rows.loc[rows["name"] == "distance_to_init", "value"] > 0).all()


def test_measuring_changes_nothing_of_the_training(tmp_path):
    plain, measured = run(tmp_path / "plain"), run(tmp_path / "measured", measure={"names": "all"})
    columns = ["step", "upstream_error", "upstream_loss", "train_loss"]
    pd.testing.assert_frame_equal(
        *(frame[columns].sort_values("step", ignore_index=True) for frame in (plain, measured))
    )
    assert set(measured["run_id"]).isdisjoint(plain["run_id"])
    assert measured["failure"].isna().all()


@pytest.mark.parametrize("how", ["raises", "nan"])
def test_a_measurement_that_fails_costs_neither_the_run_nor_the_others(tmp_path, monkeypatch, how):
    def measure(subject):
        yield subject.row("weight_norm", 1.0, layer="head")
        if how == "raises":
            raise RuntimeError("no luck")
        yield subject.row("weight_norm", float("nan"), layer="block_1")

    monkeypatch.setattr(weight_norms, "measure", measure)
    records = run(tmp_path, measure={"names": ["weight_norms"]}, steps=20)
    assert records["status"].tolist() == ["ok"]
    assert records["failure"].tolist() == ["no weight_norms: see traceback.txt"]
    trace = next(tmp_path.glob("runs/*/traceback.txt")).read_text()
    assert ("no luck" if how == "raises" else "1 of 2 values are no finite number") in trace


def test_of_all_a_model_gives_what_it_can_and_an_impossible_one_is_told_before_training(monkeypatch):
    monkeypatch.setitem(
        MEASUREMENTS, "attention", MEASUREMENTS["weight_norms"].__class__((), "", lambda config: "it has no attention")
    )
    config = plan_of(**TINY, measure={"names": "all"}).configs[0]
    assert "attention" not in config.measure.names
    assert "weight_norms" in config.measure.names
    with pytest.raises(ValueError, match=r"measure.names: vit w16d1/4 has no attention: it has no attention"):
        plan_of(**TINY, measure={"names": ["attention"]})
    with pytest.raises(ValueError, match=r"measure.names.0: must be 'all' or of .*got 'weights'"):
        plan_of(**TINY, measure={"names": ["weights"]})


def test_options_that_say_nothing_tell_no_two_runs_apart():
    plain, *others = (
        plan_of(**TINY, **changes).configs[0].run_id
        for changes in ({}, {"measure": {"names": [], "max_examples": 9}}, {"recipe__attack_steps": 3})
    )
    assert others == [plain] * 2
    of_all = {"names": "all", "landscape_points": 7, "robustness_examples": 8}
    assert plan_of(**TINY, measure=of_all).configs[0].measure.landscape_points == 7
