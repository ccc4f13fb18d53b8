import math
from itertools import pairwise

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from sweeps.specs.config import ScheduleConfig
from sweeps.training.schedules import SCHEDULES, learning_rate_factor, may_branch, rsqrt, staircase

EVERY_KIND = pytest.mark.parametrize("kind", SCHEDULES)


def factors(kind, total=1000, warmup=50, cooldown=200):
    schedule = ScheduleConfig(kind=kind, warmup_steps=warmup, cooldown_steps=cooldown)
    return [learning_rate_factor(schedule, step, total) for step in range(total)]


@EVERY_KIND
def test_warm_up_rises_linearly_to_the_peak_and_the_end_is_near_zero(kind):
    values = factors(kind)
    assert values[0] == pytest.approx(1 / 50)
    assert values[49] == pytest.approx(1, abs=0.01)
    assert 0 < values[-1] <= 1 / 200
    assert all(0 < value <= 1 for value in values)


@EVERY_KIND
def test_a_kind_branches_just_where_its_start_does_not_know_the_length(kind):
    same = factors(kind, total=1000)[:800] == factors(kind, total=3000)[:800]
    assert same == may_branch(kind)


@st.composite
def runs(draw):
    """(total, warmup, cooldown), the two together not longer than the run."""
    total = draw(st.integers(1, 10**7))
    warmup = draw(st.integers(0, total))
    return total, warmup, draw(st.integers(0, total - warmup))


@EVERY_KIND
@settings(deadline=None)
@given(run=runs(), share=st.floats(0, 1))
def test_any_step_of_any_run_learns_and_after_the_warm_up_no_faster_than_the_last(kind, run, share):
    total, warmup, cooldown = run
    schedule = ScheduleConfig(kind=kind, warmup_steps=warmup, cooldown_steps=cooldown)
    step = min(total - 1, int(share * total))
    value = learning_rate_factor(schedule, step, total)
    assert 0 < value <= 1
    if warmup <= step < total - 1:
        assert learning_rate_factor(schedule, step + 1, total) <= value * (1 + 1e-15)  # a rounding


@pytest.mark.parametrize("kind", [kind for kind in SCHEDULES if may_branch(kind)])
@settings(deadline=None)
@given(run=runs(), longer=st.integers(0, 10**7), share=st.floats(0, 1))
def test_a_branch_has_the_factors_of_the_longer_run_until_its_cooldown(kind, run, longer, share):
    total, warmup, cooldown = run
    assume(total > cooldown)
    schedule = ScheduleConfig(kind=kind, warmup_steps=warmup, cooldown_steps=cooldown)
    step = min(total - cooldown - 1, int(share * total))
    assert learning_rate_factor(schedule, step, total) == learning_rate_factor(schedule, step, total + longer)


@pytest.mark.parametrize(("total", "warmup"), [(100, 10), (37, 5), (1000, 2), (50, 0)])
def test_cosine_is_torchs(total, warmup):
    """LinearLR from 1/warmup to 1, then CosineAnnealingLR."""
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    scheduler = cosine = CosineAnnealingLR(optimizer, T_max=total - warmup)
    if warmup:
        rise = LinearLR(optimizer, start_factor=1 / warmup, total_iters=warmup - 1)
        scheduler = SequentialLR(optimizer, [rise, cosine], milestones=[warmup])
    for value in factors("cosine", total, warmup, 0):
        assert value == pytest.approx(optimizer.param_groups[0]["lr"], abs=1e-12)  # torch multiplies step by step
        optimizer.step()
        scheduler.step()


def big_vision(kind, step, total, warmup, cooldown, timescale=10_000, shift=0):
    """`create_learning_rate_schedule` of big_vision's utils, with base 1."""
    progress = min(1.0, max(0.0, (step - warmup) / (total - warmup)))
    if kind == "linear":
        rate = 1 - progress
    elif kind == "cosine":
        rate = 0.5 * (1 + math.cos(math.pi * progress))
    elif step >= warmup:
        rate = 1 / math.sqrt(1 + (step + shift - warmup) / timescale)
    else:
        rate = 1 / math.sqrt(1 + shift / timescale)
    if warmup:
        rate *= min(1.0, step / warmup)
    return rate * min(1.0, (total - step) / cooldown) if cooldown else rate


@pytest.mark.parametrize("kind", ["linear", "cosine", "rsqrt"])
def test_a_schedule_is_big_visions_whose_warm_up_is_one_step_late(kind):
    """Ours reaches the peak with step `warmup - 1`, theirs, whose first step learns nothing, with step `warmup`."""
    total, warmup, cooldown = 1000, 100, 150
    ours = factors(kind, total, warmup, cooldown)
    for step in range(total):
        late = 1 / warmup if step < warmup else 0
        expected = big_vision(kind, step, total, warmup, cooldown) + late
        assert ours[step] == pytest.approx(expected, rel=1e-12)  # float64


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**5), st.integers(1, 10**5), st.integers(0, 10**5))
def test_rsqrt_with_timescale_and_shift_is_big_visions(step, warmup, timescale, shift):
    theirs = big_vision("rsqrt", step, 10**9, 0, 0, timescale, shift)
    assert rsqrt(step, 0, timescale, shift) == pytest.approx(theirs, rel=1e-12)
    after = big_vision("rsqrt", step + warmup, 10**9, warmup, 0, timescale, shift)
    assert rsqrt(step + warmup, warmup, timescale, shift) == pytest.approx(after, rel=1e-12)
    assert rsqrt(min(step, warmup), warmup, timescale, shift) == pytest.approx(rsqrt(0, 0, timescale, shift))


def test_a_shift_goes_on_where_the_run_before_ended():
    assert rsqrt(3_000, 0, shift=7_000) == rsqrt(10_000, 0)


def test_rsqrt_is_that_of_zhai():
    """1 / sqrt(1 + (step - warmup) / 10,000) after the warm-up: Zhai et al. 2021, appendix C."""
    schedule = ScheduleConfig(kind="rsqrt", warmup_steps=10_000, cooldown_steps=50_000)
    assert learning_rate_factor(schedule, 40_000, 1_000_000) == pytest.approx(0.5)
    assert learning_rate_factor(schedule, 10**6 - 1, 10**6) == pytest.approx(1 / 50_000 / 100**0.5, rel=1e-3)


def test_cosine_halfway():
    assert factors("cosine", warmup=0, cooldown=0)[500] == pytest.approx(0.5)


@pytest.mark.parametrize("total", [90, 91, 450_360, 7, 1])
def test_staircase_falls_at_the_epochs_of_big_transfer(total):
    for step in range(0, total, max(1, total // 1000)):
        epoch = 90 * step / total
        expected = 1.0 if epoch < 30 else 0.1 if epoch < 60 else 0.01 if epoch < 80 else 0.001
        assert staircase(step, total) == expected


@EVERY_KIND
def test_a_run_of_one_step_learns_at_the_peak(kind):
    assert factors(kind, total=1, warmup=0, cooldown=0) == [1.0]
    assert factors(kind, total=1, warmup=1, cooldown=0) == [1.0]


@EVERY_KIND
def test_a_run_may_be_all_warm_up_or_all_cooldown(kind):
    rise = factors(kind, total=8, warmup=8, cooldown=0)
    assert rise == [staircase(step, 8) * (step + 1) / 8 if kind == "staircase" else (step + 1) / 8 for step in range(8)]
    assert all(early > 0 for early in factors(kind, total=8, warmup=0, cooldown=8))
    assert all(late < early for early, late in pairwise(factors(kind, total=8, warmup=0, cooldown=8)))
