"""Weights & Biases, offline: nothing leaves the machine until somebody says `wandb sync DIR/wandb/offline-run-*`."""

import os
import shutil
from pathlib import Path

from .base import TrackedRun

__all__ = ["write_run"]


def write_run(run: TrackedRun, folder: Path, sweep: str) -> None:
    """In place of what an earlier call wrote of the run; its id is the run's, so that a sync updates it."""
    import wandb  # an extra of its own: reading this file does not take it

    for earlier in folder.glob(f"offline-run-*-{run.run_id}"):
        shutil.rmtree(earlier)
    os.environ["WANDB_MODE"] = "offline"  # the client's own service is a process of its own and looks here
    settings = wandb.Settings(
        mode="offline", silent=True, console="off", disable_git=True, save_code=False, x_disable_stats=True,
        x_disable_meta=True,
    )  # fmt: skip
    folder.parent.mkdir(parents=True, exist_ok=True)
    live = wandb.init(
        dir=folder.parent, id=run.run_id, name=run.run_id, project=sweep, config=run.config, settings=settings
    )
    for step, numbers in sorted(_by_step(run).items()):
        live.log(numbers, step=step)
    live.summary.update({f"record/{name}": value for name, value in run.final.items()})
    live.finish()


def _by_step(run: TrackedRun) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for line in run.curve:
        found.setdefault(int(line["step"]), {}).update({f"train/{k}": v for k, v in line.items() if k != "step"})
    for step, numbers in run.evaluations:
        found.setdefault(step, {}).update({f"record/{name}": value for name, value in numbers.items()})
    return found
