"""The runs that a folder was last asked for, each with its resolved config: later edits change none of them."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Any

from ..paths import SweepPaths, write_text

if TYPE_CHECKING:  # a second of importing, which reading a plan does not take
    from ..specs.grid import Plan

__all__ = ["FrozenPlan", "FrozenRun", "config_fields", "installed_versions", "read_frozen_plan", "write_frozen_plan"]

_LIBRARIES = ("torch", "torchvision", "timm")  # whose versions can change a run's result


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
        code: the hash of the code that last trained some of it (`sweeps.runner.frozen_code`), or None.
        versions: of the libraries that it was trained with, by name.
    """

    name: str
    order: str
    code: str | None
    runs: tuple[FrozenRun, ...]
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def run_ids(self) -> list[str]:
        return [run.run_id for run in self.runs]

    @property
    def flops_per_image(self) -> dict[str, float]:
        """Training FLOPs of one image by trunk id, where they were counted."""
        counted = (run for run in self.runs if run.training_flops is not None and run.num_images)
        return {run.trunk_id: run.training_flops / run.num_images for run in counted}  # type: ignore[operator]

    def plan(self) -> "Plan":
        """As it was made, but for what `sweeps plan` tells of duplicates and missing tasks."""
        from ..specs.config import RunConfig
        from ..specs.grid import Plan, Trunk

        groups: defaultdict[str, list[RunConfig]] = defaultdict(list)
        for run in self.runs:
            groups[run.trunk_id].append(RunConfig.model_validate(run.config))
        return Plan(self.name, self.order, tuple(Trunk(tuple(group)) for group in groups.values()), 0)


def write_frozen_plan(
    plan: "Plan",
    paths: SweepPaths,
    code: str | None = None,
    flops: Mapping[str, float] | None = None,
    versions: Mapping[str, str] | None = None,
) -> None:
    """A line for the plan and a line a run.

    Args:
        code, versions: of what trains it.
        flops: training FLOPs of one image, by trunk id.
    """
    lines = [json.dumps({"name": plan.name, "order": plan.order, "code": code, "versions": dict(versions or {})})]
    for trunk in plan.trunks:
        trunk_id, done = trunk.trunk_id, 0
        per_image = (flops or {}).get(trunk_id)
        for config in sorted(trunk.configs, key=lambda config: (config.branch_step, config.steps)):
            images = (config.steps - done) * config.recipe.batch_size
            done = config.branch_step
            flops_of_run = None if per_image is None else per_image * images
            head = {"run_id": config.run_id, "trunk_id": trunk_id, "num_images": images, "training_flops": flops_of_run}
            lines.append(f'{json.dumps(head)[:-1]}, "config": {config.model_dump_json()}}}')
    write_text(paths.plan, "\n".join(lines) + "\n")


def installed_versions() -> dict[str, str]:
    """Of the libraries that can change a run's result; reads their metadata only."""
    return {name: metadata.version(name) for name in _LIBRARIES}


def read_frozen_plan(paths: SweepPaths) -> FrozenPlan:
    """What the folder was last asked for; its spec's data and teachers may be gone since.

    Raises:
        FileNotFoundError: not a sweep's folder.
        OSError: its plan cannot be read.
    """
    try:
        text = paths.plan.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        why = f"it has no {paths.plan.name}" if paths.folder.is_dir() else "no folder is there"
        why += "; `sweeps run` with its spec writes it" if paths.runs.is_dir() else ""
        raise FileNotFoundError(f"{paths.folder} is not a sweep's folder: {why}") from None
    except UnicodeDecodeError:
        text = ""
    try:
        first, *lines = text.splitlines()
        return FrozenPlan(**json.loads(first), runs=tuple(map(_frozen_run, lines)))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise OSError(f"{paths.plan} is damaged, or of another version; `sweeps run` with its spec writes it") from None


def _frozen_run(line: str) -> FrozenRun:
    """
    Raises:
        ValueError, TypeError, KeyError: a line that no version has written.
    """
    run = FrozenRun(**json.loads(line))
    texts, counts = (run.run_id, run.trunk_id), (run.num_images, run.config["recipe"]["batch_size"])
    flops = 0.0 if run.training_flops is None else run.training_flops
    if not (all(map(str.isalnum, texts)) and all(isinstance(count, int) for count in counts) and flops >= 0):
        raise ValueError(f"no run of a plan: {line}")
    return run


def config_fields(config: Mapping[str, Any], section: str = "") -> Iterator[tuple[str, Any]]:
    """Each field of a config as plain values, with its name in full.

    >>> dict(config_fields({"steps": 20, "recipe": {"lr": 0.1}}))
    {'steps': 20, 'recipe.lr': 0.1}
    """
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from config_fields(value, f"{section}{name}.")
        else:
            yield section + name, value
