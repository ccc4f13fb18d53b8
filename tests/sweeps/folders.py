"""Folders of sweeps that nobody has trained, thousands of runs in a second: one file's bytes with other ids."""

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from scaling.writing import write_records
from sweeps.paths import SweepPaths
from sweeps.runner.frozen_plan import write_frozen_plan
from sweeps.specs.grid import Plan, Trunk

from .conftest import plan_of

__all__ = ["Kind", "ids", "trunk_of", "write_sweep"]

OLD_RUN, OLD_TRUNK = "aaaaaaaaaaaa", "bbbbbbbbbbbb"


@dataclass(frozen=True)
class Kind:
    """Runs that are alike but for their id."""

    status: str = "ok"
    failure: str | None = None
    model: str = "vit"
    variant: str = "w16d1/4"
    error: float | None = 0.5
    compute: float = 1e12
    diverged_step: int | None = None
    num_evals: int = 8
    num_measurements: int = 12


def ids(num: int, first: int = 0) -> list[str]:
    return [hashlib.sha256(str(i).encode()).hexdigest()[:12] for i in range(first, first + num)]


@cache
def _files(kind: Kind) -> dict[str, bytes]:
    key = {"run_id": OLD_RUN, "step": 100, "weights": "last"}
    record = key | {
        "status": kind.status, "failure": kind.failure, "upstream_error": kind.error, "compute_flops": kind.compute,
        "model_family": kind.model, "model_variant": kind.variant, "lr": 0.003, "diverged_step": kind.diverged_step,
        "planned_steps": 100, "batch_size": 16, "images_seen": 1600, "num_params": 1000, "wall_seconds": 2.5,
    }  # fmt: skip
    evals = [
        key | {"task": "shapes", "method": "fewshot", "probe": "whitened", "num_shots": 5, "layer": "pre_logits",
               "draw": draw, "error": 0.5}
        for draw in range(kind.num_evals)
    ]  # fmt: skip
    measurements = [
        key | {"name": "weight_norm", "layer": f"block.{i}", "value": 1.5} for i in range(kind.num_measurements)
    ]
    tables = {"records": [record], "evals": evals, "measurements": measurements}
    with TemporaryDirectory() as folder:
        for name, rows in tables.items():
            if rows:
                write_records(pd.DataFrame(rows), Path(folder) / f"{name}.parquet", name)
        files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    files["config.json"] = b'{"seed": 0, "model": {"family": "vit", "width": 16}, "recipe": {"lr": 0.003}}'
    files["metrics.jsonl"] = b'{"step": 50, "loss": 2.5, "lr": 0.003}\n{"step": 100, "loss": 1.25, "lr": 0.003}\n'
    if kind.status in ("failed", "oom"):
        files["traceback.txt"] = b"Traceback (most recent call last):\n"
    return files


def write_sweep(folder: Path, kinds: dict[str, Kind | None], asked: list[str] | None = None) -> SweepPaths:
    """A folder with these runs, each a trunk of its own.

    Args:
        kinds: by run id; None is a run that waits.
        asked: the runs of its plan; None is all.
    """
    paths = SweepPaths(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for run_id, kind in kinds.items():
        if kind is not None:
            target = paths.run(run_id).folder
            target.mkdir(parents=True)
            for name, data in _files(kind).items():
                _write(target / name, data.replace(OLD_RUN.encode(), run_id.encode()))
    first, line = _plan_lines()
    lines = [line.replace(OLD_RUN, run_id).replace(OLD_TRUNK, trunk_of(run_id)) for run_id in asked or kinds]
    paths.plan.write_text("\n".join([first, *lines]) + "\n")
    return paths


def _write(path: Path, data: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)  # pathlib takes three times as long
    os.write(file, data)
    os.close(file)


def trunk_of(run_id: str) -> str:
    return run_id[::-1]


@cache
def _plan_lines() -> tuple[str, str]:
    config = plan_of(steps=[20], train_examples=[200]).configs[0]
    trunk = Trunk((config,))
    with TemporaryDirectory() as folder:
        write_frozen_plan(
            Plan("night", "cheapest_first", (trunk,), 0), SweepPaths(Path(folder)), flops={trunk.trunk_id: 10.0}
        )
        first, line = SweepPaths(Path(folder)).plan.read_text().splitlines()
    return first, line.replace(trunk.trunk_id, OLD_TRUNK).replace(config.run_id, OLD_RUN)
