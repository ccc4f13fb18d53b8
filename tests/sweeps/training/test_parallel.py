"""Runs that several processes share, by gloo on the CPU: what one computes, to rounding, and nothing that hangs."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import torch

import sweeps.training.train as train
from sweeps.data.training import load_training_data, training_source
from sweeps.paths import SweepPaths, TrunkPaths
from sweeps.runner.jobs import run_trunk
from sweeps.training.parallel import device_group, train_on_devices
from sweeps.training.step import TrainingStep

from ..conftest import plan_of

pytestmark = pytest.mark.usefixtures("one_thread")

CPU = torch.device("cpu")
VIT = {"vit": [{"width": 16, "depth": 2, "patch": 4, "heads": 2}]}
# Relative: float32 (6e-8) sums in another order, which 40 steps of Adam amplify; the golden losses allow as much.
TOLERANCE = 1e-5
ONE_IMAGE = 1 / 300 + 1e-9  # of those evaluated: rounding may turn an answer that was a tie
# A batch of 15, so that two devices have 8 and 7 images.
SHARED = {"model": VIT, "train_examples": [200], "recipe__batch_size": 15, "recipe__drop_path": 0.2}


def trunk_of(**changes):
    (trunk,) = plan_of(**{**SHARED, **changes}).trunks
    return trunk


def records_of(trunk, folder, devices):
    """Each run's log and last record."""
    paths = SweepPaths(folder)
    statuses = run_trunk(trunk, paths, "test", devices, lambda *progress: None)
    traces = [paths.run(c.run_id).traceback for c in trunk.configs]
    assert statuses == {"ok": len(trunk.configs)}, [trace.read_text() for trace in traces if trace.exists()]
    runs = [paths.run(config.run_id) for config in trunk.configs]
    logs = [[json.loads(line) for line in run.metrics.read_text().splitlines()] for run in runs]
    return logs, [pd.read_parquet(run.records).iloc[-1] for run in runs]


def assert_the_same_to_rounding(found, expected):
    for log, other in zip(found[0], expected[0], strict=True):
        assert [line["step"] for line in log] == [line["step"] for line in other]
        assert [line["loss"] for line in log] == pytest.approx([line["loss"] for line in other], rel=TOLERANCE)
    for record, other in zip(found[1], expected[1], strict=True):
        assert record.upstream_loss == pytest.approx(other.upstream_loss, rel=TOLERANCE)
        assert record.upstream_error == pytest.approx(other.upstream_error, abs=ONE_IMAGE)


def test_two_devices_train_what_one_trains(tmp_path):
    one = records_of(trunk_of(), tmp_path / "one", ("cpu",))
    two = records_of(trunk_of(devices_per_run=2), tmp_path / "two", ("cpu", "cpu"))
    assert_the_same_to_rounding(two, one)
    assert not multiprocessing.active_children()


EVERYTHING = {
    "recipe__sam_rho": 0.05, "recipe__ema_decay": 0.9, "recipe__mixup": 0.5, "recipe__label_smoothing": 0.1,
    "recipe__grad_clip": 1.0, "evaluate__every": "10 steps",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3])
def test_devices_micro_batches_and_recomputed_blocks_together(tmp_path, count):
    one = records_of(trunk_of(**EVERYTHING), tmp_path / "one", ("cpu",))
    fields = {"devices_per_run": count, "micro_batches": 2, "checkpoint_activations": True}
    several = records_of(trunk_of(**EVERYTHING, **fields), tmp_path / "several", ("cpu",) * count)
    assert_the_same_to_rounding(several, one)
    assert [record.num_micro_batches for record in several[1]] == [2, 2]


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3])
def test_a_shared_run_that_is_cut_goes_on_bitwise(tmp_path, monkeypatch, count):
    monkeypatch.setenv("SWEEPS_CHECKPOINT_SECONDS", "0")
    trunk = trunk_of(steps=[20, 40], devices_per_run=count)
    data, devices = load_training_data(trunk.configs[0], CPU), ("cpu",) * count

    def logs(folder, on_step=lambda num_images: None):
        runs = train_on_devices(trunk.configs, data, TrunkPaths(folder), devices, on_step)
        return [(f.log, [p.tolist() for p in f.model.state_dict().values()]) for f in runs]

    steps = iter(range(1000))

    def cut(num_images):
        if next(steps) == 9:
            raise KeyboardInterrupt

    whole = logs(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        logs(tmp_path / "cut", cut)
    assert not multiprocessing.active_children()
    assert list((tmp_path / "cut").glob("*.pt"))
    assert logs(tmp_path / "cut") == whole


def test_a_peer_that_is_killed_ends_the_run_with_a_line(tmp_path):
    config = trunk_of(devices_per_run=2).configs[0]
    state, data = train.new_state(config, CPU), load_training_data(config, CPU)
    source = training_source(config, data, CPU)

    def train_and_kill():
        with device_group(config, ("cpu", "cpu")) as group:
            step = TrainingStep(config, CPU, group=group)
            step(state, source.batch(0))
            (peer,) = multiprocessing.active_children()
            os.kill(peer.pid, signal.SIGTERM)  # to stop is the first process's to decide
            step(state, source.batch(1))
            peer.kill()
            step(state, source.batch(2))

    with pytest.raises(RuntimeError, match=r"process on cpu \(of 2 devices\) died with exit code -9"):
        train_and_kill()
    assert state.step == 2
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_what_a_peer_raises_is_raised_here(tmp_path):
    trunk = trunk_of(devices_per_run=2)
    recipe = trunk.configs[0].recipe.model_copy(update={"teacher": str(tmp_path / "gone")})
    config = trunk.configs[0].model_copy(update={"recipe": recipe})
    with (
        pytest.raises(RuntimeError, match="on cpu: ValueError: no file") as caught,
        device_group(config, ("cpu", "cpu")) as group,
    ):
        group.begin(0, None)
    assert "load_model" in caught.value.__notes__[0]


def test_fewer_devices_than_a_run_takes(tmp_path):
    trunk = trunk_of(steps=[20], devices_per_run=2)
    paths = SweepPaths(tmp_path)
    assert run_trunk(trunk, paths, "test", ("cpu",), lambda *progress: None) == {"failed": 1}
    found = pd.read_parquet(paths.run(trunk.configs[0].run_id).records).failure[0]
    assert found == "ValueError: devices_per_run: the run takes 2 devices, got ['cpu']"


def train_for_ever(folder):
    config = trunk_of(steps=[10**6], devices_per_run=2).configs[0]
    runs = train_on_devices(
        [config], load_training_data(config, CPU), TrunkPaths(Path(folder)), ("cpu", "cpu"),
        lambda num_images: print(*(child.pid for child in multiprocessing.active_children()), flush=True),
    )  # fmt: skip
    list(runs)


def is_alive(pid):
    try:
        return "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the processes in /proc")
def test_peers_go_with_the_process_that_trains(tmp_path):
    code = f"from tests.sweeps.test_parallel import train_for_ever; train_for_ever({str(tmp_path)!r})"
    trainer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3])
    (peer,) = trainer.stdout.readline().split()
    assert is_alive(int(peer))
    trainer.kill()
    trainer.communicate()
    deadline = time.monotonic() + 20
    while is_alive(int(peer)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
