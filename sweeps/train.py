"""Train one trunk and the cooldown branches that leave it; each branch is one run with its records.

A branch is to the last bit the run trained alone: order, augmentation and learning rate depend on (seed, step), and
before its cooldown the learning rate does not depend on the length of the run.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .augment import augment_batch
from .config import RunConfig
from .data.batches import ResidentSource, Source
from .data.images import Images, load_images
from .data.kept import kept_rows
from .data.subsets import split_train_val
from .evaluate import evaluate_downstream, evaluate_upstream
from .losses import training_loss
from .optimizers import build_optimizer, set_learning_rate
from .paths import TrunkPaths, write_text
from .schedules import learning_rate_factor
from .state import TrainingState, load_checkpoint, save_checkpoint

__all__ = ["FinishedRun", "TrainingData", "load_training_data", "train_trunk"]

_LOG_EVERY_STEPS = 20
_CHECKPOINT_EVERY_SECONDS = 30.0


@dataclass(frozen=True)
class TrainingData:
    """The subset trained on, the held-out part, and the test images, on the device."""

    train: Images
    val: Images
    test: Images


@dataclass(frozen=True)
class FinishedRun:
    """One run, trained to its end or to where it diverged.

    Attributes:
        evaluations: one a model evaluated on the way and at the end: `step`, `columns` (of the record, those that
            training and evaluation know) and `evals` (rows without their key).
        log: lines of training metrics.
    """

    config: RunConfig
    evaluations: list[dict[str, Any]]
    log: list[dict[str, float]]


def load_training_data(config: RunConfig, device: torch.device) -> TrainingData:
    """The images of a run: the same for all branches of a trunk."""
    upstream = config.upstream
    train = load_images(upstream.dataset, "train", upstream.image_size, upstream.num_train, upstream.folder)
    test = load_images(upstream.dataset, "test", upstream.image_size, config.evaluate.max_upstream, upstream.folder)
    kept = kept_rows(upstream, config.downstream.tasks)
    labels = train.labels.numpy()[kept]
    subset, held_out = split_train_val(labels, upstream.num_val, config.train_examples, config.seed)
    return TrainingData(train.take(kept[subset]).to(device), train.take(kept[held_out]).to(device), test.to(device))


def train_trunk(
    configs: Sequence[RunConfig],
    data: TrainingData,
    paths: TrunkPaths,
    device: torch.device,
    on_step: Callable[[int], None] = lambda num_images: None,
) -> Iterator[FinishedRun]:
    """Train the runs of one trunk, shortest first, and yield each when it is evaluated.

    Goes on from the trunk's checkpoint where there is one. The caller leaves out runs that are finished.

    Args:
        configs: runs that differ only in their steps and cooldown.
        on_step: told how many images each step trained on, to show progress.
    """
    configs = sorted(configs, key=lambda config: (config.branch_step, config.steps))
    state = _new_state(configs[0], device)
    trainer = _Trainer(data, _source(configs[0], data), paths, device, on_step)
    snapshot = load_checkpoint(paths, device)
    # A checkpoint past the first branch is of no use to it: it is what an earlier, longer plan left.
    if snapshot and snapshot["step"] <= configs[0].branch_step:
        state.restore(snapshot)
    write_text(paths.metrics, "".join(json.dumps(line) + "\n" for line in state.log))
    for config in configs:
        # Before its branch a run is the longest one, so that the trunk does not depend on which others leave it.
        trainer.advance(state, configs[-1], config.branch_step, save=True)
        save_checkpoint(state, paths)
        trunk = state.snapshot()
        trainer.advance(state, config, config.steps, save=False)
        trainer.finish(state, config)
        yield FinishedRun(config, state.evaluations, state.log)
        state.restore(trunk)


@dataclass(frozen=True)
class _Trainer:
    data: TrainingData
    source: Source
    paths: TrunkPaths
    device: torch.device
    on_step: Callable[[int], None]

    def advance(self, state: TrainingState, config: RunConfig, stop: int, save: bool) -> None:
        """Train until `stop`, with the evaluations on the way that the config asks for."""
        saved = time.monotonic()
        every = config.evaluate.every_steps
        while state.step < stop and state.diverged_step is None:
            started = time.perf_counter()
            state.losses.append(self._step(state, config))
            state.step += 1
            if state.step % _LOG_EVERY_STEPS == 0:
                self._log(state, config)
            state.seconds += time.perf_counter() - started
            self.on_step(config.recipe.batch_size)
            if every and state.step % every == 0 and state.diverged_step is None:
                self.evaluate(state, config)
            if save and time.monotonic() - saved > _CHECKPOINT_EVERY_SECONDS:
                save_checkpoint(state, self.paths)
                saved = time.monotonic()

    def finish(self, state: TrainingState, config: RunConfig) -> None:
        """The last line of the log and the last evaluation, in place of one that was due at the same step."""
        if state.losses:
            self._log(state, config)
        state.evaluations = [evaluation for evaluation in state.evaluations if evaluation["step"] < state.step]
        self.evaluate(state, config)

    def evaluate(self, state: TrainingState, config: RunConfig) -> None:
        """Append an evaluation of the model as it is; of a diverged one only that it diverged."""
        upstream = self._upstream(state, config) if state.diverged_step is None else {}
        if not math.isfinite(upstream.get("upstream_loss", 0.0)):
            state.diverged_step = state.step
        columns = {
            "cooled_down": state.step == config.steps and state.diverged_step is None,
            "wall_seconds": state.seconds,
            "training_images_per_second": state.step * config.recipe.batch_size / max(state.seconds, 1e-9),
            "precision": _precision(config, self.device),
        }
        if state.diverged_step is None:
            columns |= {"status": "ok", **upstream}
            evals = self._downstream(state, config)
        else:
            columns |= {"status": "diverged", "diverged_step": state.diverged_step}
            evals = []
        state.evaluations.append({"step": state.step, "columns": columns, "evals": evals})

    def _upstream(self, state: TrainingState, config: RunConfig) -> dict[str, Any]:
        with _autocast(config, self.device):
            test = evaluate_upstream(state.model, self.data.test)
            val = evaluate_upstream(state.model, self.data.val) if len(self.data.val.labels) else {}
        return {
            **{f"upstream_{name}": value for name, value in test.items()},
            "upstream_val_error": val.get("error"),
            "upstream_num_eval": len(self.data.test.labels),
            "train_loss": float(torch.stack(state.losses).mean()) if state.losses else state.log[-1]["loss"],
        }

    def _downstream(self, state: TrainingState, config: RunConfig) -> list[dict[str, Any]]:
        with _autocast(config, self.device):
            return list(evaluate_downstream(state.model, config.downstream, config.image_size))

    def _step(self, state: TrainingState, config: RunConfig) -> torch.Tensor:
        recipe = config.recipe
        state.model.train()
        factor = learning_rate_factor(config.schedule, state.step, config.steps)
        set_learning_rate(state.optimizer, recipe.lr * factor)
        inputs, targets = augment_batch(
            *self.source.batch(state.step), recipe, seed=config.seed, step=state.step, num_classes=config.num_classes
        )
        with _autocast(config, self.device):
            logits = state.model(inputs)
        loss = training_loss(logits, targets, recipe)
        state.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        state.optimizer.step()
        return loss.detach()

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


def _source(config: RunConfig, data: TrainingData) -> Source:
    recipe = config.recipe
    return ResidentSource(data.train, seed=config.seed, batch_size=recipe.batch_size, repeats=recipe.repeats)


def _new_state(config: RunConfig, device: torch.device) -> TrainingState:
    torch.manual_seed(config.seed)
    model = config.model.build(config.image_size, config.num_classes, config.recipe.drop_path).to(device)
    if config.model.channels_last:
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return TrainingState(model, build_optimizer(model, config.recipe))


def _precision(config: RunConfig, device: torch.device) -> str:
    if config.precision != "auto":
        return config.precision
    return "bfloat16" if device.type == "cuda" else "float32"


def _autocast(config: RunConfig, device: torch.device) -> torch.autocast:
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=_precision(config, device) == "bfloat16")
