"""The same trainings on every engine leave the same records, bit for bit, times and devices apart."""

from pathlib import Path

import pandas as pd
import pytest

from scaling import read_evals
from sweeps.engines import ENGINES
from sweeps.paths import SweepPaths
from sweeps.runner.jobs import run_trunk

from ..conftest import plan_of
from ..runner.test_run import results

SMALL = {"train_examples": [200], "steps": [10, 20], "downstream__shots": [1]}


def trained(engine, plan, folder: Path) -> dict[str, str]:
    """Each run's log, once all trainings have gone through the engine."""
    paths = SweepPaths(folder)
    events = engine.run(run_trunk, [(trunk, paths, plan.name) for trunk in plan.trunks])
    ends = {event.job: event for event in events if event.kind != "progress"}
    assert [(ends[i].kind, ends[i].value) for i in range(len(plan.trunks))] == [("done", {"ok": 2})] * len(plan.trunks)
    return {config.run_id: paths.run(config.run_id).metrics.read_text() for config in plan.configs}


def evals(folder: Path) -> pd.DataFrame:
    """In the order of their runs; those of a run lie in one file."""
    return read_evals(folder).sort_values(["run_id"], kind="stable").reset_index(drop=True)


@pytest.fixture(scope="module")
def on_this_machine(tmp_path_factory):
    """Trained in this process, without an engine."""
    plan, folder = plan_of(**SMALL), tmp_path_factory.mktemp("here")
    for trunk in plan.trunks:
        assert run_trunk(trunk, SweepPaths(folder), plan.name, ("cpu",), lambda *_: None) == {"ok": 2}
    paths = SweepPaths(folder)
    return plan, folder, {config.run_id: paths.run(config.run_id).metrics.read_text() for config in plan.configs}


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_gives_the_same_records(make, name, tmp_path, on_this_machine):
    plan, folder, logs = on_this_machine
    assert len(plan.trunks) == 2  # one of each family
    assert trained(make(name, slots=1), plan, tmp_path) == logs
    pd.testing.assert_frame_equal(results(tmp_path), results(folder), check_exact=True)
    pd.testing.assert_frame_equal(evals(tmp_path), evals(folder), check_exact=True)
