import itertools
import time

import pytest
import torch
from torch import nn

from sweeps.data.training import load_training_data
from sweeps.evaluation import evaluate
from sweeps.evaluation.evaluate import Evaluator
from sweeps.evaluation.speed import TimedForward
from sweeps.training.train import new_state

from ..conftest import plan_of


class Slow(nn.Module):
    """Takes so many seconds for each batch in turn."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = iter(seconds)

    def forward(self, images):
        now = time.perf_counter() + next(self.seconds)
        while time.perf_counter() < now:
            pass
        return images


@pytest.fixture
def clock(monkeypatch):
    """Time that goes on by what a test says, a reading each."""

    def at(times):
        monkeypatch.setattr(time, "perf_counter", iter(times).__next__)

    return at


def run(sizes):
    timed = TimedForward()
    for size in sizes:
        assert timed(nn.Identity(), torch.zeros(size, 3)).shape == (size, 3)
    return timed.images_per_second


def test_it_is_that_of_the_full_batches_after_the_first(clock):
    clock([100.0, 101.0, 104.0, 104.1])  # ends; the first took 100 seconds, the last one is a part of a batch
    assert run([10, 10, 10, 4]) == pytest.approx(20 / 4)


@pytest.mark.parametrize("sizes", [[], [3], [10, 10], [10, 10, 4]])
def test_a_set_too_small_to_tell_has_none(clock, sizes):
    clock(itertools.count())
    assert run(sizes) is None


def test_a_real_pass(monkeypatch):
    timed, model = TimedForward(), Slow([0.2, 0.02, 0.02, 0.02])
    for _ in range(4):
        timed(model, torch.zeros(5, 1))
    assert 5 / 0.02 / 10 < timed.images_per_second <= 5 / 0.02  # at most what the model takes; the machine may be busy


def test_an_evaluation_tells_the_speed_on_the_test_images(monkeypatch):
    cpu = torch.device("cpu")
    config = plan_of(steps=[20], downstream=None).configs[0]
    data, state = load_training_data(config, cpu), new_state(config, cpu)
    evaluator = Evaluator(config, data.seen, data.val, data.test, cpu)
    evaluator.evaluate(state)  # 300 test images are no three batches
    monkeypatch.setattr(evaluate, "_BATCH", 50)
    started = time.perf_counter()
    evaluator.evaluate(state)
    seconds = time.perf_counter() - started
    few, many = (e["columns"]["inference_images_per_second"] for e in state.evaluations)
    assert few is None
    assert many > 250 / seconds  # five batches of its six are timed, in less than all of the time
