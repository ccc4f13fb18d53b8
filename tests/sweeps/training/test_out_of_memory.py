"""Too little memory: told from other faults, tried once more with the batch in parts, then recorded."""

import errno
import gc
import json

import pandas as pd
import pytest
import torch

from scaling.records import read_records
from sweeps.evaluation.finetune import Finetuned
from sweeps.paths import SweepPaths
from sweeps.runner import jobs
from sweeps.runner.status import sweep_status
from sweeps.training import finish
from sweeps.training.micro_batches import why_whole
from sweeps.training.out_of_memory import is_out_of_memory
from sweeps.training.step import TrainingStep

from ..conftest import plan_of

pytestmark = pytest.mark.usefixtures("one_thread")
ROUNDING = 1e-5  # relative: float32 (6e-8) sums in another order, which 40 steps of Adam amplify
TOO_MUCH = 2**46  # bytes, 64 TiB: more than the addresses that a process has


def raised(function):
    with pytest.raises(Exception) as caught:  # noqa: PT011  # whatever it is, it is looked at
        function()
    return caught.value


def test_the_allocator_of_the_cpu_is_recognised():
    """Really asked for more than there is."""
    assert is_out_of_memory(raised(lambda: torch.empty(TOO_MUCH, dtype=torch.uint8)))


def test_what_else_runs_out_of_memory_is_recognised():
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory."))
    assert is_out_of_memory(OSError(errno.ENOMEM, "Cannot allocate memory"))
    assert is_out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"))


def test_other_faults_are_none_of_memory():
    assert not is_out_of_memory(raised(lambda: torch.ones(2, 3) @ torch.ones(2, 3)))
    assert not is_out_of_memory(OSError(errno.ENOSPC, "No space left on device"))
    assert not is_out_of_memory(ValueError("DefaultCPUAllocator"))


@pytest.mark.gpu
def test_the_allocator_of_a_gpu_is_recognised():
    assert is_out_of_memory(raised(lambda: torch.empty(TOO_MUCH, dtype=torch.uint8, device="cuda")))


def step_that_needs(fits_in, steps=0):
    """A step that asks for too much memory from some step on, but where the batch is in so many parts."""

    def step(self, state, images):
        parts.append(self.num_micro_batches)
        if state.step >= steps and (self.num_micro_batches or 1) < fits_in:
            torch.empty(TOO_MUCH, dtype=torch.uint8)
        return before(self, state, images)

    before, parts = TrainingStep.__call__, []
    return step, parts


def run_trunk(plan, folder, index=0):
    return jobs.run_trunk(plan.trunks[index], SweepPaths(folder), "tiny", ("cpu",), lambda images, runs: None)


def test_it_is_tried_once_more_with_four_times_the_parts_and_the_record_says_so(tmp_path, monkeypatch, capfd):
    step, parts = step_that_needs(4)
    monkeypatch.setattr(TrainingStep, "__call__", step)
    plan = plan_of(train_examples=[200])
    assert run_trunk(plan, tmp_path) == {"ok": 2}
    assert parts[:2] == [None, 4]
    runs = read_records(tmp_path)
    assert runs["num_micro_batches"].tolist() == [4, 4]
    assert not list(tmp_path.rglob("traceback.txt"))
    assert "out of memory; once again with 4 micro-batches" in capfd.readouterr().err


def results(plan, folder):
    """Of each run, the shortest first: its last record, and the losses of its log."""
    for config in plan.trunks[0].configs:
        run = SweepPaths(folder).run(config.run_id)
        record = pd.read_parquet(run.records).iloc[-1]
        yield record, [json.loads(line)["loss"] for line in run.metrics.read_text().splitlines()]


def test_in_a_branch_the_micro_batches_give_what_the_whole_batch_gives(tmp_path, monkeypatch):
    """More than four images at once are too many from the second step of the first branch on, as on a shared device."""
    plan = plan_of(train_examples=[200], finetune={"tasks": ["shapes"], "steps": 2, "lr": [0.01], "batch_size": 4})
    assert [config.branch_step for config in plan.trunks[0].configs] == [16, 32]
    before, of_finetuning = TrainingStep._backward, []

    def backward(self, state, inputs, targets, rows, classes):
        if state.step >= 17 and rows.stop - rows.start > 4:
            torch.empty(TOO_MUCH, dtype=torch.uint8)
        return before(self, state, inputs, targets, rows, classes)

    def finetune(config, *args):
        of_finetuning.append(config.micro_batches)
        return Finetuned([], {})

    monkeypatch.setattr(finish, "finetune_model", finetune)
    assert run_trunk(plan, tmp_path / "whole") == {"ok": 2}
    monkeypatch.setattr(TrainingStep, "_backward", backward)
    monkeypatch.setenv("SWEEPS_CHECKPOINT_SECONDS", "0")
    assert run_trunk(plan, tmp_path / "parts") == {"ok": 2}
    assert of_finetuning == [1, 1, 4, 4]
    whole, parts = (list(results(plan, tmp_path / name)) for name in ("whole", "parts"))
    for (record, losses), (expected, expected_losses) in zip(parts, whole, strict=True):
        assert (record.num_micro_batches, expected.num_micro_batches) == (4, 1)
        assert losses == pytest.approx(expected_losses, rel=ROUNDING)
        assert record.upstream_loss == pytest.approx(expected.upstream_loss, rel=ROUNDING)
        assert record.upstream_error == pytest.approx(expected.upstream_error, abs=1 / 300 + 1e-9)  # an answer of 300


def test_it_goes_on_from_the_last_checkpoint_and_so_does_a_run_killed_later(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEPS_CHECKPOINT_SECONDS", "0")
    step, parts = step_that_needs(4, steps=10)
    monkeypatch.setattr(TrainingStep, "__call__", step)
    plan = plan_of(train_examples=[200], steps=[20])
    done = iter(range(100))

    def kill_in_the_second_attempt(images, runs):
        if 4 in parts and next(done) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(jobs, "_REPORT_SECONDS", -1.0)
    with pytest.raises(KeyboardInterrupt):
        jobs.run_trunk(plan.trunks[0], SweepPaths(tmp_path), "tiny", ("cpu",), kill_in_the_second_attempt)
    assert parts == [None] * 11 + [4] * 4
    assert run_trunk(plan, tmp_path) == {"ok": 1}
    assert parts[15:] == [4] * 7  # the killed step again and the rest: 13 to 19
    assert read_records(tmp_path)["num_micro_batches"].tolist() == [4]


def test_the_second_time_it_is_the_runs_status(tmp_path, monkeypatch):
    step, parts = step_that_needs(10**9)
    monkeypatch.setattr(TrainingStep, "__call__", step)
    plan = plan_of(train_examples=[200])
    assert run_trunk(plan, tmp_path) == {"oom": 2}
    assert parts == [None, 4]
    (failure,) = sweep_status([c.run_id for c in plan.trunks[0].configs], SweepPaths(tmp_path)).failures
    assert "can't allocate memory" in failure
    assert "Traceback" in SweepPaths(tmp_path).run(plan.trunks[0].configs[0].run_id).traceback.read_text()


def test_a_batch_that_cannot_be_split_is_not_tried_again(tmp_path, monkeypatch):
    step, parts = step_that_needs(4)
    monkeypatch.setattr(TrainingStep, "__call__", step)
    plan = plan_of(train_examples=[200])
    assert plan.trunks[1].configs[0].model.family == "resnet"
    assert run_trunk(plan, tmp_path, 1) == {"oom": 2}
    assert parts == [None]
    (failure,) = sweep_status([c.run_id for c in plan.trunks[1].configs], SweepPaths(tmp_path)).failures
    assert "(no smaller parts: model.resnet has BatchNorm" in failure


def test_nor_is_one_of_single_images(tmp_path, monkeypatch):
    step, parts = step_that_needs(10**9)
    monkeypatch.setattr(TrainingStep, "__call__", step)
    vit = {"vit": [{"width": 16, "depth": 1, "patch": 4}]}
    plan = plan_of(train_examples=[200], recipe__batch_size=2, micro_batches=2, model=vit)
    assert why_whole(plan.configs[0]) is None
    assert run_trunk(plan, tmp_path) == {"oom": 2}
    assert len(parts) == 1


def test_the_memory_of_the_failed_attempt_is_free_before_the_second(tmp_path, monkeypatch):
    """No model of the first attempt is alive in the second."""
    alive = []

    def step(self, state, images):
        alive.append(sum(type(found).__name__ == "TrainingState" for found in gc.get_objects()))
        if self.num_micro_batches is None:
            torch.empty(TOO_MUCH, dtype=torch.uint8)
        return before(self, state, images)

    before = TrainingStep.__call__
    monkeypatch.setattr(TrainingStep, "__call__", step)
    gc.collect()
    run_trunk(plan_of(train_examples=[200], steps=[2], schedule__warmup="1 steps"), tmp_path)
    assert len(set(alive)) == 1
