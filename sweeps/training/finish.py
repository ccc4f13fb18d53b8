"""What is asked of the last models of a run beside their errors: measurements, fine-tuning, whether it has exploded.

What is done is noted in the state, so that a run that was killed meanwhile goes on in the middle.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

from ..data.training import TrainingData
from ..evaluation.finetune import finetune_model
from ..measure.subject import measure_model
from ..specs.class_map import labels_as_outputs
from ..specs.config import RunConfig
from .losses import untrained_loss
from .saver import Saver
from .state import TrainingState
from .verdicts import explosion_step

__all__ = ["find_explosion", "finetune_last", "measure_last"]


def find_explosion(state: TrainingState, config: RunConfig) -> int | None:
    """The step since which the loss of a run that has been evaluated at its end has exploded, or None."""
    columns = next(e["columns"] for e in state.evaluations if e["step"] == state.step and e["weights"] == "last")
    if columns.get("upstream_error") is None:
        return None
    untrained = untrained_loss(config.recipe, config.num_classes)
    error, num_eval = columns["upstream_error"], columns["upstream_num_eval"]
    return explosion_step(state.log, untrained, error, config.num_classes, num_eval)


def measure_last(
    state: TrainingState, config: RunConfig, data: TrainingData, device: torch.device, saver: Saver
) -> None:
    """Measure the models of the last step, where they are whole.

    Raises:
        Interrupted: told to stop; the state is saved.
    """
    if not config.measure.names:
        return
    most = min(config.measure.max_examples, len(data.train.labels))
    train = labels_as_outputs(data.train.take(np.arange(most)).read(), config.evaluate.class_map)
    for evaluation, model in _last_models(state):
        if "measurements" in evaluation:
            continue
        with saver.interruptible(state):
            measured = measure_model(config, model, train, data.test, device)
        evaluation["measurements"], evaluation["faults"] = measured.rows, measured.faults


def finetune_last(
    state: TrainingState, config: RunConfig, device: torch.device, on_step: Callable[[int], None], saver: Saver
) -> None:
    """Fine-tune copies of the models of the last step on the tasks.

    Args:
        on_step: told how many images each step learned from; may raise `Interrupted`.

    Raises:
        Interrupted: told to stop; the state is saved.
    """
    parts = {"micro_batches": state.num_micro_batches or config.micro_batches}  # more where memory ran out
    for evaluation, model in _last_models(state):
        for task in config.finetune.tasks:
            if task in evaluation.get("finetuned", []):
                continue
            asked = config.model_copy(
                update={"finetune": config.finetune.model_copy(update={"tasks": (task,)}), **parts}
            )
            with saver.interruptible(state):
                found = finetune_model(asked, model, device, on_step)
            evaluation["evals"] = evaluation["evals"] + found.rows
            evaluation["faults"] = evaluation.get("faults", {}) | found.faults
            evaluation["finetuned"] = [*evaluation.get("finetuned", []), task]


def _last_models(state: TrainingState) -> Iterator[tuple[dict[str, Any], nn.Module]]:
    """Evaluations of the last step, with the models they are of, where these are whole."""
    for evaluation in state.evaluations:
        if evaluation["step"] == state.step and evaluation["columns"]["status"] == "ok":
            of_last = evaluation["weights"] == "last"
            yield evaluation, state.model if of_last else state.average.module  # type: ignore[union-attr, misc]
