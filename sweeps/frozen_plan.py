"""The runs that a folder was last asked for, each with its resolved config: later edits change none of them."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .paths import SweepPaths, write_text

if TYPE_CHECKING:  # a second of importing, which reading a plan does not take
    from .grid import Plan

__all__ = ["FrozenPlan", "FrozenRun", "read_frozen_plan", "write_frozen_plan"]


@dataclass(frozen=True)
class FrozenRun:
    """One run of a plan.

    Attributes:
        num_images: images that it trains on beside those of the shorter runs of its trunk.
        training_flops: of these images; None where nobody has counted them.
        config: the resolved config, as plain values.
    """

    run_id: str
    trunk_id: str
    num_images: int
    training_flops: float | None
    config: Mapping[str, Any]


@dataclass(frozen=True)
class FrozenPlan:
    """What a folder was last asked for.

    Attributes:
        code: the hash of the code that it was to be trained with (`sweeps.frozen_code`), or None.
    """

    name: str
    order: str
    code: str | None
    runs: tuple[FrozenRun, ...]

    @property
    def run_ids(self) -> list[str]:
        return [run.run_id for run in self.runs]

    def plan(self) -> "Plan":
        """As it was made, but for what `sweeps plan` tells of duplicates and missing tasks."""
        from .config import RunConfig
        from .grid import Plan, Trunk

        groups: defaultdict[str, list[RunConfig]] = defaultdict(list)
        for run in self.runs:
            groups[run.trunk_id].append(RunConfig.model_validate(run.config))
        return Plan(self.name, self.order, tuple(Trunk(tuple(group)) for group in groups.values()), 0)


def write_frozen_plan(
    plan: "Plan", paths: SweepPaths, code: str | None = None, flops: Mapping[str, float] | None = None
) -> None:
    """A line for the plan and a line a run.

    Args:
        flops: training FLOPs of one image, by trunk id.
    """
    lines: list[dict[str, Any]] = [{"name": plan.name, "order": plan.order, "code": code}]
    for trunk in plan.trunks:
        per_image = (flops or {}).get(trunk.trunk_id)
        done = 0
        for config in sorted(trunk.configs, key=lambda config: (config.branch_step, config.steps)):
            images = (config.steps - done) * config.recipe.batch_size
            done = config.branch_step
            lines.append({
                "run_id": config.run_id, "trunk_id": trunk.trunk_id, "num_images": images,
                "training_flops": None if per_image is None else per_image * images,
                "config": config.model_dump(mode="json"),
            })  # fmt: skip
    write_text(paths.plan, "".join(json.dumps(line) + "\n" for line in lines))


def read_frozen_plan(paths: SweepPaths) -> FrozenPlan:
    """What the folder was last asked for; its spec's data and teachers may be gone since.

    Raises:
        FileNotFoundError: not a sweep's folder.
    """
    try:
        first, *lines = paths.plan.read_text().splitlines()
    except OSError:
        raise FileNotFoundError(f"{paths.folder} is not a sweep's folder: it has no {paths.plan.name}") from None
    return FrozenPlan(**json.loads(first), runs=tuple(FrozenRun(**json.loads(line)) for line in lines))
