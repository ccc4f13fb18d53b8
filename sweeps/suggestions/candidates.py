"""Cells that could be trained next: those of a spec that the records do not hold yet, or computes on a grid."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..specs.config import RunConfig
from ..specs.faults import SpecError
from ..specs.grid import make_plan
from ..specs.spec import read_spec

if TYPE_CHECKING:
    from ..runner.cost import RunCost

__all__ = ["SPEC_X", "Cell", "grid_cells", "spec_cells"]

NUM_COMPUTES = 40
SPEC_X: dict[str, Callable[[RunConfig, "RunCost"], float]] = {
    "compute_flops": lambda config, cost: float(cost.training_flops) * _num_images(config),
    "images_seen": lambda config, cost: _num_images(config),
    "train_examples": lambda config, cost: config.train_examples,
    "num_params": lambda config, cost: cost.model.num_params,
}
"""The x of a run that can be told before it is trained, by its column in the records."""


@dataclass(frozen=True)
class Cell:
    """A run that may be trained.

    Attributes:
        x: where it lies on the law.
        flops: of its training, as if trained alone.
        columns: what tells it from others, in the words of a spec.
        family: of its model; None of a compute without a model.
    """

    x: float
    flops: float
    columns: dict[str, Any]
    family: str | None = None


def grid_cells(least: float, most: float) -> list[Cell]:
    """Computes in equal logarithmic steps; none where the least is above the most."""
    if not 0 < least <= most:
        return []
    return [
        Cell(compute, compute, {"compute": f"{compute:.2e}"}) for compute in np.geomspace(least, most, NUM_COMPUTES)
    ]


def spec_cells(spec: Path, held: Collection[str], x: str) -> list[Cell]:
    """The runs of a spec that are trained and whose id is not held. Imports torch, to count FLOPs.

    Raises:
        SpecError: a spec that cannot be run, or an x that is not known before training.
    """
    if x not in SPEC_X:
        raise SpecError(f"--x of a spec's cells must be one of {', '.join(SPEC_X)}, got {x!r}")
    configs = make_plan(read_spec(spec)).configs
    return [_cell(config, x) for config in configs if config.steps and config.run_id not in held]


def _cell(config: RunConfig, x: str) -> Cell:
    from ..runner.cost import run_cost

    try:
        cost = run_cost(config)
    except ValueError as error:
        raise SpecError(str(error)) from error
    columns = {
        "model": f"{config.model.family} {config.model.variant}", "examples": config.train_examples,
        "steps": config.steps, "recipe": config.recipe.name, "lr": config.recipe.lr, "seed": config.seed,
        "run_id": config.run_id,
    }  # fmt: skip
    return Cell(SPEC_X[x](config, cost), SPEC_X["compute_flops"](config, cost), columns, config.model.family)


def _num_images(config: RunConfig) -> int:
    return config.steps * config.recipe.batch_size
