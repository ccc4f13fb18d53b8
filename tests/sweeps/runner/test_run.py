"""Whole sweeps in real processes: resumed after kills, never trained twice, one fault ending one training."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import sweeps
from scaling import read_evals, read_records, validate_records
from sweeps.measure import weight_norms
from sweeps.paths import SweepPaths
from sweeps.runner import jobs
from sweeps.runner.changes import ChangedSweepError
from sweeps.runner.cost import forget_counted
from sweeps.runner.frozen_code import code_files
from sweeps.runner.frozen_plan import installed_versions, read_frozen_plan
from sweeps.runner.run import SweepBusyError, pending_trunks, run_sweep
from sweeps.runner.status import sweep_status
from sweeps.specs.faults import SpecError
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec

from ..conftest import UNREPEATABLE, changed, plan_of

SWEEP = [sys.executable, "-m", "sweeps"]


def heed_ctrl_c() -> None:
    """What runs in the background of a script ignores it, and so would its children, and stay so."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def results(folder: Path) -> pd.DataFrame:
    runs = read_records(folder).drop(columns=UNREPEATABLE)
    return runs.sort_values(["run_id", "step"]).reset_index(drop=True)


@pytest.fixture(scope="module")
def finished(tiny_sweep, tmp_path_factory):
    """A copy of a sweep that nothing disturbed, as `run_sweep` leaves it."""
    plan, folder = plan_of(), tmp_path_factory.mktemp("sweep") / "tiny"
    shutil.copytree(tiny_sweep.folder, folder)
    for collected in [*folder.glob("*.parquet"), *folder.glob("*.png"), *folder.glob("*.txt")]:
        collected.unlink()
    status = sweep_status([config.run_id for config in plan.configs], SweepPaths(folder))
    assert status.statuses == {"ok": 8}
    return plan, folder


def test_every_run_has_its_folder_with_config_metrics_records_and_evals(finished):
    plan, folder = finished
    for config in plan.configs:
        paths = SweepPaths(folder).run(config.run_id)
        assert json.loads(paths.config.read_text()) == config.model_dump(mode="json")
        assert json.loads(paths.metrics.read_text().splitlines()[-1])["step"] == config.steps
        assert len(read_records(paths.records)) == 1
        assert len(read_evals(paths.evals)) == 8
    assert not list(folder.rglob("*.tmp"))
    assert not list(folder.rglob("checkpoint-*"))


def test_records_are_valid_and_complete(finished):
    _, folder = finished
    runs = read_records(folder)
    validate_records(runs)
    assert runs["cooled_down"].all()
    assert set(runs["model_family"]) == {"vit", "resnet"}
    assert (runs["images_seen"] == runs["step"] * runs["batch_size"]).all()
    np.testing.assert_allclose(runs["compute_flops"], 3 * runs["flops_per_image"] * runs["images_seen"])
    assert runs["shapes_5shot_error"].between(0, 1).all()
    needed = ["num_params", "upstream_val_error", "upstream_loss", "train_loss", "lr", "torch_version", "trunk_id"]
    assert runs[needed].notna().all(axis=None)


def test_a_finished_sweep_is_not_trained_again(finished, monkeypatch):
    plan, folder = finished
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
    monkeypatch.setattr("sweeps.runner.run._train", lambda *_: pytest.fail("trained again"))
    assert pending_trunks(plan, SweepPaths(folder)) == []
    assert run_sweep(plan, "", folder).statuses == {"ok": 8}
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}


def test_a_larger_grid_trains_what_is_new_only(finished):
    _, folder = finished
    larger = plan_of(steps=[20, 40, 60])
    left = pending_trunks(larger, SweepPaths(folder))
    assert [[config.steps for config in trunk.configs] for trunk in left] == [[60]] * 4


# Blows of -9 at random moments are what `test_chaos` is about.
@pytest.mark.parametrize("blow", [pytest.param(signal.SIGKILL, marks=pytest.mark.slow), signal.SIGINT])
def test_killed_in_the_middle_and_run_again_gives_the_same_records(finished, tmp_path, blow):
    plan, undisturbed = finished
    spec, folder = tmp_path / "spec.yaml", tmp_path / "sweep"
    # With a long run beside each pair, so that the blow never comes too late, however busy the machine.
    spec.write_text(yaml.safe_dump(changed(steps=[20, 40, 5000])))
    command = [*SWEEP, "run", str(spec), "--out", str(folder), "--slots", "1"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=heed_ctrl_c
    )
    paths = SweepPaths(folder)
    try:
        deadline = time.monotonic() + 400  # of a busy machine
        while not (0 < sum(paths.run(c.run_id).records.exists() for c in plan.configs) < 8):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        if blow == signal.SIGINT:
            process.send_signal(blow)
            assert process.wait(timeout=60) == 130
            assert b"the same command goes on" in process.stderr.read()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the runner and its workers, as when a machine goes down
        process.communicate(timeout=30)
    done = [c.run_id for c in plan.configs if paths.run(c.run_id).records.exists()]
    assert 0 < len(done) < 8
    before = {run_id: paths.run(run_id).records.stat().st_mtime_ns for run_id in done}
    again = run_sweep(plan, "", folder, devices=["cpu"], accept_changes=True)  # without the long runs
    assert again.statuses == {"ok": 8}
    assert before == {run_id: paths.run(run_id).records.stat().st_mtime_ns for run_id in done}
    pd.testing.assert_frame_equal(results(folder), results(undisturbed))


def copy_of(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


def test_a_damaged_record_is_trained_again(finished, tmp_path):
    plan, undisturbed = finished
    folder = copy_of(undisturbed, tmp_path)
    path = SweepPaths(folder).run(plan.configs[0].run_id).records
    path.write_bytes(path.read_bytes()[:100])
    assert len(pending_trunks(plan, SweepPaths(folder))) == 1
    with pytest.warns(UserWarning, match="skipped damaged parquet"):
        assert len(read_records(folder)) == 7


def test_reading_the_state_of_a_sweep_needs_no_torch():
    code = (
        "import sys, sweeps.cli, sweeps.runner.run; print(*sorted({'torch', 'timm', 'matplotlib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""


# Two runners --------------------------------------------------------------------------------------------------


def test_two_runners_on_one_folder_are_refused_until_the_first_is_dead(finished, tmp_path):
    plan, undisturbed = finished
    folder = copy_of(undisturbed, tmp_path)
    code = f"from filelock import FileLock; lock = FileLock({str(SweepPaths(folder).lock)!r}); lock.acquire(); input()"
    code = code.replace("input()", "print(flush=True); input()")
    holder = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdout.readline()
    with pytest.raises(SweepBusyError, match="is being run by another process"):
        run_sweep(plan, "", folder)
    assert sweep_status([config.run_id for config in plan.configs], SweepPaths(folder)).all_finished
    holder.kill()
    holder.communicate()
    assert run_sweep(plan, "", folder).statuses == {"ok": 8}


def test_what_is_done_afterwards_is_done_with_the_folder_locked(finished):
    plan, folder = finished

    def afterwards(status):
        with pytest.raises(SweepBusyError):
            run_sweep(plan, "", folder)
        seen.append(status.statuses)

    seen = []
    run_sweep(plan, "", folder, afterwards=afterwards)
    assert seen == [{"ok": 8}]


# Changes ------------------------------------------------------------------------------------------------------


def test_a_changed_spec_is_told_and_needs_to_be_accepted(finished, tmp_path, monkeypatch):
    _, undisturbed = finished
    folder = copy_of(undisturbed, tmp_path)
    paths, trained = SweepPaths(folder), []
    monkeypatch.setattr("sweeps.runner.run._train", lambda *args: trained.append(args))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    other = plan_of(recipe__lr=1e-3, steps=[20])
    with pytest.raises(ChangedSweepError) as told:
        run_sweep(other, "other", folder, devices=["cpu"])
    assert str(told.value).splitlines()[:-1] == [
        "the runs that the spec asks for changed: 4 new, 8 no longer asked for (8 of them finished), 0 the same"
        " (0 of them finished)",
        "  steps: 20, 40 -> 20",
        "  recipe.lr: 0.003 -> 0.001",
        "  schedule.cooldown_steps: 4, 8 -> 4",
    ]
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    run_sweep(other, "other", folder, devices=["cpu"], accept_changes=True)
    assert len(trained) == 1
    assert set(read_frozen_plan(paths).run_ids) == {config.run_id for config in other.configs}


def test_a_larger_grid_is_a_change_and_other_words_are_none(finished, tmp_path):
    _, undisturbed = finished
    folder = copy_of(undisturbed, tmp_path)
    told = r"4 new, 0 no longer.*8 the same \(8 .*\n  steps: 20, 40 -> 20, 40, 60"
    with pytest.raises(ChangedSweepError, match=told):
        run_sweep(plan_of(steps=[20, 40, 60]), "", folder)
    run_sweep(plan_of(steps=[40, 20], train_examples=[800, 200]), "# the same", folder)
    assert SweepPaths(folder).spec.read_text() == "# the same"


def test_where_nothing_is_trained_another_plan_is_no_change(tmp_path, monkeypatch):
    monkeypatch.setattr("sweeps.runner.run._train", lambda *args: None)
    run_sweep(plan_of(), "", tmp_path, devices=["cpu"])
    run_sweep(plan_of(recipe__lr=1e-3), "", tmp_path, devices=["cpu"])


def test_changed_code_and_libraries_are_told_where_runs_are_left(finished, tmp_path, monkeypatch):
    plan, undisturbed = finished
    folder = copy_of(undisturbed, tmp_path)
    files = code_files()
    monkeypatch.setattr(
        "sweeps.runner.run.code_files", lambda: files | {"sweeps/training/step.py": b"", "sweeps/more.py": b""}
    )
    run_sweep(plan, "", folder)  # nothing to train
    shutil.rmtree(SweepPaths(folder).run(plan.configs[0].run_id).folder)
    with pytest.raises(ChangedSweepError) as told:
        run_sweep(plan, "", folder)
    first, second = str(told.value).splitlines()[:2]
    assert first == "the code changed: sweeps/more.py, sweeps/training/step.py"
    assert second == "  7 runs are trained as it was; 1 would be as it is now, of which 0 trainings have begun"
    monkeypatch.setattr("sweeps.runner.run.code_files", lambda: files)
    versions = installed_versions()
    monkeypatch.setattr("sweeps.runner.run.installed_versions", lambda: versions | {"torch": "9.9"})
    with pytest.raises(ChangedSweepError, match=f"torch changed: {re.escape(versions['torch'])} -> 9.9"):
        run_sweep(plan, "", folder)


def test_a_folder_of_an_older_version_is_taken_as_it_is(finished, tmp_path):
    _, undisturbed = finished
    folder = copy_of(undisturbed, tmp_path)
    SweepPaths(folder).plan.rename(folder / "plan.json")
    assert run_sweep(plan_of(steps=[20]), "", folder).statuses == {"ok": 4}


def test_the_flops_of_each_run_are_frozen(finished):
    """By hand: 3 x FLOPs an image x images; the shorter run's cooldown, and all of the longer one."""
    _, folder = finished
    records = read_records(folder).set_index("run_id")
    for run in read_frozen_plan(SweepPaths(folder)).runs:
        assert run.training_flops == 3 * records.loc[run.run_id, "flops_per_image"] * run.num_images


@pytest.mark.slow
def test_edited_code_and_a_killed_worker_change_nothing(finished, tmp_path):
    """The code is broken while it runs, and its one worker killed: the next worker takes the frozen code."""
    plan, undisturbed = finished
    live, folder, spec = tmp_path / "live", tmp_path / "out", tmp_path / "spec.yaml"
    for package in ("sweeps", "scaling"):
        shutil.copytree(Path(sweeps.__file__).parents[1] / package, live / package)
    spec.write_text(yaml.safe_dump(changed()))
    command = [*SWEEP, "run", str(spec), "--out", str(folder), "--devices", "cpu"]
    environment = os.environ | {"PYTHONPATH": str(live)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, cwd=tmp_path)
    paths = SweepPaths(folder)
    while not any(paths.run(config.run_id).records.exists() for config in plan.configs):
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.01)
    for name in ("jobs", "train", "evaluate"):
        (live / "sweeps" / f"{name}.py").write_text("raise RuntimeError('edited')")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (worker,) = [pid for pid in children if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()]
    os.kill(int(worker), signal.SIGKILL)
    output = process.communicate()[0].decode()
    assert "8 ok" in output
    pd.testing.assert_frame_equal(results(folder), results(undisturbed))


# Faults -------------------------------------------------------------------------------------------------------


def run_one(plan, folder, index=0):
    return jobs.run_trunk(plan.trunks[index], SweepPaths(folder), "tiny", ("cpu",), lambda images, runs: None)


def test_the_rows_of_a_run_are_written_without_pandas(tmp_path, monkeypatch):
    monkeypatch.setattr("scaling.writing.validate", lambda *_: pytest.fail("some value is not of its column's type"))
    assert run_one(plan_of(train_examples=[200]), tmp_path) == {"ok": 2}


def test_an_error_ends_its_trunk_with_a_record_and_a_traceback(tmp_path, monkeypatch):
    plan = plan_of(train_examples=[200])
    monkeypatch.setattr(jobs, "load_training_data", lambda *_: 1 / 0)
    assert run_one(plan, tmp_path) == {"failed": 2}
    monkeypatch.undo()
    assert run_one(plan, tmp_path, 1) == {"ok": 2}
    status = sweep_status([c.run_id for c in plan.configs], SweepPaths(tmp_path))
    assert status.statuses == {"failed": 2, "ok": 2}
    assert status.failures == {"ZeroDivisionError: division by zero": 2}
    trace = SweepPaths(tmp_path).run(plan.configs[0].run_id).traceback.read_text()
    assert "Traceback" in trace
    assert not status.all_finished
    assert len(read_records(tmp_path)) == 4


def test_a_finished_run_tells_what_it_lacks_and_is_not_tried_again(tmp_path, monkeypatch):
    """Here of its two models the first, the last weights, and not their average."""
    asked = []

    def measure(subject):
        asked.append(subject)
        yield subject.row("weight_norm", 1 / (len(asked) - 1))

    changes = {"train_examples": [200], "steps": [20], "recipe__ema_decay": 0.5}
    plan = plan_of(**changes, measure={"names": ["weight_norms"]})
    monkeypatch.setattr(weight_norms, "measure", measure)
    assert run_one(plan, tmp_path) == {"ok": 1}
    status = sweep_status([plan.configs[0].run_id], SweepPaths(tmp_path))
    assert status.statuses == {"ok": 1}
    assert status.failures == {"no weight_norms: see traceback.txt": 1}
    assert status.all_finished
    assert len(pending_trunks(plan, SweepPaths(tmp_path))) == len(plan.trunks) - 1


def test_a_failed_run_is_tried_again_and_its_traceback_goes(tmp_path, monkeypatch):
    plan = plan_of(train_examples=[200])
    monkeypatch.setattr(jobs, "load_training_data", lambda *_: (_ for _ in ()).throw(MemoryError("too big")))
    assert run_one(plan, tmp_path) == {"oom": 2}
    monkeypatch.undo()
    assert len(pending_trunks(plan, SweepPaths(tmp_path))) == 2
    assert run_one(plan, tmp_path) == {"ok": 2}
    assert not SweepPaths(tmp_path).run(plan.configs[0].run_id).traceback.exists()
    assert read_records(tmp_path)["status"].tolist() == ["ok", "ok"]


def test_a_diverged_run_keeps_its_row_and_is_not_tried_again(tmp_path):
    plan = plan_of(train_examples=[200], recipe__lr=1e18)
    assert run_one(plan, tmp_path) == {"diverged": 2}
    runs = read_records(tmp_path)
    assert runs["status"].tolist() == ["diverged", "diverged"]
    assert (runs["diverged_step"] > 0).all()
    assert runs["upstream_error"].isna().all()
    assert pending_trunks(plan, SweepPaths(tmp_path))[0].configs[0].model.family == "resnet"


def test_a_model_that_cannot_be_built_is_told_before_the_first_run(tmp_path, monkeypatch):
    forget_counted()
    monkeypatch.setattr("sweeps.models.VitConfig.build", lambda *_, **__: int("no shape"))
    plan = plan_of(model={"vit": [{"width": 40, "depth": 1, "patch": 4}], "resnet": [{"width": 4, "depth": [1, 1]}]})
    with pytest.raises(SpecError, match=r"model\.vit: w40d1/4 cannot be built"):
        run_sweep(plan, "", tmp_path, devices=["cpu"])
    assert not (tmp_path / "runs").exists()


def test_a_missing_data_folder_is_told_in_the_record(tmp_path):
    plan = make_plan(parse_spec(changed(upstream={"dataset": "fashion-mnist", "folder": str(tmp_path / "none")}, model={
        "vit": [{"width": 16, "depth": 1, "patch": 7}]})))  # fmt: skip
    run_one(plan, tmp_path)
    (failure,) = sweep_status([c.run_id for c in plan.configs], SweepPaths(tmp_path)).failures
    assert failure.startswith("FileNotFoundError: upstream.folder: no train-images")


# What is told ---------------------------------------------------------------------------------------------------


def test_of_runs_that_are_trained_again_the_others_that_failed_are_not_done(finished, tmp_path, monkeypatch, capsys):
    plan, undisturbed = finished
    folder = copy_of(undisturbed, tmp_path)
    for config in plan.configs[:3]:
        jobs.write_failure(SweepPaths(folder).run(config.run_id), config, "tiny", "failed", "E: no", "")
    monkeypatch.setattr(
        "sweeps.runner.driver.Driver.train", lambda driver, trunks, engines: driver.progress.start(1, 1)
    )
    run_sweep(plan, None, folder, devices=["cpu"], only=[plan.configs[0].run_id])
    assert "5 of 8 runs done" in capsys.readouterr().out


def test_changed_code_keeps_the_flops_of_what_is_trained(finished, tmp_path, monkeypatch):
    plan, undisturbed = finished
    folder = copy_of(undisturbed, tmp_path)
    paths = SweepPaths(folder)
    before = read_frozen_plan(paths).flops_per_image
    shutil.rmtree(paths.run(plan.configs[0].run_id).folder)
    files = code_files()
    monkeypatch.setattr("sweeps.runner.run.code_files", lambda: files | {"sweeps/more.py": b""})
    monkeypatch.setattr("sweeps.runner.run._train", lambda *_: None)
    run_sweep(plan, "", folder, devices=["cpu"], accept_changes=True)
    assert read_frozen_plan(paths).flops_per_image == before


def test_a_damaged_plan_is_told_and_written_anew(finished, tmp_path):
    plan, undisturbed = finished
    folder = copy_of(undisturbed, tmp_path)
    paths = SweepPaths(folder)
    for text in ("", "{", '{"name": "a"}\n', '{"nom": "a"}\n{}'):
        paths.plan.write_text(text)
        with pytest.raises(OSError, match=r"plan.jsonl is damaged, or of another version"):
            read_frozen_plan(paths)
    run_sweep(plan, "", folder)
    assert len(read_frozen_plan(paths).runs) == 8
