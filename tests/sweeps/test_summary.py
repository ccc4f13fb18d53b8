"""The summary of a sweep, from records written here: no training."""

import re

import numpy as np
import pandas as pd
import pytest

from scaling import write_records
from sweeps.summary import summarise, write_summary


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


def test_a_straight_hull_shows_no_saturation(tmp_path):
    write_sweep(tmp_path, tasks={"shapes": lambda error: 0.2 + 0.6 * error})
    assert "not seen" in write_summary(tmp_path, "straight")
