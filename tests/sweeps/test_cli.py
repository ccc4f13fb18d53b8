import re
import shutil
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from sweeps.cli import app
from sweeps.paths import SweepPaths
from sweeps.runner.frozen_plan import read_frozen_plan
from sweeps.runner.jobs import run_trunk, write_failure
from sweeps.runner.run import run_sweep
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import read_spec

from .conftest import plan_of

runner = CliRunner()


def call(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def test_run_leaves_tables_figures_and_a_summary(tiny_sweep):
    folder, output = tiny_sweep.folder, tiny_sweep.output
    names = {path.name for path in folder.iterdir()}
    assert {"records.parquet", "evals.parquet", "summary.txt", "spec.yaml"} <= names
    assert "8 ok" in output
    assert (folder / "summary.txt").read_text() in output


@pytest.fixture
def copied(tiny_sweep, tmp_path):
    """The finished sweep, to be changed."""
    return shutil.copytree(tiny_sweep.folder, tmp_path / "copy")


def test_run_again_trains_nothing(tiny_sweep, copied):
    result = call("run", tiny_sweep.spec, "--out", copied)
    assert result.exit_code == 0
    assert "side by side" not in result.output  # nothing is trained


def test_status_and_collect(copied):
    status = call("status", copied)
    assert (status.exit_code, bool(re.search(r"ok +8 ", status.output))) == (0, True)
    collected = call("collect", copied)
    assert collected.exit_code == 0
    assert "8 records in" in collected.output


def test_status_of_a_sweep_that_is_not_finished_needs_neither_spec_nor_data(write_spec, tmp_path, monkeypatch):
    """A teacher, a data folder or the spec may be gone: what the folder holds is told."""
    monkeypatch.setattr("sweeps.runner.run._train", lambda *_: None)
    call("run", write_spec(), "--out", tmp_path / "out")
    SweepPaths(tmp_path / "out").spec.unlink()
    result = call("status", tmp_path / "out")
    assert (result.exit_code, bool(re.search(r"waiting +8 ", result.output))) == (1, True)


def test_a_run_that_could_write_nothing_is_one_line_and_exit_2(write_spec, tmp_path, monkeypatch):
    monkeypatch.setattr("sweeps.runner.run._train", lambda *_: None)
    result = call("run", write_spec(), "--out", tmp_path / "out")
    assert (result.exit_code, "no records in" in result.output) == (2, True)


def plan_text(write_spec, **changes):
    result = call("plan", write_spec(**changes), "--no-measure")
    assert result.exit_code == 0, result.output
    assert max(map(len, result.output.splitlines())) <= 80
    return result.output


def test_plan_counts_and_trains_nothing(write_spec, tmp_path):
    text = plan_text(write_spec, seeds=[0, 0])
    assert re.findall(r"\b\d+\b", text)[:4] == ["4", "8", str(4 * 44), str(4 * 60)]
    assert "duplicates dropped  8\n" in text
    assert "(1.36 times as many)" in text  # 60 / 44
    assert "warning: upstream" not in text  # nothing is tuned
    assert not (tmp_path / "runs").exists()


def test_plan_says_what_branching_saves_and_what_cannot(write_spec):
    lengths = [100 * i for i in range(1, 11)]
    assert "4 trainings of 10 lengths: 1.9 of the longest instead of 5.5" in plan_text(write_spec, steps=lengths)
    text = plan_text(write_spec, schedule__kind="linear")
    assert "8 models of several lengths are trained alone:\n  schedule.kind 'linear' depends on" in text


def test_plan_counts_the_cost_of_each_model(write_spec):
    """By hand: 3 x FLOPs an image x steps x batch of 16; the ViT's are counted in test_models."""
    from sweeps.models import VitConfig
    from sweeps.models.cost import count_cost

    cost = count_cost(VitConfig(width=16, depth=1, patch=4), image_size=8, num_classes=10)
    row = next(line for line in plan_text(write_spec).splitlines() if line.startswith("vit w16d1/4"))
    params, flops_per_image, runs, flops = row.split()[2:]
    assert params == f"{cost.num_params:,}"
    assert float(flops_per_image) == pytest.approx(cost.flops_per_image / 1e9, rel=0.005)  # three digits are printed
    assert runs == "4"
    assert float(flops) == pytest.approx(3 * cost.flops_per_image * 2 * 44 * 16, rel=0.005)


def test_plan_says_what_is_tuned_and_on_what(write_spec):
    text = plan_text(write_spec, recipe__lr=[1e-3, 3e-3])
    assert "recipe.lr: 2 values in each of 8 cells" in text
    assert "the best is chosen on 100 held-out training images of 'digits'" in text
    few = plan_text(write_spec, recipe__weight_decay=[0, 0.1], upstream__val_fraction=0.05)
    assert "recipe.weight_decay: 2 values in each of 8 cells" in few
    assert "warning: upstream.val_fraction holds out 50 images of 'digits'" in few


def test_rates_of_each_size_are_no_tuning(write_spec):
    text = plan_text(write_spec, recipe__lr={"base": 1e-3, "width": 64, "rule": "1/width"})
    assert "values in each" not in text


def test_a_bad_spec_is_one_clear_line_exit_2_and_nothing_trained(write_spec, tmp_path):
    result = call("run", write_spec(recipe__lrr=1), "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "recipe.lrr: unknown field, did you mean 'lr'? valid:" in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arguments", ["run nowhere", "plan nowhere", "status nowhere", "collect nowhere", "fly"])
def test_what_is_not_there_is_exit_2(arguments):
    result = call(*arguments.split())
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_collecting_an_empty_folder_is_exit_2(tmp_path):
    result = call("collect", tmp_path)
    assert (result.exit_code, "no records in" in result.output) == (2, True)


def test_data_that_are_not_there_are_exit_2_before_any_run(write_spec, tmp_path):
    path = write_spec(
        upstream={"dataset": "fashion-mnist", "folder": str(tmp_path)},
        model={"vit": [{"width": 16, "depth": 1, "patch": 7}]},
    )
    result = call("run", path, "--out", tmp_path / "out", "--slots", 1)
    assert result.exit_code == 2
    assert "upstream.folder: no train-images" in result.output
    assert not (tmp_path / "out" / "runs").exists()


def test_a_teacher_whose_weights_changed_after_its_students_were_planned_fails_them(write_spec, tmp_path):
    trunk = plan_of(keep_model=True, steps=[20], train_examples=[200]).trunks[0]
    trained = run_trunk(trunk, SweepPaths(tmp_path / "teacher"), "tiny", ("cpu",), lambda images, runs: None)
    assert trained == {"ok": 1}
    model = next((tmp_path / "teacher").rglob("model.safetensors"))
    path = write_spec(recipe__teacher=str(model), steps=[20], train_examples=[200])
    plan, text = make_plan(read_spec(path)), path.read_text()
    model.write_bytes(model.read_bytes()[:-4] + b"1234")
    status = run_sweep(plan, text, tmp_path / "out", devices=["cpu"])
    assert status.statuses == {"failed": 2}
    assert [line.split(":")[0] for line in status.failures] == ["ValueError"]


def test_a_changed_spec_is_exit_2_unless_it_is_accepted(copied, write_spec):
    result = call("run", write_spec(recipe__lr=1e-3), "--out", copied)
    assert result.exit_code == 2
    assert result.output.startswith("error: the runs that the spec asks for changed: 8 new, 8 no longer asked for (8")
    assert "  recipe.lr: 0.003 -> 0.001\n" in result.output
    assert "--accept-changes" in result.output
    assert "Traceback" not in result.output


def test_two_runners_are_one_line_and_exit_2(write_spec, tmp_path):
    from filelock import FileLock

    (tmp_path / "out").mkdir()
    with FileLock(SweepPaths(tmp_path / "out").lock):
        result = call("run", write_spec(), "--out", tmp_path / "out")
    assert (result.exit_code, len(result.output.splitlines())) == (2, 1)
    assert "is being run by another process" in result.output


def test_failed_runs_are_trained_again_without_the_spec(copied):
    folder, paths = copied, SweepPaths(copied)
    configs = read_frozen_plan(paths).plan().configs
    for config, status, error in zip(configs, ("failed", "oom", "failed"), ("apple", "apple", "pear"), strict=False):
        write_failure(paths.run(config.run_id), config, "tiny", status, error, "")
    shutil.rmtree(paths.run(configs[3].run_id).folder)
    assert "0 runs to train again" in call("retry", folder, "--error", "plum").output
    result = call("retry", folder, "--status", "failed", "--error", "apple", "--devices", "cpu")
    assert (result.exit_code, "1 runs to train again" in result.output) == (1, True)
    assert "1 failed, 5 ok, 1 oom, 1 waiting" in result.output
    result = call("retry", folder, "--devices", "cpu")
    assert "7 ok, 1 waiting" in result.output


@pytest.mark.parametrize(("option", "value", "fault"), [
    ("--status", "lost", "--status: must be one of ['failed', 'oom', 'all'], got 'lost'"),
    ("--option", "gpu", "--option: must be key=value, as partition=gpu, got 'gpu'"),
])  # fmt: skip
def test_a_wrong_option_is_one_line_and_exit_2(tiny_sweep, option, value, fault):
    result = call("retry", tiny_sweep.folder, option, value)
    assert (result.exit_code, fault in result.output) == (2, True)


@pytest.mark.parametrize(("options", "fault"), [
    (["--engine", "lokal"], "engine: must be one of"), (["--devices", "cuda:99"], "devices: must be of"),
])  # fmt: skip
def test_a_place_that_is_not_there_is_told_before_anything_is_written(write_spec, tmp_path, options, fault):
    result = call("run", write_spec(), "--out", tmp_path / "out", *options)
    assert (result.exit_code, fault in result.output) == (2, True)
    assert {path.name for path in (tmp_path / "out").iterdir()} <= {".lock"}


def test_without_the_training_extra_the_command_says_what_to_install():
    plan = "sys.argv = ['sweeps', 'plan', 'night1.yaml']"
    code = f"import sys; sys.modules['pydantic'] = None; {plan}; from sweeps.__main__ import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.strip() == "error: pydantic is not installed: pip install '.[sweeps]' in the folder you cloned"


def test_plan_says_what_data_lack_and_plans_all_the_same(write_spec, tmp_path):
    model = {"vit": [{"width": 16, "depth": 1, "patch": 7}]}
    upstream = {"dataset": "fashion-mnist", "folder": str(tmp_path)}
    result = call("plan", write_spec(upstream=upstream, model=model, downstream__tasks=["vtab-like"]))
    assert result.exit_code == 0
    assert "warning: upstream.folder: no train-images" in result.output
    assert "left out: vtab-like: no dmlab (structured) in" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "spec.yaml", "--slots", "9" * 30), ("run", "spec.yaml", "--slots-per-device", "9" * 30),
        ("watch", "folder", "--every", "inf"), ("watch", "folder", "--every", "1e12"),
    ],
)  # fmt: skip
def test_numbers_beyond_sense_are_refused(arguments):
    result = call(*arguments)
    assert (result.exit_code, "less than or equal" in " ".join(result.output.replace("│", "").split())) == (2, True)


@pytest.mark.parametrize("command", ["status", "watch", "collect", "retry"])
def test_a_folder_whose_name_is_no_text_is_refused(command, tmp_path):
    """Arrow opens nothing in it, so that every table would be told to be damaged."""
    result = call(command, tmp_path / "caf\udce9")
    assert (result.exit_code, "text in this locale" in " ".join(result.output.split())) == (2, True)


@pytest.mark.parametrize("command", ["status", "watch", "retry"])
def test_a_file_and_nothing_at_all_are_no_folder(command, tmp_path):
    (tmp_path / "file").write_text("")
    for name in ("file", "gone"):
        assert "no folder is there" in call(command, tmp_path / name).output


def test_a_warning_is_one_line(copied):
    next(copied.glob("runs/*/records.parquet")).write_bytes(b"")
    command = [sys.executable, "-m", "sweeps", "suggest", str(copied), "--target-compute", "1e9"]
    said = subprocess.run(command, capture_output=True, text=True).stderr.splitlines()
    assert said[0].startswith("warning: skipped damaged parquet file")
    assert said[1].startswith("error: ")
