"""The trainer, on digits: bitwise equality of branches, of resumed runs and of repeated ones."""

import contextlib
import copy
import json
import math

import pytest
import torch

import sweeps.training.train as train
from sweeps.data.training import load_training_data, training_source
from sweeps.paths import TrunkPaths
from sweeps.specs.grid import Trunk

from ..conftest import plan_of

CPU = torch.device("cpu")


pytestmark = pytest.mark.usefixtures("one_thread")


def run(configs, folder, on_step=lambda n: None):
    data = load_training_data(configs[0], CPU)
    return [copy.deepcopy(f) for f in train.train_trunk(configs, data, TrunkPaths(folder), CPU, on_step)]


def result(finished):
    """What of a run must repeat to the last bit: everything but the times and the energy."""
    timeless = []
    for evaluation in finished.evaluations:
        columns = {k: v for k, v in evaluation["columns"].items() if "second" not in k and k != "energy_joules"}
        timeless.append({**evaluation, "columns": columns})
    return json.dumps([timeless, finished.log])


def trunks(**changes):
    return plan_of(**{"train_examples": [200], **changes}).trunks


@pytest.mark.parametrize("index", [0, 1], ids=["vit", "resnet"])
@pytest.mark.parametrize("cooldown", ["20%", "0 steps"])
@pytest.mark.parametrize("every", ["10 steps", "15 steps"])
def test_a_branch_is_bitwise_the_run_trained_alone(tmp_path, index, cooldown, every):
    trunk = trunks(steps=[20, 40, 60], evaluate__every=every, schedule__cooldown=cooldown)[index]
    branches = run(trunk.configs, tmp_path / "trunk")
    for i, config in enumerate(trunk.configs):
        (alone,) = run([config], tmp_path / f"alone{i}")
        assert result(alone) == result(branches[i])


SOME_STEPS = (7, 24, 34, 50)  # in the trunk before the first branch, between branches, in one
EVERY_STEP = [pytest.param(step, marks=[] if step in SOME_STEPS else pytest.mark.slow) for step in range(72)]


@pytest.mark.parametrize("index", [0, 1], ids=["vit", "resnet"])
@pytest.mark.parametrize("stop", EVERY_STEP)
def test_a_run_killed_at_any_step_goes_on_bitwise(tmp_path, monkeypatch, index, stop):
    monkeypatch.setenv("SWEEPS_CHECKPOINT_SECONDS", "0")
    trunk = trunks(steps=[20, 40, 60])[index]
    whole = run(trunk.configs, tmp_path / "whole")
    steps = iter(range(1000))

    def kill(num_images):
        if next(steps) == stop:
            raise KeyboardInterrupt

    finished = []
    data = load_training_data(trunk.configs[0], CPU)
    cut = train.train_trunk(trunk.configs, data, TrunkPaths(tmp_path / "cut"), CPU, kill)
    with pytest.raises(KeyboardInterrupt):
        finished.extend(map(copy.deepcopy, cut))
    left = [c for c in trunk.configs if c.run_id not in {f.config.run_id for f in finished}]
    assert left
    finished += run(left, tmp_path / "cut")
    assert [result(f) for f in finished] == [result(w) for w in whole]


def test_the_same_run_twice_is_the_same_and_another_seed_is_not(tmp_path):
    first, second = (run(trunks()[0].configs, tmp_path / name)[0] for name in "ab")
    other = run(trunks(seeds=[1])[0].configs, tmp_path / "c")[0]
    assert result(first) == result(second) != result(other)


def test_a_run_learns_and_its_log_says_so(tmp_path):
    (finished,) = run(trunks(steps=[200], train_examples=[800], recipe__lr=1e-2)[1].configs, tmp_path)
    columns = finished.evaluations[-1]["columns"]
    assert columns["upstream_error"] < 0.75  # a guess errs on .9
    assert columns["upstream_top5_error"] < columns["upstream_error"]
    assert columns["cooled_down"]
    assert columns["status"] == "ok"
    losses = [line["loss"] for line in finished.log]
    assert losses[-1] < losses[0]
    assert finished.log[-1]["step"] == 200
    assert {row["task"] for row in finished.evaluations[-1]["evals"]} == {"shapes"}
    assert len(finished.evaluations[-1]["evals"]) == 2 * 2 * 2  # probes, shots, draws


def test_a_diverged_run_is_a_result(tmp_path):
    finished = run(trunks(recipe__lr=1e18)[0].configs, tmp_path)
    for one in finished:
        columns = one.evaluations[-1]["columns"]
        assert columns["status"] == "diverged"
        assert columns["diverged_step"] <= 20
        assert not columns["cooled_down"]
        assert "upstream_error" not in columns


@pytest.mark.parametrize("every", ["5 steps", "20 steps"])
def test_a_diverged_run_has_one_row_that_says_so_and_no_errors_of_nan_models(tmp_path, every):
    for finished in run(trunks(recipe__lr=1e18, evaluate__every=every)[0].configs, tmp_path):
        steps = [evaluation["step"] for evaluation in finished.evaluations]
        assert len(set(steps)) == len(steps)
        for evaluation in finished.evaluations:
            assert math.isfinite(evaluation["columns"].get("upstream_loss", 0.0))
        assert finished.evaluations[-1]["columns"]["status"] == "diverged"


def test_a_loss_that_is_no_number_is_divergence_even_where_the_model_still_answers(tmp_path):
    """Between two lines of the log: a record with such a loss could not be written, and the run would be lost."""
    config = trunks()[0].configs[0]
    data = load_training_data(config, CPU)
    state = train.new_state(config, CPU)
    state.losses = [torch.tensor(1.0), torch.tensor(math.inf)]
    train.Evaluator(config, data.seen, data.val, data.test, CPU).evaluate(state)
    assert [e["columns"]["status"] for e in state.evaluations] == ["diverged"]


def test_a_checkpoint_of_a_longer_plan_is_not_used_for_a_shorter_run(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEPS_CHECKPOINT_SECONDS", "0")
    short, _, long = trunks(steps=[20, 40, 60])[0].configs
    run([long], tmp_path / "used")  # leaves a checkpoint past the branch of the short run
    (after,) = run([short], tmp_path / "used")
    (alone,) = run([short], tmp_path / "alone")
    assert after.evaluations[-1]["step"] == 20
    assert result(after) == result(alone)


def test_evaluations_on_the_way_are_kept(tmp_path):
    (finished,) = run(trunks(steps=[40], evaluate__every="10 steps")[0].configs, tmp_path)
    last = [e for e in finished.evaluations if e["weights"] == "last"]
    assert [e["step"] for e in last] == [10, 20, 30, 40]
    assert [e["columns"]["cooled_down"] for e in last] == [False, False, False, True]


def test_the_held_out_part_is_neither_trained_nor_tested_on():
    config = trunks()[0].configs[0]
    data = load_training_data(config, CPU)
    assert (len(data.train.labels), len(data.val.labels), len(data.test.labels)) == (200, 100, 300)
    parts = [{bytes(image.numpy().tobytes()) for image in part.pixels} for part in (data.train, data.val)]
    assert not parts[0] & parts[1]


def test_evaluating_changes_nothing(tmp_path):
    every = ("3 steps", None)
    often, never = (run(trunks(steps=[40], evaluate__every=e)[1].configs, tmp_path / str(e)) for e in every)
    assert often[0].log == never[0].log


def test_progress_is_told_of_every_image(tmp_path):
    seen = []
    trunk: Trunk = trunks()[0]
    run(trunk.configs, tmp_path, seen.append)
    assert sum(seen) == trunk.num_images


# Weights and stopping -----------------------------------------------------------------------------------------


def of(finished, weights):
    return [e for e in finished.evaluations if e["weights"] == weights]


def test_best_is_the_evaluation_with_the_least_held_out_error(tmp_path):
    (finished,) = run(trunks(steps=[60], evaluate__every="10 steps", recipe__lr=3e-2)[1].configs, tmp_path)
    (best,) = of(finished, "best")
    last = of(finished, "last")
    least = min(last, key=lambda e: e["columns"]["upstream_val_error"])
    assert best["step"] == least["step"]
    assert best["columns"] == least["columns"]
    assert best["evals"] == least["evals"]


def test_a_run_that_is_only_evaluated_at_its_end_has_no_best(tmp_path):
    for finished in run(trunks()[0].configs, tmp_path):
        assert not of(finished, "best")


def test_averaged_weights_are_the_moving_average_of_every_step(tmp_path, monkeypatch):
    decay, seen = 0.8, []
    update = torch.optim.AdamW.step
    config = trunks(steps=[20], recipe__ema_decay=decay)[0].configs[0]

    def step(self, *args, **kwargs):
        update(self, *args, **kwargs)
        seen.append([p.detach().clone() for group in self.param_groups for p in group["params"]])

    start = train.new_state(config, CPU)
    average = [p.detach().clone() for group in start.optimizer.param_groups for p in group["params"]]
    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    data = load_training_data(config, CPU)
    with contextlib.closing(training_source(config, data, CPU)) as source:
        trainer = train.Trainer(data, source, TrunkPaths(tmp_path), CPU, lambda n: None)
        trainer.advance(start, config, 20)
    for weights in seen:
        average = [decay * a + (1 - decay) * w for a, w in zip(average, weights, strict=True)]
    names = {id(p): name for name, p in start.model.named_parameters()}
    ours = dict(start.average.module.named_parameters())
    order = [names[id(p)] for group in start.optimizer.param_groups for p in group["params"]]
    for name, expected in zip(order, average, strict=True):
        torch.testing.assert_close(ours[name], expected, rtol=1e-5, atol=1e-6)  # float32, twenty additions


@pytest.mark.parametrize("changes", [{"recipe__ema_decay": 0.9}, {"recipe__drop_path": 0.5}], ids=["ema", "drop_path"])
def test_with_averages_or_stochastic_depth_branches_and_resumed_runs_are_bitwise(tmp_path, monkeypatch, changes):
    monkeypatch.setenv("SWEEPS_CHECKPOINT_SECONDS", "0")
    model = {"vit": [{"width": 16, "depth": 2, "patch": 4}]}
    trunk = trunks(steps=[20, 40], model=model, **changes)[0]
    whole = run(trunk.configs, tmp_path / "whole")
    for i, config in enumerate(trunk.configs):
        torch.rand(3)  # what others drew from torch's generator must not matter
        assert result(run([config], tmp_path / f"alone{i}")[0]) == result(whole[i])
    with pytest.raises(KeyboardInterrupt):
        run(trunk.configs[1:], tmp_path / "cut", interrupt_after(25))
    assert result(run(trunk.configs[1:], tmp_path / "cut")[0]) == result(whole[1])


def interrupt_after(num_steps):
    steps = iter(range(1000))

    def on_step(num_images):
        if next(steps) == num_steps:
            raise KeyboardInterrupt

    return on_step


def test_stochastic_depth_changes_the_training(tmp_path):
    model = {"vit": [{"width": 16, "depth": 2, "patch": 4}]}
    plain, dropped = (run(trunks(model=model, recipe__drop_path=p)[0].configs, tmp_path / str(p))[0] for p in (0, 0.5))
    assert plain.log != dropped.log


def test_a_run_stops_when_its_held_out_error_no_longer_falls(tmp_path):
    """A learning rate of next to nothing: the first evaluation is the best, two more end it."""
    changes = {"evaluate__every": "5 steps", "evaluate__stop_after": 2, "recipe__lr": 1e-12}
    for finished, planned in zip(run(trunks(steps=[20, 40], **changes)[0].configs, tmp_path), (20, 40), strict=True):
        last = of(finished, "last")
        assert [e["step"] for e in last] == [5, 10, 15]
        assert not any(e["columns"]["cooled_down"] for e in last)
        assert finished.config.steps == planned
        assert of(finished, "best")[0]["step"] == 5


def test_a_run_that_still_learns_is_not_stopped(tmp_path):
    changes = {"evaluate__every": "50 steps", "evaluate__stop_after": 2, "train_examples": [800], "recipe__lr": 1e-2}
    (finished,) = run(trunks(steps=[200], **changes)[1].configs, tmp_path)
    assert of(finished, "last")[-1]["step"] == 200
    assert of(finished, "last")[-1]["columns"]["cooled_down"]


def test_a_few_images_trained_on_for_long_are_memorised_and_many_for_short_are_not(tmp_path):
    model = {"resnet": [{"width": 8, "depth": [1, 1]}]}
    common = {"model": model, "recipe__lr": 1e-2, "recipe__augment": "none", "evaluate__every": "50 steps"}
    (few,) = run(trunks(train_examples=[40], steps=[400], **common)[0].configs, tmp_path / "few")
    (many,) = run(trunks(train_examples=[800], steps=[100], **common)[0].configs, tmp_path / "many")
    end = of(few, "last")[-1]["columns"]
    assert end["train_error"] == 0
    assert end["upstream_val_error"] > 0.1
    assert end["memorised"] is True
    assert of(many, "last")[-1]["columns"]["memorised"] is False
