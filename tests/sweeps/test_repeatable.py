"""The same sweep again, and with more runs side by side, gives the same records to the last bit."""

import pandas as pd
import yaml

from scaling import read_evals
from sweeps.paths import SweepPaths
from sweeps.runner.run import run_sweep

from .conftest import changed, plan_of
from .runner.test_run import results


def test_one_or_two_runs_side_by_side_give_the_same_records(tiny_sweep, tmp_path):
    """Four of the runs again, one after the other; two workers trained them among others."""
    changes = {"train_examples": [200]}
    plan = plan_of(**changes)
    status = run_sweep(plan, yaml.safe_dump(changed(**changes)), tmp_path, devices=["cpu"])
    assert status.statuses == {"ok": 4}
    run_ids = [config.run_id for config in plan.configs]

    def those(rows):
        return rows[rows["run_id"].isin(run_ids)].reset_index(drop=True)

    # Not of nothing: the errors are among what is compared.
    alone, together = results(tmp_path), those(results(tiny_sweep.folder))
    assert len(alone) == 4
    pd.testing.assert_frame_equal(alone, together, check_exact=True)
    evals = [
        those(read_evals(folder)).sort_values(["run_id", "task", "probe", "num_shots", "draw"], ignore_index=True)
        for folder in (tmp_path, tiny_sweep.folder)
    ]
    pd.testing.assert_frame_equal(*evals, check_exact=True)
    for run_id in run_ids:
        metrics = [SweepPaths(folder).run(run_id).metrics.read_bytes() for folder in (tmp_path, tiny_sweep.folder)]
        assert metrics[0] == metrics[1] != b""
