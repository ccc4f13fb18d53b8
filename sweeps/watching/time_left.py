"""How much longer a sweep takes, from the work of the runs that it has lately finished."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..runner.frozen_plan import FrozenRun
from ..words import plural

__all__ = ["TimeLeft", "time_left", "work_of"]

_RECENT_SECONDS = 3600.0  # speeds of long ago were of other models, or of other machines
_LEAST_FINISHED = 2


@dataclass(frozen=True)
class TimeLeft:
    """Seconds left, or None and why they cannot be told."""

    seconds: float | None
    reason: str = ""


def work_of(runs: Sequence[FrozenRun]) -> tuple[dict[str, float], str]:
    """What each run takes, and in what: FLOPs where those of all runs are known, else images."""
    unit = "images" if any(run.training_flops is None for run in runs) else "FLOPs"
    return {run.run_id: float(run.training_flops or 0) if unit == "FLOPs" else run.num_images for run in runs}, unit


def time_left(
    work: Mapping[str, float], finished: Mapping[str, float], left: Sequence[str], started: float, now: float
) -> TimeLeft:
    """What is left over the speed of the last hour.

    Args:
        work: of each run, in one unit.
        finished: when each finished run ended, in seconds since the epoch.
        left: the runs that are not finished.
        started: when the sweep was last started.
    """
    since = max(started, now - _RECENT_SECONDS)
    recent = [run_id for run_id, ended in finished.items() if since < ended <= now]
    done = sum(work[run_id] for run_id in recent)
    if len(recent) < _LEAST_FINISHED or not done:
        span = "since it was started" if since == started else "in the last hour"
        return TimeLeft(None, f"cannot be told: {plural(len(recent), 'run')} finished {span}")
    return TimeLeft(sum(work[run_id] for run_id in left) * (now - since) / done)
