"""Checkpoints: whole ones only, the newest first, one's own, and no others."""

import contextlib
import copy
import json
import os

import numpy as np
import pytest
import torch

import sweeps.training.checkpoints as module
import sweeps.training.train as train
from sweeps.data.training import load_training_data
from sweeps.paths import TrunkPaths
from sweeps.specs.grid import Trunk
from sweeps.training.checkpoints import CheckpointClock, Checkpoints
from sweeps.training.state import TrainingState

from .test_train import interrupt_after, result, run, trunks

CPU = torch.device("cpu")

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def every_step(monkeypatch):
    monkeypatch.setenv("SWEEPS_CHECKPOINT_SECONDS", "0")


def saved(folder, *steps, owner="a"):
    checkpoints = Checkpoints(folder, owner)
    for step in steps:
        checkpoints.save({"step": step, "weights": torch.full((100,), float(step))}, step)
    return checkpoints


def loaded(checkpoints, last_step=10**9):
    found = checkpoints.load(last_step)
    return found and found["step"]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_newest_and_the_one_before_it_are_kept(tmp_path):
    saved(tmp_path, 1, 2, 3)
    assert names(tmp_path) == [
        "checkpoint-2-2.json", "checkpoint-2-2.pt", "checkpoint-3-3.json", "checkpoint-3-3.pt",
    ]  # fmt: skip


def test_the_newest_is_by_number_and_not_by_name(tmp_path):
    """In the order of text 9 comes after 10."""
    assert loaded(saved(tmp_path, 9, 10)) == 10
    assert loaded(saved(tmp_path / "more", 99, 100, 101)) == 101


def test_one_past_the_asked_step_is_not_taken(tmp_path):
    checkpoints = saved(tmp_path, 5, 10)
    assert loaded(checkpoints, 9) == 5
    assert loaded(checkpoints, 4) is None


def test_what_was_saved_last_at_a_step_is_taken(tmp_path):
    checkpoints = Checkpoints(tmp_path, "a")
    for evaluated in (False, True):
        checkpoints.save({"step": 7, "evaluated": evaluated}, 7)
    assert checkpoints.load(7)["evaluated"] is True


def test_those_of_an_earlier_longer_training_do_not_push_out_new_ones(tmp_path):
    assert loaded(saved(tmp_path, 500, 510, 20, 30), 100) == 30
    assert loaded(Checkpoints(tmp_path, "a")) == 30


DAMAGES = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "one bit": lambda content: content[:300] + bytes([content[300] ^ 1]) + content[301:],
    "longer": lambda content: content + b"\0",
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("suffix", ["pt", "json"])
def test_of_a_damaged_one_the_one_before_it_is_taken_and_a_line_says_so(tmp_path, capfd, damage, suffix):
    checkpoints = saved(tmp_path, 9, 10)
    path = tmp_path / f"checkpoint-10-2.{suffix}"
    content = path.read_bytes()
    damaged = DAMAGES[damage](content if suffix == "pt" else content.rjust(400, b" ").replace(b" ", b"{", 1))
    path.write_bytes(damaged)
    assert loaded(checkpoints) == 9
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"checkpoint {path} is not taken: ")
    (tmp_path / "checkpoint-9-1.pt").unlink()
    assert loaded(checkpoints) is None


def test_one_of_another_trunk_is_not_taken(tmp_path, capfd):
    saved(tmp_path, 10)
    assert loaded(Checkpoints(tmp_path, "b")) is None
    assert "is not taken: it is of 'a', not of 'b'" in capfd.readouterr().err


def test_a_manifest_cannot_name_a_file_elsewhere(tmp_path):
    saved(tmp_path, 10)
    path = tmp_path / "checkpoint-10-1.json"
    for wrong in ({"step": "10"}, {"step": 11}, {"file": "/etc/passwd"}, {"serial": "../1"}):
        path.write_text(json.dumps(json.loads(path.read_text()) | wrong))
        assert loaded(Checkpoints(tmp_path, "a")) is None


class Planted:
    """Unpickled, it makes a file: what a checkpoint of an attacker might do."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_code_in_a_checkpoint_is_not_run(tmp_path, capfd):
    """With a manifest that is right, so that it is torch which refuses."""
    checkpoints = saved(tmp_path / "checkpoints", 10)
    checkpoints.save({"step": 11, "planted": Planted(tmp_path / "planted")}, 11)
    assert loaded(checkpoints) == 10
    assert not (tmp_path / "planted").exists()
    assert "is not taken: Weights only load failed" in capfd.readouterr().err


def test_numbers_of_numpy_are_saved_as_plain_ones(tmp_path):
    checkpoints = Checkpoints(tmp_path, "a")
    checkpoints.save({"step": 1, "rows": [{"error": np.float64(0.5), "shots": np.int64(3)}], "pair": (np.bool_(1),)}, 1)
    assert checkpoints.load(1) == {"step": 1, "rows": [{"error": 0.5, "shots": 3}], "pair": (True,)}


@pytest.mark.parametrize("when", ["file", "manifest"])
def test_killed_while_it_saves_the_one_before_is_there(tmp_path, monkeypatch, when):
    """The write is cut at the file, or between the file and its manifest."""
    saved(tmp_path, 9)

    def kill(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, {"file": "_write", "manifest": "write_text"}[when], kill)
    with pytest.raises(KeyboardInterrupt):
        saved(tmp_path, 10)
    monkeypatch.undo()
    assert loaded(Checkpoints(tmp_path, "a")) == 9
    assert loaded(saved(tmp_path, 11)) == 11
    assert len(names(tmp_path)) == 4


def test_the_one_that_was_loaded_is_kept_until_the_next_is_whole(tmp_path, monkeypatch):
    """The newest is damaged, the one before it is gone on from, and the next save is cut too."""
    checkpoints = saved(tmp_path, 9, 10)
    newest = tmp_path / "checkpoint-10-2.pt"
    newest.write_bytes(DAMAGES["one bit"](newest.read_bytes()))
    checkpoints = Checkpoints(tmp_path, "a")
    assert loaded(checkpoints) == 9

    def kill(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "_write", kill)
        with pytest.raises(KeyboardInterrupt):
            checkpoints.save({"step": 10}, 10)
    assert loaded(Checkpoints(tmp_path, "a")) == 9
    checkpoints.save({"step": 10}, 10)
    assert names(tmp_path) == [f"checkpoint-{name}" for name in ("10-2.json", "10-2.pt", "9-1.json", "9-1.pt")]
    assert loaded(Checkpoints(tmp_path, "a")) == 10


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory."), MemoryError()])
def test_too_little_memory_to_read_one_says_nothing_against_it(tmp_path, monkeypatch, error):
    def load(*args, **kwargs):
        raise error

    checkpoints = saved(tmp_path, 9, 10)
    with monkeypatch.context() as patch:
        patch.setattr(torch, "load", load)
        with pytest.raises(type(error)):
            loaded(checkpoints)
    assert loaded(checkpoints) == 10


def test_what_is_left_over_goes(tmp_path):
    for name in ("checkpoint-8-1.pt.123.tmp", "checkpoint-8-1.pt"):
        (tmp_path / name).write_bytes(b"x")
    checkpoints = saved(tmp_path, 10)
    assert names(tmp_path) == ["checkpoint-10-1.json", "checkpoint-10-1.pt"]
    checkpoints.clear()
    assert names(tmp_path) == []


# The clock ----------------------------------------------------------------------------------------------------


def test_saving_takes_a_twentieth_of_the_time_at_most(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    clock = CheckpointClock()

    def due_after(seconds):
        now[0] += seconds
        return clock.is_due()

    assert [due_after(29), due_after(1)] == [False, True]
    clock.saved(0.1)
    assert [due_after(29), due_after(1)] == [False, True]
    clock.saved(10.0)
    assert [due_after(199), due_after(1)] == [False, True]


# Trainings ----------------------------------------------------------------------------------------------------


def checkpoints_of(folder):
    return list(folder.rglob("checkpoint-*.pt"))


def test_a_short_training_writes_none(tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoints, "save", lambda *args: pytest.fail("saved"))
    run(trunks(steps=[20, 40])[0].configs, tmp_path)


ELSEWHERE = [pytest.param(stop, marks=pytest.mark.slow) for stop in (10, 17, 41)]


@pytest.mark.parametrize("stop", [22, 35, *ELSEWHERE])
@pytest.mark.parametrize("spoiled", [False, True])
def test_a_kill_costs_one_step_anywhere(tmp_path, every_step, stop, spoiled):
    """In the trunk, in the branches and between; with the newest checkpoint truncated two or three steps more.

    Branches leave at 16 and 32 of 20 and 40 steps: 16, 4, 16 and 8 steps.
    """
    trunk = trunks(steps=[20, 40])[0]
    whole = run(trunk.configs, tmp_path / "whole")
    finished, trained = [], []
    data = load_training_data(trunk.configs[0], CPU)
    cut = train.train_trunk(trunk.configs, data, TrunkPaths(tmp_path / "cut"), CPU, interrupt_after(stop))
    with contextlib.suppress(KeyboardInterrupt):
        finished.extend(map(copy.deepcopy, cut))
    if spoiled:
        newest = max(checkpoints_of(tmp_path / "cut"), key=lambda path: path.stat().st_mtime_ns)
        newest.write_bytes(newest.read_bytes()[:100])
    done = {f.config.run_id for f in finished}
    finished += run([c for c in trunk.configs if c.run_id not in done], tmp_path / "cut", trained.append)
    assert [result(f) for f in finished] == [result(w) for w in whole]
    assert len(trained) <= trunk.num_steps - stop + (3 if spoiled else 0)


def test_a_branch_leaves_the_trunk_as_it_was_for_later_branches(tmp_path, every_step):
    """Killed in the first branch: the second goes on from the branching step."""
    trunk, trained = trunks(steps=[20, 40])[0], []
    with pytest.raises(KeyboardInterrupt):
        run(trunk.configs, tmp_path, interrupt_after(18))
    run(trunk.configs[1:], tmp_path, trained.append)
    assert len(trained) == 40 - 16


def test_the_checkpoints_of_a_branch_go_and_the_trunks_are_left(tmp_path, every_step):
    configs = trunks(steps=[20, 40])[0].configs
    run(configs, tmp_path)
    assert {path.parent for path in checkpoints_of(tmp_path)} == {tmp_path}
    assert loaded(Checkpoints(tmp_path, Trunk(configs).trunk_id)) == 32


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_checkpoints_cost_only_time(tmp_path, every_step, damage):
    configs = trunks()[0].configs
    whole = run(configs, tmp_path)
    assert len(checkpoints_of(tmp_path)) == 2
    for path in checkpoints_of(tmp_path):
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
    assert [result(f) for f in run(configs, tmp_path)] == [result(w) for w in whole]


def spoil(snapshot, how):
    if how == "optimizer of other groups":
        snapshot["optimizer"]["param_groups"].append(snapshot["optimizer"]["param_groups"][0])
    elif how == "other model":
        snapshot["model"].popitem()
    elif how == "no average":
        del snapshot["average"]
    elif how == "a field more":
        snapshot["of_a_later_version"] = 1
    return snapshot


@pytest.mark.parametrize("how", ["optimizer of other groups", "other model", "no average", "a field more"])
def test_a_checkpoint_of_another_version_of_the_code_costs_only_time(tmp_path, every_step, how, capfd):
    configs = trunks(steps=[40], recipe__ema_decay=0.9)[0].configs
    whole = run(configs, tmp_path)
    checkpoints = Checkpoints(tmp_path, Trunk(configs).trunk_id)
    checkpoints.save(spoil(checkpoints.load(40), how), 32)
    assert [result(f) for f in run(configs, tmp_path)] == [result(w) for w in whole]
    assert "is not taken: other code wrote it" in capfd.readouterr().err


def test_too_little_memory_to_take_a_checkpoint_over_does_not_throw_it_away(tmp_path, every_step, monkeypatch):
    """What the device says while the state is restored is raised, and the training is not begun anew."""
    configs = trunks(steps=[20])[0].configs
    with pytest.raises(KeyboardInterrupt):
        run(configs, tmp_path, interrupt_after(10))

    def restore(self, snapshot):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    with monkeypatch.context() as patch:
        patch.setattr(TrainingState, "restore", restore)
        with pytest.raises(torch.OutOfMemoryError):
            run(configs, tmp_path)
    trained = []
    run(configs, tmp_path, trained.append)
    assert len(trained) == 10


def test_a_run_killed_in_its_last_evaluation_is_not_trained_again(tmp_path, every_step, monkeypatch):
    configs = trunks(steps=[20])[0].configs
    whole = run(configs, tmp_path / "whole")

    def kill(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(train.Evaluator, "evaluate", kill)
        with pytest.raises(KeyboardInterrupt):
            run(configs, tmp_path / "cut")
    trained = []
    assert [result(f) for f in run(configs, tmp_path / "cut", trained.append)] == [result(w) for w in whole]
    assert trained == []
