"""TensorBoard and Weights & Biases, written from the records; each is read back with its own reader."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from sweeps.cli import app
from sweeps.trackers import TRACKERS, track
from sweeps.trackers.base import tracked_runs

from .folders import Kind, ids, write_sweep
from .runner.test_status import failed


@pytest.fixture
def night(tmp_path):
    kinds = [Kind(error=0.25), failed("no such file"), None]
    return write_sweep(tmp_path / "night", dict(zip(ids(3), kinds, strict=True)))


def test_a_run_has_its_config_its_curve_and_its_numbers(night):
    run = {run.run_id: run for run in tracked_runs(night)}[ids(1)[0]]
    assert run.config == {"seed": 0, "model.family": "vit", "model.width": 16, "recipe.lr": 0.003}
    assert [line["loss"] for line in run.curve] == [2.5, 1.25]
    ((step, numbers),) = run.evaluations
    assert (step, numbers["upstream_error"], numbers["compute_flops"]) == (100, 0.25, 1e12)
    assert run.final["status"] == "ok"
    assert run.ended - run.started == pytest.approx(2.5, abs=1e-6)  # wall_seconds, in floats of this size


def test_a_curve_that_ends_in_half_a_line(night):
    night.run(ids(1)[0]).metrics.write_text('{"step": 50, "loss": 2.5}\n{"step": 1')
    assert [len(run.curve) for run in tracked_runs(night) if run.run_id == ids(1)[0]] == [1]


def read_tensorboard(folder):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    found = accumulator.EventAccumulator(str(folder))
    found.Reload()
    return {tag: [(e.step, e.value) for e in found.Scalars(tag)] for tag in found.Tags()["scalars"]}, found


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the reader's protobuf and numpy
def test_tensorboard_reads_what_was_written_and_twice_is_once(night):
    pytest.importorskip("tensorboard")
    assert track(night, "tensorboard")[0] == 2
    scalars, found = read_tensorboard(night.folder / "tensorboard" / ids(1)[0])
    assert scalars["train/loss"] == [(50, 2.5), (100, 1.25)]
    assert scalars["record/upstream_error"] == [(100, 0.25)]
    assert "hparams" in found.Tags()["tensors"] or "hparams" in str(found.summary_metadata)
    assert track(night, "tensorboard")[0] == 0
    retried = night.run(ids(2)[1])
    new = night.run(ids(1)[0]).records.read_bytes().replace(ids(1)[0].encode(), ids(2)[1].encode())
    retried.records.write_bytes(new)
    assert track(night, "tensorboard")[0] == 1
    scalars, _ = read_tensorboard(night.folder / "tensorboard" / ids(2)[1])
    assert scalars["record/upstream_error"] == [(100, 0.25)]
    assert len(list((night.folder / "tensorboard" / ids(2)[1]).iterdir())) == 1


@pytest.mark.slow  # its client is a process of its own, which takes seconds
@pytest.mark.filterwarnings("ignore")  # the client's own
def test_wandb_offline_has_each_run_once(night, monkeypatch):
    pytest.importorskip("wandb", reason="the wandb extra is not installed")
    monkeypatch.setenv("WANDB_DATA_DIR", str(night.folder / "w"))
    assert track(night, "wandb")[0] == 2
    assert track(night, "wandb")[0] == 0
    runs = sorted((night.folder / "wandb").glob("offline-run-*"))
    assert sorted(run.name.rpartition("-")[2] for run in runs) == sorted(ids(2))
    assert all(list(run.glob("run-*.wandb")) for run in runs)


def test_writing_for_tensorboard_takes_no_torch(night):
    pytest.importorskip("tensorboard")
    code = (
        "import sys; from pathlib import Path; from sweeps.paths import SweepPaths; from sweeps.trackers import track;"
        "track(SweepPaths(Path(sys.argv[1])), 'tensorboard');"
        "print(*sorted({'torch', 'tensorflow', 'wandb'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(night.folder)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == ""


@pytest.mark.parametrize("name", TRACKERS)
def test_one_that_is_not_installed_is_one_line_with_its_extra(night, name, monkeypatch):
    monkeypatch.delitem(sys.modules, f"sweeps.trackers.{name}", raising=False)
    for module in [found for found in sys.modules if found.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)
    result = CliRunner().invoke(app, ["collect", str(night.folder), "--tracker", name])
    assert result.exit_code == 2
    assert f"{name} is not installed: pip install '.[{name}]' in the folder you cloned" in result.output


def test_an_unknown_tracker_is_told_before_anything_is_written(night):
    result = CliRunner().invoke(app, ["collect", str(night.folder), "--tracker", "tensorbord"])
    assert (result.exit_code, "--tracker must be one of ['tensorboard', 'wandb']" in result.output) == (2, True)
    assert not night.table("records").exists()
    with pytest.raises(ValueError, match="tracker must be one of"):
        track(night, "tensorbord")
