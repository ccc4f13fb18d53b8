"""The learning rate as a pure function of the step."""

import math

from .config import ScheduleConfig

__all__ = ["SCHEDULES", "learning_rate_factor", "may_branch"]

_RSQRT_TIMESCALE = 10_000  # Zhai et al. 2021 (arXiv 2106.04560), appendix C

# Factor at a step of a run of `total` steps, warm-up and cooldown apart; True: it does not depend on `total`.
SCHEDULES = {
    "constant": (lambda step, warmup, total: 1.0, True),
    "rsqrt": (lambda step, warmup, total: 1 / math.sqrt(1 + max(0, step - warmup) / _RSQRT_TIMESCALE), True),
    "linear": (lambda step, warmup, total: 1 - _progress(step, warmup, total), False),
    "cosine": (lambda step, warmup, total: 0.5 * (1 + math.cos(math.pi * _progress(step, warmup, total))), False),
}


def learning_rate_factor(schedule: ScheduleConfig, step: int, total: int) -> float:
    """What the base learning rate is multiplied by at `step` (from 0) of a run of `total` steps.

    min(1, (step + 1) / warmup) * kind(step) * min(1, (total - step) / cooldown): the last step still learns.

    Source: Zhai et al. 2021 (arXiv 2106.04560), section 3.5, the schedule with warm-up and cooldown.

    >>> schedule = ScheduleConfig(kind="constant", warmup_steps=2, cooldown_steps=2)
    >>> [learning_rate_factor(schedule, step, total=6) for step in range(6)]
    [0.5, 1.0, 1.0, 1.0, 1.0, 0.5]
    """
    shape, _ = SCHEDULES[schedule.kind]
    warmup = min(1.0, (step + 1) / schedule.warmup_steps) if schedule.warmup_steps else 1.0
    cooldown = min(1.0, (total - step) / schedule.cooldown_steps) if schedule.cooldown_steps else 1.0
    return warmup * shape(step, schedule.warmup_steps, total) * cooldown


def may_branch(kind: str) -> bool:
    """Whether runs of different lengths share their steps before the cooldown."""
    return SCHEDULES[kind][1]


def _progress(step: int, warmup: int, total: int) -> float:
    return max(0, step - warmup) / max(1, total - warmup)
