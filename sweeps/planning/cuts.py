"""What is left of a plan under a cap on time or FLOPs, the cheapest runs first."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..runner.cost import finetune_cost, run_cost
from ..specs.config import RunConfig
from ..specs.grid import Plan

__all__ = ["Cut", "RunShare", "cut_plan", "run_shares"]


@dataclass(frozen=True)
class RunShare:
    """A run with what it adds to the shorter runs of its trunk; `alone` is its FLOPs where it would train all itself.

    Attributes:
        seconds: of a slot; None where nothing was measured.
    """

    config: RunConfig
    flops: float
    alone: float
    seconds: float | None


@dataclass(frozen=True)
class Cut:
    """What a cap leaves.

    Attributes:
        num_kept, num_cut: runs.
        models: that lose all their runs.
        lengths: steps of which no run is left.
        flops, seconds: of what is left; seconds of all slots together.
    """

    num_kept: int
    num_cut: int
    models: tuple[str, ...]
    lengths: tuple[int, ...]
    flops: float
    seconds: float | None


def run_shares(plan: Plan, trunk_seconds: Mapping[str, float] | None = None) -> list[RunShare]:
    """Every run, the cheapest first.

    Args:
        trunk_seconds: by trunk id, dealt out to its runs by their added FLOPs.
    """
    shares = []
    for trunk in plan.trunks:
        per_image, done, added = float(run_cost(trunk.configs[0]).training_flops), 0, []
        for config in sorted(trunk.configs, key=lambda config: (config.branch_step, config.steps)):
            batch, finetuning = config.recipe.batch_size, float(finetune_cost(config).flops)
            flops = per_image * (config.steps - done) * batch + finetuning
            added.append((config, flops, per_image * config.steps * batch + finetuning))
            done = config.branch_step
        seconds, total = trunk_seconds[trunk.trunk_id] if trunk_seconds else None, sum(flops for _, flops, _ in added)
        for config, flops, alone in added:
            part = flops / total if total else 1 / len(added)
            shares.append(RunShare(config, flops, alone, None if seconds is None else seconds * part))
    return sorted(shares, key=lambda share: share.alone)


def cut_plan(shares: list[RunShare], *, max_flops: float | None = None, max_seconds: float | None = None) -> Cut:
    """The cheapest runs whose sum stays within the caps; the first that does not ends it.

    Args:
        shares: from `run_shares`.
        max_seconds: of all slots together.

    Raises:
        ValueError: a cap on time, and no run's time is known.
    """
    flops, seconds, kept = 0.0, 0.0, 0
    for share in shares:
        if max_seconds is not None and share.seconds is None:
            raise ValueError("max_seconds: the time of the runs is not known")
        flops, seconds = flops + share.flops, seconds + (share.seconds or 0.0)
        if (max_flops is not None and flops > max_flops) or (max_seconds is not None and seconds > max_seconds):
            flops, seconds = flops - share.flops, seconds - (share.seconds or 0.0)
            break
        kept += 1
    left, gone = [s.config for s in shares[:kept]], [s.config for s in shares[kept:]]
    return Cut(
        kept, len(gone), _only_in(gone, left, lambda c: f"{c.model.family} {c.model.variant}"),
        _only_in(gone, left, lambda c: c.steps), flops, seconds if shares and shares[0].seconds is not None else None,
    )  # fmt: skip


def _only_in(gone: list[RunConfig], left: list[RunConfig], of) -> tuple:
    remaining = {of(config) for config in left}
    return tuple(sorted({of(config) for config in gone} - remaining))
