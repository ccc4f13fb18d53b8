"""Train one trunk and the cooldown branches that leave it; each branch is one run with its records.

A branch is to the last bit the run trained alone: order, augmentation and learning rate depend on (seed, step), and
before its cooldown the learning rate does not depend on the length of the run.
"""

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ..data.batches import Source
from ..data.training import TrainingData, training_source
from ..evaluation.evaluate import Evaluator, mark_finished
from ..full_disk import when_there_is_room
from ..optimizers import build_optimizer
from ..paths import RunPaths, TrunkPaths, append_text
from ..specs.config import RunConfig
from ..specs.grid import Trunk
from ..stopping import check_stop
from .acceleration import accelerate
from .checkpoints import CheckpointClock, Checkpoints
from .contrastive import build_projection, with_projection
from .energy import EnergyMeter
from .finish import find_explosion, finetune_last, measure_last
from .initial import initial_model
from .micro_batches import num_parts
from .out_of_memory import is_out_of_memory
from .saved_model import check_teacher, load_model
from .saver import Saver
from .schedules import learning_rate_factor
from .state import TrainingState
from .step import TrainingStep
from .verdicts import has_stalled

if TYPE_CHECKING:
    from .parallel import DeviceGroup

__all__ = ["FinishedRun", "Trainer", "new_state", "train_trunk"]

_LOG_EVERY_STEPS = 20


@dataclass(frozen=True)
class FinishedRun:
    """One run, trained to its end, to where it diverged or where its error on the held-out part stopped falling.

    Attributes:
        evaluations: one a model evaluated on the way and at the end: `step`, `weights`, `columns` (of the record, those
            that training and evaluation know), `evals` (rows without their key) and, at the end, `measurements` (the
            same) and `faults`, a traceback for each measurement that raised.
        log: lines of training metrics.
        model: the last weights, until the next run is asked for.
        num_micro_batches: parts that each batch was trained on in, at its end.
    """

    config: RunConfig
    evaluations: list[dict[str, Any]]
    log: list[dict[str, float]]
    model: nn.Module
    num_micro_batches: int


def train_trunk(
    configs: Sequence[RunConfig],
    data: TrainingData,
    paths: TrunkPaths,
    device: torch.device,
    on_step: Callable[[int], None] = lambda num_images: None,
    *,
    run_paths: Callable[[str], RunPaths] | None = None,
    num_micro_batches: int | None = None,
    group: "DeviceGroup | None" = None,
) -> Iterator[FinishedRun]:
    """Train the runs of one trunk, shortest first, and yield each when it is evaluated.

    Goes on from the checkpoints of the trunk and of its runs where there are any. A run's are gone when the next is
    asked for, the trunk's are left. The caller leaves out runs that are finished.

    Args:
        configs: runs that differ only in their steps and cooldown.
        on_step: told how many images each step trained or fine-tuned on, to show progress.
        run_paths: a run's folder by its id, for the checkpoints of its branch; None is one in the trunk's folder.
        num_micro_batches: parts of a batch at least; None is as the config or the checkpoint has it.
        group: the devices that share each batch, of which this process has the first; None where there is one.

    Raises:
        Interrupted: the process was told to stop; all that was trained is saved.
    """
    configs = sorted(configs, key=lambda config: (config.branch_step, config.steps))
    longest = configs[-1]
    folder_of = run_paths or (lambda run_id: RunPaths(paths.folder / run_id))
    kept, clock = Checkpoints(paths.folder, Trunk(tuple(configs)).trunk_id), CheckpointClock()
    trunk: TrainingState | None = None
    with closing(training_source(longest, data, device)) as source:
        trainer = Trainer(data, source, paths, device, on_step, _teacher(longest, device), num_micro_batches, group)
        for config in configs:
            own = Checkpoints(folder_of(config.run_id).folder, config.run_id)
            leaving = None
            branch = trainer.resume(config, own, config.steps)
            if branch is None:
                # Before its branch a run is the longest one, so that the trunk does not depend on which others leave
                # it. A checkpoint past the branch is of no use to it: it is what an earlier, longer plan left.
                if trunk is None:
                    trunk = trainer.resume(longest, kept, config.branch_step) or trainer.begin(longest)
                trainer.advance(trunk, longest, config.branch_step, Saver(clock, kept))
                leaving = trunk.snapshot() if config is not longest else None
                branch = trunk
            saver = Saver(clock, own, None if leaving is None else (kept, leaving))
            trainer.advance(branch, config, config.steps, saver)
            trainer.finish(branch, config, saver)
            parts = num_parts(config, branch.num_micro_batches)
            yield FinishedRun(config, branch.evaluations, branch.log, branch.model, parts)
            own.clear()
            if trunk is not None and leaving is not None:
                trunk.restore(leaving)


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

    def begin(self, config: RunConfig) -> TrainingState:
        """An untrained state, and an empty log."""
        return self._taken(new_state(config, self.device))

    def resume(self, config: RunConfig, checkpoints: Checkpoints, last_step: int) -> TrainingState | None:
        """The state that was saved last, up to `last_step`; None where there is none, which costs only time."""
        snapshot = checkpoints.load(last_step)
        if snapshot is None:
            return None
        state = new_state(config, self.device)
        try:
            state.restore(snapshot)
        except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
            if is_out_of_memory(error):
                raise
            why = " ".join(str(error).split())[:200]
            print(f"checkpoint in {checkpoints.folder} is not taken: other code wrote it: {why}", file=sys.stderr)
            return None
        return self._taken(state)

    def _taken(self, state: TrainingState) -> TrainingState:
        """Its log is the trunk's from now on, and its batches are in as many parts as are asked for."""
        if self.num_micro_batches is not None:
            state.num_micro_batches = max(self.num_micro_batches, state.num_micro_batches or 1)
        lines = "".join(json.dumps(line) + "\n" for line in state.log)
        when_there_is_room(self.paths.folder, lambda: self._begin_log(lines))
        return state

    def _begin_log(self, lines: str) -> None:
        self.paths.folder.mkdir(parents=True, exist_ok=True)
        self.paths.metrics.write_text(lines)  # in place: it is only to be looked at, and the state has it too

    def advance(self, state: TrainingState, config: RunConfig, stop: int, saver: Saver | None = None) -> None:
        """Train until `stop`, or until the run diverges or stalls.

        Raises:
            Interrupted: told to stop, where there is a saver; the state is saved.
        """
        step = self._step(state, config)
        every = config.evaluate.every_steps
        energy = EnergyMeter(self.device)
        if self.group is not None:
            state.energy_joules = None  # the meter sees one of the devices
        while True:
            if every and state.step and state.step % every == 0 and state.diverged_step is None:
                with energy.paused(state):
                    self._evaluate_once(state, config, saver)
            if saver is not None and saver.is_due():
                with energy.paused(state):
                    saver.save(state)
            if state.step >= stop or state.diverged_step is not None or state.stopped:
                break
            started = time.perf_counter()
            state.losses.append(step(state, self.source.batch(state.step)))
            if state.step % _LOG_EVERY_STEPS == 0:
                self._log(state, config)
            state.seconds += time.perf_counter() - started
            self.on_step(config.recipe.batch_size)
        energy.add_to(state)

    def _step(self, state: TrainingState, config: RunConfig) -> TrainingStep:
        return TrainingStep(config, self.device, self.teacher, self.source.crops, state.num_micro_batches, self.group)

    def finish(self, state: TrainingState, config: RunConfig, saver: Saver) -> None:
        """The last line of the log, and the last evaluation where none was due at the last step.

        What of it is done is in the state, so that a killed run goes on in the middle.

        Raises:
            Interrupted: told to stop; the state is saved.
        """
        if state.losses:
            self._log(state, config)
        self._evaluate_end(state, config, saver)
        if state.diverged_step is None and (step := find_explosion(state, config)):
            state.diverged_step = step
            self._evaluate_end(state, config, saver)
        measure_last(state, config, self.data, self.device, saver)
        finetune_last(state, config, self.device, self._on_finetune_step, saver)
        state.evaluations = mark_finished(state, config)

    def _evaluate_end(self, state: TrainingState, config: RunConfig, saver: Saver) -> None:
        if state.diverged_step is not None:
            last = min(state.diverged_step, state.step)
            state.evaluations = [e for e in state.evaluations if e["step"] < last]
        self._evaluate_once(state, config, saver)

    def _evaluate_once(self, state: TrainingState, config: RunConfig, saver: Saver | None) -> None:
        """Evaluate where this step is not evaluated yet: a state may have been saved before or after it was."""
        if any(e["step"] == state.step for e in state.evaluations):
            return
        evaluator = Evaluator(config, self.data.seen, self.data.val, self.data.test, self.device)
        with saver.interruptible(state) if saver is not None else nullcontext():
            evaluator.evaluate(state)
        patience = config.evaluate.stop_after
        state.stopped = bool(patience) and has_stalled(state.val_errors, patience)

    def _on_finetune_step(self, num_images: int) -> None:
        self.on_step(num_images)
        check_stop()

    def _log(self, state: TrainingState, config: RunConfig) -> None:
        """The mean loss since the last line; reading it here, not at each step, keeps a GPU busy."""
        loss = float(torch.stack(state.losses).mean())
        state.losses = []
        if not math.isfinite(loss):
            state.diverged_step = state.step
            return
        factor = learning_rate_factor(config.schedule, state.step - 1, config.steps)
        state.log.append({"step": state.step, "loss": loss, "lr": config.recipe.lr * factor})
        append_text(self.paths.metrics, json.dumps(state.log[-1]) + "\n")


def new_state(config: RunConfig, device: torch.device) -> TrainingState:
    """An untrained model, the same for the same seed."""
    model = accelerate(initial_model(config), config, device)
    projection = build_projection(model, config).to(device) if config.recipe.contrastive_temperature else None
    optimizer = build_optimizer(with_projection(model, projection), config.recipe)
    return TrainingState(model, optimizer, _average(model, config.recipe.ema_decay), projection)


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
