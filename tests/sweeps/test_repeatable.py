"""The same sweep again, and with more runs side by side, gives the same records to the last bit."""

import pandas as pd
import yaml

from scaling import read_evals
from sweeps.paths import SweepPaths
from sweeps.run import run_sweep

from .conftest import changed, plan_of
from .test_run import results

CHANGES = {"train_examples": [200], "downstream__tasks": ["shapes"], "downstream__shots": [1]}


def test_one_or_two_runs_side_by_side_give_the_same_records(tmp_path):
    plan = plan_of(**CHANGES)
    folders = {slots: tmp_path / str(slots) for slots in (1, 2)}
    for slots, folder in folders.items():
        status = run_sweep(plan, yaml.safe_dump(changed(**CHANGES)), folder, devices=["cpu"] * slots)
        assert status.statuses == {"ok": 4}
    # Not of nothing: the errors are among what is compared.
    alone, together = (results(folder) for folder in folders.values())
    pd.testing.assert_frame_equal(alone, together, check_exact=True)
    evals = [
        read_evals(f).sort_values(["run_id", "task", "probe", "draw"], ignore_index=True) for f in folders.values()
    ]
    pd.testing.assert_frame_equal(*evals, check_exact=True)
    for config in plan.configs:
        metrics = [SweepPaths(folder).run(config.run_id).metrics.read_bytes() for folder in folders.values()]
        assert metrics[0] == metrics[1] != b""
