"""The learning rate as a pure function of the step."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..specs.config import ScheduleConfig

__all__ = ["SCHEDULES", "Kind", "learning_rate_factor", "may_branch", "rsqrt", "staircase"]

_RSQRT_TIMESCALE = 10_000  # steps: Zhai et al. 2021 (arXiv 2106.04560), appendix C


class Kind(NamedTuple):
    """Factor at a step, given (schedule, step, total), warm-up and cooldown apart; whether it depends on `total`."""

    factor: Callable[["ScheduleConfig", int, int], float]
    knows_length: bool


def rsqrt(step: int, warmup: int, timescale: int = _RSQRT_TIMESCALE, shift: int = 0) -> float:
    """1 / sqrt(1 + (step + shift - warmup) / timescale), and before the warm-up's end what it is there.

    All in steps. A shift goes on where a run of another batch size ended.

    Source: Zhai et al. 2021 (arXiv 2106.04560), section 3.5, and big_vision's `create_learning_rate_schedule`.

    >>> rsqrt(40_000, warmup=10_000)
    0.5
    """
    return 1 / math.sqrt(1 + (max(0, step - warmup) + shift) / timescale)


def staircase(step: int, total: int) -> float:
    """Divided by ten at 30/90, 60/90 and 80/90 of the run.

    Source: Kolesnikov et al. 2020 (BiT, arXiv 1912.11370), upstream training on ImageNet: epochs 30, 60, 80 of 90.

    >>> [staircase(step, total=90) for step in (29, 30, 60, 80)]
    [1.0, 0.1, 0.01, 0.001]
    """
    return _STAIRS[sum(90 * step >= epoch * total for epoch in (30, 60, 80))]


_STAIRS = (1.0, 0.1, 0.01, 0.001)

SCHEDULES = {
    "constant": Kind(lambda schedule, step, total: 1.0, False),
    "rsqrt": Kind(lambda schedule, step, total: rsqrt(step, schedule.warmup_steps, schedule.timescale_steps), False),
    "linear": Kind(lambda schedule, step, total: 1 - _progress(schedule, step, total), True),
    "cosine": Kind(lambda schedule, step, total: _cosine(_progress(schedule, step, total)), True),
    "staircase": Kind(lambda schedule, step, total: staircase(step, total), True),
}


def learning_rate_factor(schedule: "ScheduleConfig", step: int, total: int) -> float:
    """What the base learning rate is multiplied by at `step` (from 0) of a run of `total` steps.

    min(1, (step + 1) / warmup) * kind(step) * min(1, (total - step) / cooldown): the last step still learns.

    Source: Zhai et al. 2021 (arXiv 2106.04560), section 3.5, the schedule with warm-up and cooldown.

    >>> from sweeps.specs.config import ScheduleConfig
    >>> schedule = ScheduleConfig(kind="constant", warmup_steps=2, cooldown_steps=2)
    >>> [learning_rate_factor(schedule, step, total=6) for step in range(6)]
    [0.5, 1.0, 1.0, 1.0, 1.0, 0.5]
    """
    warmup = min(1.0, (step + 1) / schedule.warmup_steps) if schedule.warmup_steps else 1.0
    cooldown = min(1.0, (total - step) / schedule.cooldown_steps) if schedule.cooldown_steps else 1.0
    return warmup * SCHEDULES[schedule.kind].factor(schedule, step, total) * cooldown


def may_branch(kind: str) -> bool:
    """Whether runs of different lengths share their steps before the cooldown."""
    return not SCHEDULES[kind].knows_length


def _progress(schedule: "ScheduleConfig", step: int, total: int) -> float:
    return max(0, step - schedule.warmup_steps) / max(1, total - schedule.warmup_steps)


def _cosine(progress: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * progress))
