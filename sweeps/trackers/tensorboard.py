"""TensorBoard: a folder of event files a run, and its table of hyper-parameters. `tensorboard --logdir DIR`."""

import shutil
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]  # protobuf makes it
from tensorboard.compat.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]
from tensorboard.plugins.hparams import summary_v2 as hparams
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from .base import TrackedRun

__all__ = ["write_run"]


def write_run(run: TrackedRun, folder: Path, sweep: str) -> None:
    """In place of what an earlier call wrote of the run; points in time lie evenly between its start and its end."""
    target = folder / run.run_id
    shutil.rmtree(target, ignore_errors=True)
    writer = EventFileWriter(str(target))
    settings = {name: _plain(value) for name, value in run.config.items() if value is not None}
    writer.add_event(Event(wall_time=run.started, summary=hparams.hparams_pb(settings, trial_id=run.run_id)))
    for line in run.curve:
        _add(writer, run, int(line["step"]), {f"train/{k}": v for k, v in line.items() if k != "step"})
    for step, numbers in run.evaluations:
        _add(writer, run, step, {f"record/{name}": value for name, value in numbers.items()})
    writer.close()


def _add(writer: EventFileWriter, run: TrackedRun, step: int, numbers: dict[str, float]) -> None:
    values = [Summary.Value(tag=name, simple_value=value) for name, value in numbers.items()]
    share = min(1.0, step / max(1, run.final["step"]))
    when = run.started + share * (run.ended - run.started)
    writer.add_event(Event(wall_time=when, step=step, summary=Summary(value=values)))


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else str(value)
