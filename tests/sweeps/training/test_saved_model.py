import shutil

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from scaling import read_records
from sweeps.data.training import load_training_data
from sweeps.evaluation.evaluate import evaluate_upstream
from sweeps.paths import SweepPaths
from sweeps.runner.jobs import run_trunk
from sweeps.runner.run import pending_trunks
from sweeps.runner.status import sweep_status
from sweeps.training.saved_model import check_teacher, load_model, read_config, save_model

from ..conftest import plan_of

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A sweep of one small run that keeps its model."""
    folder = tmp_path_factory.mktemp("kept")
    plan = plan_of(train_examples=[200], steps=[20], model={"resnet": [{"width": 4, "depth": [1, 1]}]}, keep_model=True)
    run_trunk(plan.trunks[0], SweepPaths(folder), "kept", ("cpu",), lambda images, runs: None)
    return plan, folder, SweepPaths(folder).run(plan.configs[0].run_id).model


def test_a_kept_model_is_the_one_that_was_evaluated(kept):
    plan, folder, path = kept
    assert read_config(path) == plan.configs[0]
    test = load_training_data(plan.configs[0], CPU).test
    assert evaluate_upstream(load_model(path, CPU), test)["error"] == read_records(folder)["upstream_error"].item()


def test_keeping_the_model_is_no_part_of_the_run_id_and_a_missing_one_is_made_again(kept, tmp_path):
    plan, folder, path = kept
    same = plan_of(train_examples=[200], steps=[20], model={"resnet": [{"width": 4, "depth": [1, 1]}]})
    assert same.configs[0].run_id == plan.configs[0].run_id
    assert pending_trunks(plan, SweepPaths(folder)) == pending_trunks(same, SweepPaths(folder)) == []
    path.rename(tmp_path / "away")
    assert len(pending_trunks(plan, SweepPaths(folder))) == 1
    assert pending_trunks(same, SweepPaths(folder)) == []
    (tmp_path / "away").rename(path)


def test_a_teacher_is_known_by_its_content_not_by_its_place(kept, tmp_path):
    plan, _, path = kept
    copy = tmp_path / "copy"
    copy.write_bytes(path.read_bytes())
    students = [plan_of(recipe__teacher=str(file)).configs[0] for file in (path, copy)]
    assert students[0].run_id == students[1].run_id != plan_of().configs[0].run_id
    assert students[0].teacher_sha256 == check_teacher(str(copy), plan.configs[0].upstream)


def test_a_teacher_that_cannot_teach_is_refused_by_name(kept, tmp_path):
    plan, _, path = kept
    upstream = plan.configs[0].upstream
    with pytest.raises(ValueError, match=r"recipe\.teacher: no file .*none"):
        check_teacher(str(tmp_path / "none"), upstream)
    (tmp_path / "text").write_text("not a model")
    save_file({"x": np.zeros(2)}, tmp_path / "other")
    for name in ("text", "other"):
        with pytest.raises(ValueError, match=r"recipe\.teacher: .* is not the model\.safetensors of a run"):
            check_teacher(str(tmp_path / name), upstream)
    with pytest.raises(ValueError, match=r"must have the student's num_classes 7, got 10"):
        check_teacher(str(path), upstream.model_copy(update={"num_classes": 7}))
    with pytest.raises(ValueError, match=r"must have the student's image_size 16, got 8"):
        check_teacher(str(path), upstream.model_copy(update={"image_size": 16}))


def students_of(path, **changes):
    return plan_of(recipe__teacher=str(path), steps=[20], train_examples=[200], **changes)


@pytest.mark.parametrize("change", ["gone", "truncated", "another"])
def test_a_teacher_that_changes_after_the_plan_fails_its_students(kept, tmp_path, change):
    """Another teacher's classes under the first one's hash would be a silent wrong answer."""
    _, _, path = kept
    copy = tmp_path / "teacher"
    shutil.copy(path, copy)
    plan = students_of(copy)
    if change == "gone":
        copy.unlink()
    elif change == "truncated":
        copy.write_bytes(copy.read_bytes()[:500])
    else:
        save_model(copy, load_model(path, CPU), read_config(path).model_copy(update={"seed": 7}))
    run_trunk(plan.trunks[0], SweepPaths(tmp_path), "students", ("cpu",), lambda images, runs: None)
    (failure,) = sweep_status([c.run_id for c in plan.configs], SweepPaths(tmp_path)).failures
    assert failure.startswith("ValueError: ")
    assert "teacher" in failure


def test_a_teacher_that_goes_while_its_students_train_costs_nothing(kept, tmp_path):
    _, _, path = kept
    copy = tmp_path / "teacher"
    shutil.copy(path, copy)
    plan = students_of(copy)
    told = run_trunk(
        plan.trunks[0], SweepPaths(tmp_path), "students", ("cpu",), lambda *_: copy.unlink(missing_ok=True)
    )
    assert told == {"ok": 1}


def test_a_diverged_model_is_not_kept(tmp_path):
    plan = plan_of(keep_model=True, recipe__lr=1e18, steps=[20], train_examples=[200])
    assert run_trunk(plan.trunks[0], SweepPaths(tmp_path), "nan", ("cpu",), lambda *_: None) == {"diverged": 1}
    assert not SweepPaths(tmp_path).run(plan.configs[0].run_id).model.exists()
