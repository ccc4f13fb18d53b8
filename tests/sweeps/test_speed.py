import itertools
import time

import pytest
import torch
from torch import nn

from sweeps.speed import TimedForward


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
