"""A worker that is told to stop, a trunk that two want, and files that were planted."""

import ast
import json
import math
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest
import yaml

import sweeps
from scaling.records import read_records
from sweeps.evaluation import evaluate
from sweeps.paths import SweepPaths
from sweeps.runner import jobs
from sweeps.runner.locks import is_held, locked
from sweeps.runner.status import sweep_status
from sweeps.specs import spec
from sweeps.specs.config import RunConfig
from sweeps.stopping import Interrupted
from sweeps.training.saved_model import read_config

from .conftest import UNREPEATABLE, plan_of

pytestmark = pytest.mark.usefixtures("one_thread")
ROOT = Path(sweeps.__file__).parent


def run_trunk(trunk, folder, report=lambda images, runs: None):
    return jobs.run_trunk(trunk, SweepPaths(folder), "tiny", ("cpu",), report)


def results(folder):
    runs = read_records(folder).drop(columns=UNREPEATABLE)
    return runs.sort_values(["run_id", "step"]).reset_index(drop=True)


@pytest.fixture
def noted(monkeypatch):
    """Signals that the worker has noted."""
    signals = []
    monkeypatch.setattr("sweeps.stopping._noted", signals)
    return signals


# Told to stop -------------------------------------------------------------------------------------------------


ELSEWHERE = [pytest.param(steps, marks=pytest.mark.slow) for steps in (10, 17, 45)]


@pytest.mark.parametrize("steps_done", [22, 38, *ELSEWHERE])
def test_told_to_stop_it_saves_and_leaves_and_the_next_goes_on_to_the_same_records(
    tmp_path, monkeypatch, noted, steps_done
):
    """In the trunk, in the first branch, in its fine-tuning, in the trunk again, in the second branch.

    Of 16 steps, 4, 5, 16, 8 and 5 of fine-tuning again.
    """
    plan = plan_of(train_examples=[200], finetune={"tasks": ["shapes"], "steps": 5, "lr": [0.01], "batch_size": 4})
    trunk = plan.trunks[0]
    run_trunk(trunk, tmp_path / "whole")
    monkeypatch.setattr(jobs, "_REPORT_SECONDS", -1.0)
    images, before = [], []

    def stop(num_images, num_runs):
        images.extend([num_images] * bool(num_images))
        if len(images) == steps_done:
            noted.append(15)

    with pytest.raises(Interrupted) as caught:
        run_trunk(trunk, tmp_path / "cut", stop)
    assert caught.value.exit_code == 143
    assert len(images) == steps_done
    noted.clear()
    waiting = sweep_status([c.run_id for c in trunk.configs], SweepPaths(tmp_path / "cut")).statuses
    assert waiting.get("waiting", 0) >= 1
    assert set(waiting) <= {"waiting", "ok"}
    run_trunk(trunk, tmp_path / "cut", lambda num_images, num_runs: before.extend([num_images] * bool(num_images)))
    pd.testing.assert_frame_equal(results(tmp_path / "cut"), results(tmp_path / "whole"))
    again = steps_done - 20 if 20 < steps_done <= 25 else 0  # fine-tuning on a task begins anew
    assert len(images) + len(before) == 54 + again
    assert not list((tmp_path / "cut").rglob("checkpoint*"))


@pytest.mark.parametrize("where", ["evaluate_upstream", "extract_features"])
@pytest.mark.parametrize("num_calls", [2, *(pytest.param(num, marks=pytest.mark.slow) for num in (0, 5))])
def test_told_to_stop_in_an_evaluation_it_does_not_wait_for_its_end(tmp_path, monkeypatch, noted, where, num_calls):
    """Of the last weights and of their mean: in the trunk's second evaluation, which is of step 16, or elsewhere."""
    plan = plan_of(train_examples=[200], steps=[20, 40], evaluate__every="8 steps", recipe__ema_decay=0.9)
    trunk, trained = plan.trunks[0], []
    run_trunk(trunk, tmp_path / "whole")
    monkeypatch.setattr(jobs, "_REPORT_SECONDS", -1.0)
    calls, function = iter(range(1000)), getattr(evaluate, where)

    def noting(*args):
        if next(calls) == num_calls:
            noted.append(15)
        found = function(*args)
        assert not noted, "it is not cut"
        return found

    def count(num_images, num_runs):
        trained.extend([num_images] * bool(num_images))

    with monkeypatch.context() as patch:
        patch.setattr(evaluate, where, noting)
        with pytest.raises(Interrupted):
            run_trunk(trunk, tmp_path / "cut", count)
    noted.clear()
    run_trunk(trunk, tmp_path / "cut", count)
    pd.testing.assert_frame_equal(results(tmp_path / "cut"), results(tmp_path / "whole"))
    assert len(trained) == trunk.num_steps


# The lock -----------------------------------------------------------------------------------------------------


def test_a_trunk_that_two_workers_want_is_trained_once(tmp_path, monkeypatch):
    """Threads of one process hold locks of their own, as processes do."""
    trunk, trained = plan_of(train_examples=[200]).trunks[0], []
    train_on_devices = jobs.train_on_devices

    def noting(configs, *args, **kwargs):
        trained.append(len(configs))
        return train_on_devices(configs, *args, **kwargs)

    monkeypatch.setattr(jobs, "train_on_devices", noting)
    statuses = []
    workers = [threading.Thread(target=lambda: statuses.append(run_trunk(trunk, tmp_path))) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert trained == [2]
    assert sorted(map(str, statuses)) == ["{'ok': 2}", "{}", "{}"]


def test_only_what_is_left_is_trained_and_the_rest_is_told(tmp_path):
    short, long = plan_of(train_examples=[200], steps=[20]), plan_of(train_examples=[200], steps=[20, 40])
    run_trunk(short.trunks[0], tmp_path)
    records = SweepPaths(tmp_path).run(short.configs[0].run_id).records
    written, told = records.stat().st_mtime_ns, []
    assert run_trunk(long.trunks[0], tmp_path, lambda images, runs: told.append(runs)) == {"ok": 1}
    assert records.stat().st_mtime_ns == written
    assert sum(told) == 2


def test_the_lock_falls_with_its_holder(tmp_path):
    path = tmp_path / "trunks" / "a.lock"
    code = (
        "from pathlib import Path\nfrom sweeps.runner.locks import locked\n"
        f"with locked(Path({str(path)!r})):\n    print(flush=True)\n    input()"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    holder.stdout.readline()
    assert is_held(path)
    holder.kill()
    holder.communicate()
    assert not is_held(path)
    with locked(path):
        assert is_held(path)
    assert not is_held(path)
    assert not is_held(tmp_path / "none.lock")


def test_waiting_for_the_lock_ends_when_told_to_stop_and_says_why_it_waits(tmp_path, noted, capfd):
    path = tmp_path / "a.lock"
    with locked(path):
        noted.append(15)
        with pytest.raises(Interrupted), locked(path):
            pass
    assert capfd.readouterr().err == "a is being trained by another process; waiting for it\n"


def test_who_waits_for_a_lock_that_its_holder_removes_holds_a_new_one_alone(tmp_path):
    """The race of removing a lock's file: a waiter must not come to hold the file that is gone."""
    path, inside, most = tmp_path / "a.lock", [], []

    def hold():
        with locked(path):
            inside.append(None)
            most.append(len(inside))
            time.sleep(0.02)
            inside.pop()
            path.unlink()

    workers = [threading.Thread(target=hold) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert most == [1] * 8


def test_nothing_is_left_of_a_finished_trunk(tmp_path):
    run_trunk(plan_of(train_examples=[200]).trunks[0], tmp_path)
    assert list((tmp_path / "trunks").iterdir()) == []


def test_half_written_files_of_a_killed_worker_go(tmp_path):
    trunk = plan_of(train_examples=[200]).trunks[0]
    left = SweepPaths(tmp_path).run(trunk.configs[0].run_id).folder / "records.parquet.123.tmp"
    left.parent.mkdir(parents=True)
    left.touch()
    run_trunk(trunk, tmp_path)
    assert not left.exists()


# Explosion ----------------------------------------------------------------------------------------------------


def test_a_finite_loss_that_explodes_is_divergence(tmp_path):
    """At a learning rate of 1e4 the logits are large and wrong, and every loss is finite."""
    changes = {"recipe__lr": 1e4, "recipe__weight_decay": 0.0, "steps": [60], "evaluate__every": "20 steps"}
    run_trunk(plan_of(train_examples=[200], **changes).trunks[0], tmp_path)
    runs = read_records(tmp_path)
    assert runs["status"].tolist() == ["diverged"]
    assert runs["upstream_error"].isna().all()
    (path,) = tmp_path.glob("runs/*/metrics.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["step"] for line in lines] == [20, 40, 60]  # every loss is a number
    assert lines[-1]["loss"] > 10 * math.log(10)
    exploded = [line["step"] for line in lines if line["loss"] > 10 * math.log(10)]
    assert runs["diverged_step"].tolist() == exploded[:1]


# What is planted ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../a", "/etc", "a/b", "..", ".", ""])
def test_an_id_cannot_lead_out_of_the_folder(tmp_path, name):
    for place in (SweepPaths(tmp_path).run, SweepPaths(tmp_path).trunk):
        with pytest.raises(ValueError, match="an id is of letters and digits"):
            place(name)


def calls(name):
    """Every call of a function or method of that name in the package."""
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(name):
                yield path, node


def test_torch_loads_weights_only():
    found = list(calls("torch.load"))
    assert found
    for path, call in found:
        assert {"weights_only": "True"}.items() <= {k.arg: ast.unparse(k.value) for k in call.keywords}.items(), path


@pytest.mark.parametrize("name", ["load", "loads", "dump", "dumps"])
def test_no_file_is_a_pickle(name):
    """Engines hand their own worker processes a function; what lies in a folder is never unpickled."""
    found = {path.relative_to(ROOT).as_posix() for path, _ in calls(f"pickle.{name}")}
    assert found <= ({"engines/local.py", "engines/ray.py"} if name in ("loads", "dumps") else set())


def test_yaml_is_read_safely():
    found = [keyword for _, call in calls("yaml.load") for keyword in call.keywords if keyword.arg == "Loader"]
    assert [ast.unparse(keyword.value) for keyword in found] == ["_StrictLoader"] * len(list(calls("yaml.load")))
    assert issubclass(spec._StrictLoader, yaml.SafeLoader)


def test_numpy_reads_no_pickles():
    for path, call in calls("np.load"):
        assert "allow_pickle" not in {k.arg for k in call.keywords}, path


def test_models_are_read_where_the_config_names_them_and_nowhere_else():
    """Teachers, timm's checkpoints and models to compare with are paths in the spec."""
    readers = {path.relative_to(ROOT).as_posix() for path, _ in [*calls("load_model"), *calls("load_file")]}
    assert readers <= {*(f"training/{name}.py" for name in ("saved_model", "train", "parallel")), "measure/cka.py"}
    named = json.dumps(RunConfig.model_json_schema())
    assert '"teacher"' in named
    assert '"checkpoint"' in named


def test_a_pickle_is_no_teacher(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"\x80\x04cos\nsystem\n.")
    with pytest.raises(ValueError, match=r"is not the model\.safetensors of a run"):
        read_config(tmp_path / "model.safetensors")
