"""Train one trunk and the cooldown branches that leave it; each branch is one run with its records.

A branch is to the last bit the run trained alone: order, augmentation and learning rate depend on (seed, step), and
before its cooldown the learning rate does not depend on the length of the run.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from .acceleration import accelerate
from .class_map import labels_as_outputs
from .config import RunConfig
from .contrastive import build_projection, with_projection
from .data.batches import Source
from .data.training import TrainingData, training_source
from .energy import EnergyMeter
from .evaluate import Evaluator, mark_finished
from .finetune import finetune_model
from .initial import initial_model
from .measure.subject import measure_model
from .optimizers import build_optimizer
from .paths import TrunkPaths, write_text
from .saved_model import check_teacher, load_model
from .schedules import learning_rate_factor
from .state import TrainingState, load_checkpoint, save_checkpoint
from .step import TrainingStep
from .verdicts import has_stalled

if TYPE_CHECKING:
    from .parallel import DeviceGroup

__all__ = ["FinishedRun", "Trainer", "new_state", "train_trunk"]

_LOG_EVERY_STEPS = 20
_CHECKPOINT_EVERY_SECONDS = 30.0


@dataclass(frozen=True)
class FinishedRun:
    """One run, trained to its end, to where it diverged or where its error on the held-out part stopped falling.

    Attributes:
        evaluations: one a model evaluated on the way and at the end: `step`, `weights`, `columns` (of the record, those
            that training and evaluation know), `evals` (rows without their key) and, at the end, `measurements` (the
            same) and `faults`, a traceback for each measurement that raised.
        log: lines of training metrics.
        model: the last weights, until the next run is asked for.
    """

    config: RunConfig
    evaluations: list[dict[str, Any]]
    log: list[dict[str, float]]
    model: nn.Module


def train_trunk(
    configs: Sequence[RunConfig],
    data: TrainingData,
    paths: TrunkPaths,
    device: torch.device,
    on_step: Callable[[int], None] = lambda num_images: None,
    num_micro_batches: int | None = None,
    group: "DeviceGroup | None" = None,
) -> Iterator[FinishedRun]:
    """Train the runs of one trunk, shortest first, and yield each when it is evaluated.

    Goes on from the trunk's checkpoint where there is one. The caller leaves out runs that are finished.

    Args:
        configs: runs that differ only in their steps and cooldown.
        on_step: told how many images each step trained or fine-tuned on, to show progress.
        num_micro_batches: parts of each batch; None is the config's.
        group: the devices that share each batch, of which this process has the first; None where there is one.
    """
    configs = sorted(configs, key=lambda config: (config.branch_step, config.steps))
    longest = configs[-1]
    # A checkpoint past the first branch is of no use to it: it is what an earlier, longer plan left.
    state = _resumed(longest, paths, device, configs[0].branch_step) or new_state(longest, device)
    write_text(paths.metrics, "".join(json.dumps(line) + "\n" for line in state.log))
    with closing(training_source(longest, data, device)) as source:
        trainer = Trainer(data, source, paths, device, on_step, _teacher(longest, device), num_micro_batches, group)
        for config in configs:
            # Before its branch a run is the longest one, so that the trunk does not depend on which others leave it.
            trainer.advance(state, longest, config.branch_step, save=True)
            save_checkpoint(state, paths)
            trunk = state.snapshot()
            trainer.advance(state, config, config.steps, save=False)
            trainer.finish(state, config)
            yield FinishedRun(config, state.evaluations, state.log, state.model)
            state.restore(trunk)


@dataclass(frozen=True)
class Trainer:
    """Moves a state forward in steps, with the log, the evaluations and the checkpoints on the way."""

    data: TrainingData
    source: Source
    paths: TrunkPaths
    device: torch.device
    on_step: Callable[[int], None]
    teacher: nn.Module | None = None
    num_micro_batches: int | None = None
    group: "DeviceGroup | None" = None

    def advance(self, state: TrainingState, config: RunConfig, stop: int, save: bool) -> None:
        """Train until `stop`, or until the run diverges or stalls."""
        step = TrainingStep(config, self.device, self.teacher, self.source.crops, self.num_micro_batches, self.group)
        every = config.evaluate.every_steps
        if self.group is not None:
            state.energy_joules = None  # the meter sees one of the devices
        energy, saved = EnergyMeter(self.device), time.monotonic()
        while state.step < stop and state.diverged_step is None and not state.stopped:
            started = time.perf_counter()
            state.losses.append(step(state, self.source.batch(state.step)))
            if state.step % _LOG_EVERY_STEPS == 0:
                self._log(state, config)
            state.seconds += time.perf_counter() - started
            self.on_step(config.recipe.batch_size)
            if every and state.step % every == 0 and state.diverged_step is None:
                with energy.paused(state):
                    self._evaluate(state, config)
            if save and time.monotonic() - saved > _CHECKPOINT_EVERY_SECONDS:
                with energy.paused(state):
                    save_checkpoint(state, self.paths)
                saved = time.monotonic()
        energy.add_to(state)

    def finish(self, state: TrainingState, config: RunConfig) -> None:
        """The last line of the log, and the last evaluation where none was due at the last step."""
        if state.losses:
            self._log(state, config)
        if state.diverged_step is not None:
            state.evaluations = [e for e in state.evaluations if e["step"] < state.step]
        if not any(e["step"] == state.step for e in state.evaluations):
            self._evaluate(state, config)
        self._measure(state, config)
        self._finetune(state, config)
        state.evaluations = mark_finished(state, config)

    def _evaluate(self, state: TrainingState, config: RunConfig) -> None:
        Evaluator(config, self.data.seen, self.data.val, self.data.test, self.device).evaluate(state)
        patience = config.evaluate.stop_after
        state.stopped = bool(patience) and has_stalled(state.val_errors, patience)

    def _measure(self, state: TrainingState, config: RunConfig) -> None:
        """Measure the models of the last step, where they are whole."""
        if not config.measure.names:
            return
        most = min(config.measure.max_examples, len(self.data.train.labels))
        train = labels_as_outputs(self.data.train.take(np.arange(most)).read(), config.evaluate.class_map)
        for evaluation, model in _last_models(state):
            measured = measure_model(config, model, train, self.data.test, self.device)
            evaluation["measurements"], evaluation["faults"] = measured.rows, measured.faults

    def _finetune(self, state: TrainingState, config: RunConfig) -> None:
        """Fine-tune copies of the models of the last step on the tasks."""
        if not config.finetune.tasks:
            return
        for evaluation, model in _last_models(state):
            found = finetune_model(config, model, self.device, self.on_step)
            evaluation["evals"] = evaluation["evals"] + found.rows
            evaluation["faults"] = evaluation.get("faults", {}) | found.faults

    def _log(self, state: TrainingState, config: RunConfig) -> None:
        """The mean loss since the last line; reading it here, not at each step, keeps a GPU busy."""
        loss = float(torch.stack(state.losses).mean())
        state.losses = []
        if not math.isfinite(loss):
            state.diverged_step = state.step
            return
        factor = learning_rate_factor(config.schedule, state.step - 1, config.steps)
        state.log.append({"step": state.step, "loss": loss, "lr": config.recipe.lr * factor})
        with open(self.paths.metrics, "a") as file:
            file.write(json.dumps(state.log[-1]) + "\n")


def _last_models(state: TrainingState) -> Iterator[tuple[dict[str, Any], nn.Module]]:
    """Evaluations of the last step, with the models they are of, where these are whole."""
    for evaluation in state.evaluations:
        if evaluation["step"] == state.step and evaluation["columns"]["status"] == "ok":
            of_last = evaluation["weights"] == "last"
            yield evaluation, state.model if of_last else state.average.module  # type: ignore[union-attr, misc]


def new_state(config: RunConfig, device: torch.device) -> TrainingState:
    """An untrained model, the same for the same seed."""
    model = accelerate(initial_model(config), config, device)
    projection = build_projection(model, config).to(device) if config.recipe.contrastive_temperature else None
    optimizer = build_optimizer(with_projection(model, projection), config.recipe)
    return TrainingState(model, optimizer, _average(model, config.recipe.ema_decay), projection)


def _resumed(config: RunConfig, paths: TrunkPaths, device: torch.device, last_step: int) -> TrainingState | None:
    """The state that the checkpoint holds, up to `last_step`; None where it holds none, which costs only time."""
    snapshot = load_checkpoint(paths, device)
    if snapshot is None:
        return None
    state = new_state(config, device)
    try:
        state.restore(snapshot)
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError):  # an older version of the code wrote it
        return None
    return state if state.step <= last_step else None


def _average(model: nn.Module, decay: float | None) -> nn.Module | None:
    from timm.utils.model_ema import ModelEmaV3

    return None if decay is None else ModelEmaV3(model, decay=decay)


def _teacher(config: RunConfig, device: torch.device) -> nn.Module | None:
    """Checked here once more: hours may lie between the plan and this run.

    Raises:
        ValueError: its file is gone, or another than the run was planned with.
    """
    if config.recipe.teacher is None:
        return None
    if check_teacher(config.recipe.teacher, config.upstream) != config.teacher_sha256:
        raise ValueError(f"recipe.teacher: {config.recipe.teacher} has changed since the run was planned")
    return load_model(config.recipe.teacher, device)
