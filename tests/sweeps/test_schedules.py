from itertools import pairwise

import pytest

from sweeps.config import ScheduleConfig
from sweeps.schedules import SCHEDULES, learning_rate_factor, may_branch

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
def test_after_the_warm_up_it_never_rises(kind):
    values = factors(kind)[50:]
    assert all(late <= early + 1e-15 for early, late in pairwise(values))


@EVERY_KIND
def test_a_kind_branches_just_where_its_start_does_not_know_the_length(kind):
    same = factors(kind, total=1000)[:800] == factors(kind, total=3000)[:800]
    assert same == may_branch(kind)


def test_rsqrt_is_that_of_zhai():
    """1 / sqrt(1 + (step - warmup) / 10,000) after the warm-up: Zhai et al. 2021, appendix C."""
    schedule = ScheduleConfig(kind="rsqrt", warmup_steps=10_000, cooldown_steps=50_000)
    assert learning_rate_factor(schedule, 40_000, 1_000_000) == pytest.approx(0.5)
    assert learning_rate_factor(schedule, 10**6 - 1, 10**6) == pytest.approx(1 / 50_000 / 100**0.5, rel=1e-3)


def test_cosine_halfway():
    assert factors("cosine", warmup=0, cooldown=0)[500] == pytest.approx(0.5)
