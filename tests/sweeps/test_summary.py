"""The summary of a sweep, from records written here: no training."""

import re

import numpy as np
import pandas as pd
import pytest

from scaling import write_records
from sweeps.summary import summarise, write_summary
from sweeps.summary.fits import _fit_frontier
from sweeps.summary.text import _one_frontier


def write_sweep(folder, law=lambda c: 0.5 * (c / 1e12) ** -0.3 + 0.05, n=60, num_classes=120, tasks=None, seed=0):
    """Runs above a known frontier, and tasks of which `shapes` follows upstream and `shuffled_labels` does not."""
    rng = np.random.default_rng(seed)
    compute = 10 ** rng.uniform(12, 15, n)
    error = np.minimum(law(compute) * np.exp(rng.exponential(0.05, n)), 0.99)
    records = pd.DataFrame(
        {
            "run_id": [f"r{i:03}" for i in range(n)],
            "trunk_id": [f"t{i // 2:03}" for i in range(n)],
            "step": 100,
            "weights": "last",
            "status": "ok",
            "cooled_down": True,
            "upstream_dataset": "procedural",
            "num_classes": num_classes,
            "model_family": ["vit", "resnet"] * (n // 2),
            "num_params": 1000,
            "compute_flops": compute,
            "upstream_error": error,
        }
    )
    tasks = tasks or {
        "shapes": lambda error: 0.6 * error**1.5 + 0.2,
        "shuffled_labels": lambda _: rng.uniform(0.88, 0.92, n),
    }
    evals = [
        {
            "run_id": run_id, "step": 100, "weights": "last", "task": task, "method": "fewshot", "probe": "whitened",
            "num_shots": shots, "layer": "pre_logits", "draw": 0, "error": value,
        }
        for task, error_of in tasks.items()
        for shots in (1, 10)
        for run_id, value in zip(records["run_id"], error_of(error), strict=True)
    ]  # fmt: skip
    write_records(records, folder / "records.parquet")
    write_records(pd.DataFrame(evals), folder / "evals.parquet", "evals")


def test_both_laws_are_recovered_and_written(tmp_path):
    write_sweep(tmp_path)
    text = write_summary(tmp_path, "known")
    summary = summarise(tmp_path, "known")
    assert [frontier.name for frontier in summary.frontiers] == ["all runs", "resnet", "vit"]
    for frontier in summary.frontiers:
        assert frontier.fit is not None
        assert frontier.fit.params["b"] == pytest.approx(0.3, abs=0.08)
    shapes = next(task for task in summary.tasks if task.name == "shapes")
    assert shapes.fit is not None
    assert shapes.fit.params["e_ir"] == pytest.approx(0.2, abs=0.02)
    assert shapes.num_shots == 10
    for name in ("frontier.png", "transfer.png", "summary.txt"):
        assert (tmp_path / name).stat().st_size > 0
    assert "E = a C^-b + c" in text
    assert "synthetic" in text
    assert re.search(r"negative control, labels at random: mean accuracy 0\.(09|10)", text)
    assert "c is told from 0" in text


def test_an_irreducible_error_that_is_not_identified_is_said(tmp_path):
    write_sweep(tmp_path, law=lambda c: 0.9 * (c / 1e12) ** -0.08)
    assert "c is NOT" in write_summary(tmp_path, "open")


def test_runs_near_chance_are_left_out_and_counted(tmp_path):
    write_sweep(tmp_path, num_classes=2)
    assert summarise(tmp_path, "two classes").num_near_chance > 0


def test_a_sweep_too_small_for_a_law_says_so(tmp_path):
    write_sweep(tmp_path, n=2)
    text = write_summary(tmp_path, "small")
    assert "no law: 'saturating_power' has 3 parameters" in text
    assert "no law: the selection has" in text
    assert not (tmp_path / "frontier.png").exists()


def test_a_run_without_an_error_is_left_out(tmp_path):
    write_sweep(tmp_path)
    records = pd.read_parquet(tmp_path / "records.parquet")
    records.loc[0, "upstream_error"] = 0.0
    write_records(records, tmp_path / "records.parquet")
    assert summarise(tmp_path, "perfect").frontiers[0].fit is not None


def test_only_finished_runs_are_fitted(tmp_path):
    write_sweep(tmp_path)
    records = pd.read_parquet(tmp_path / "records.parquet")
    bad = records.iloc[:2].assign(
        run_id=["x", "y"], status=["diverged", "ok"], cooled_down=False, upstream_error=[None, 0.0]
    )
    write_records(pd.concat([records, bad]), tmp_path / "records.parquet")
    assert len(summarise(tmp_path, "mixed").finished) == len(records)


def test_runs_of_another_spec_are_left_out_and_counted(tmp_path):
    write_sweep(tmp_path)
    text = write_summary(tmp_path, "edited", {f"r{i:03}" for i in range(50)})
    assert "Sweep edited: 50 evaluated models" in text
    assert "10 more in this folder are of another spec" in text


def with_rows(folder, **changes):
    """Further records that repeat the first ones with changes."""
    records = pd.read_parquet(folder / "records.parquet")
    n = len(next(iter(changes.values())))
    write_records(pd.concat([records, records.iloc[:n].assign(**changes)]), folder / "records.parquet")
    return len(records)


def test_checkpoints_that_are_only_evaluated_are_in_no_fit_and_counted(tmp_path):
    write_sweep(tmp_path)
    evals = pd.read_parquet(tmp_path / "evals.parquet")
    theirs = [evals[evals["run_id"] == "r000"].assign(run_id=run_id, step=0, error=0.01) for run_id in "xy"]
    write_records(pd.concat([evals, *theirs]), tmp_path / "evals.parquet", "evals")
    n = with_rows(tmp_path, run_id=["x", "y"], step=[0, 0], compute_flops=[0.0, 0.0], upstream_error=[None, 0.3])
    summary = summarise(tmp_path, "with checkpoints")
    assert len(summary.finished) == n
    assert summary.num_near_chance == 0
    assert {len(task.runs) for task in summary.tasks} == {n}
    assert "2 were only evaluated, not trained here, and are left out of both laws." in write_summary(tmp_path, "c")


def test_runs_that_stopped_early_are_counted_once_each(tmp_path):
    write_sweep(tmp_path)
    n = with_rows(tmp_path, run_id=["x", "x", "y"], step=[50, 80, 20], cooled_down=[False] * 3)
    with_rows(tmp_path, run_id=["r000"], step=[50], cooled_down=[False])  # evaluated on the way to its end
    summary = summarise(tmp_path, "stopped")
    assert (summary.num_stopped, len(summary.finished)) == (2, n)


def test_finished_runs_without_a_measurement_are_counted(tmp_path):
    write_sweep(tmp_path)
    records = pd.read_parquet(tmp_path / "records.parquet")
    records.loc[:2, "failure"] = ["no curvature: see traceback.txt"] * 2 + ["no margins: see traceback.txt"]
    records.loc[3, ["status", "failure"]] = ["failed", "told by its status"]
    write_records(records, tmp_path / "records.parquet")
    text = write_summary(tmp_path, "lacking")
    assert "2 finished runs have no curvature: see traceback.txt in the run's folder.\n" in text
    assert "1 finished run has no margins: see traceback.txt in the run's folder.\n" in text
    assert "told by its status" not in text


@pytest.fixture
def tuned_sweep(tmp_path):
    """30 cells of two rates; the one with the lower held-out error has the higher test error in a third of them."""
    write_sweep(tmp_path)
    records = pd.read_parquet(tmp_path / "records.parquet")
    cell, second = np.arange(60) // 2, np.arange(60) % 2 == 1
    records["model_family"], records["width"], records["lr"] = "vit", cell, np.where(second, 1e-2, 1e-3)
    records["upstream_error"] = records["upstream_error"].to_numpy()[2 * cell]
    records.loc[second & (cell % 3 == 0), "upstream_error"] *= 1.1
    records["upstream_val_error"] = np.where(second, 0.2, 0.3)
    write_records(records, tmp_path / "records.parquet")
    return tmp_path


def test_of_what_was_tuned_the_best_on_held_out_images_is_fitted(tuned_sweep):
    summary = summarise(tuned_sweep, "tuned", tuned=["lr"])
    assert len(summary.finished) == 30
    assert summary.finished["lr"].eq(1e-2).all()  # chosen where it is worse on the test images too
    assert summary.tasks[0].runs["lr"].eq(1e-2).all()
    text = write_summary(tuned_sweep, "tuned", tuned=["lr"])
    assert "tuned: lr; of each of 30 cells the best on held-out images is fitted" in text
    assert "warning: in 30 of 30 cells the best value is at the end of those tried" in text


def test_without_held_out_errors_nothing_is_chosen_and_the_text_says_so(tuned_sweep):
    records = pd.read_parquet(tuned_sweep / "records.parquet").drop(columns="upstream_val_error")
    write_records(records, tuned_sweep / "records.parquet")
    text = write_summary(tuned_sweep, "tuned", tuned=["lr"])
    assert "warning: every lr is fitted, not the best of each cell: column 'upstream_val_error'" in text


def test_a_sweep_in_which_nothing_came_to_its_end_says_so(tmp_path):
    write_sweep(tmp_path, n=2)
    records = pd.read_parquet(tmp_path / "records.parquet").assign(
        status="diverged", cooled_down=False, upstream_error=None
    )
    write_records(records, tmp_path / "records.parquet")
    text = write_summary(tmp_path, "nothing")
    assert "No run has come to its end: there is nothing to fit." in text
    assert "nan" not in text


def test_a_straight_hull_shows_no_saturation(tmp_path):
    write_sweep(tmp_path, tasks={"shapes": lambda error: 0.2 + 0.6 * error})
    assert "not seen" in write_summary(tmp_path, "straight")


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_a_law_through_as_many_points_as_parameters_is_said_to_be_unchecked():
    names = list("abc")
    columns = {"run_id": names, "trunk_id": names, "compute_flops": [1e12, 1e13, 1e14]}
    columns |= {"upstream_error": [0.5, 0.3, 0.2], "upstream_num_eval": 1000}
    frontier = _fit_frontier("all runs", pd.DataFrame(columns))
    assert frontier.verdict == "the law CANNOT be checked"
    assert "nan" not in "\n".join(_one_frontier(frontier))
