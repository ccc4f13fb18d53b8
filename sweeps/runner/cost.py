"""What a run costs, told before it is trained: its model's parameters and FLOPs, and those of training on an image."""

from functools import lru_cache
from typing import NamedTuple

from ..data.datasets import find_dataset
from ..evaluation.finetune import finetune_config
from ..models import ModelConfig
from ..models.cost import ModelCost, count_cost, training_flops
from ..models.depth import deeper_cost, one_and_two
from ..specs.config import RunConfig
from ..training.saved_model import read_config

__all__ = [
    "FinetuneCost", "RunCost", "evaluation_images", "finetune_cost", "forget_counted", "num_test_images", "run_cost",
]  # fmt: skip


class RunCost(NamedTuple):
    """`training_flops`: of one image, with what the recipe adds, counted by `rule`."""

    model: ModelCost
    training_flops: int
    rule: str


class FinetuneCost(NamedTuple):
    """Images that a run's models are fine-tuned on, each time that one is seen, what that takes, and how many
    trainings it is, those that choose a learning rate too."""

    num_images: int
    flops: int
    num_trainings: int


def run_cost(config: RunConfig) -> RunCost:
    """Builds the model, and its teacher, on the meta device; once a model.

    Raises:
        ValueError: a model that cannot be built.
    """
    recipe = config.recipe
    cost = _model_cost(config)
    theirs = _model_cost(read_config(recipe.teacher)) if recipe.teacher else None
    return RunCost(cost, *training_flops(cost, recipe, theirs))


def finetune_cost(config: RunConfig) -> FinetuneCost:
    """Of all tasks, draws and learning rates, for each weights of the run; the test images are not counted."""
    asked, num_images, flops, num_trainings = config.finetune, 0, 0, 0
    for task in asked.tasks:
        dataset = find_dataset(task)
        num_train, num_val = asked.num_images(dataset.num_train), asked.num_val(dataset.num_train)
        choice = len(asked.lr) * min(asked.batch_size, num_train - num_val) if num_val else 0
        of_task = finetune_config(config, dataset.num_classes)
        seen = asked.draws * asked.steps * (choice + min(asked.batch_size, num_train))
        num_images += seen
        num_trainings += asked.draws * (1 + (len(asked.lr) if num_val else 0))
        flops += seen * training_flops(_model_cost(of_task), of_task.recipe, None)[0]
    num_weights = 1 if config.recipe.ema_decay is None else 2
    return FinetuneCost(num_weights * num_images, num_weights * flops, num_weights * num_trainings)


def num_test_images(config: RunConfig) -> int:
    """Of the upstream set, those that an evaluation takes."""
    dataset, most = find_dataset(config.upstream.dataset, config.upstream.folder), config.evaluate.max_upstream
    return dataset.num_test if most is None else most if dataset.generated else min(most, dataset.num_test)


def evaluation_images(config: RunConfig) -> int:
    """Images that one evaluation of a model takes: test, held-out and training images, and those of the tasks."""
    from ..evaluation.evaluate import pool_per_class

    upstream = min(config.evaluate.max_train, config.train_examples) + config.upstream.num_val + num_test_images(config)
    asked, of_tasks = config.downstream, 0
    for task in asked.tasks:
        dataset = find_dataset(task)
        of_tasks += min(dataset.num_train, dataset.num_classes * pool_per_class(asked))
        of_tasks += min(dataset.num_test, asked.max_eval or dataset.num_test)
    return upstream + of_tasks


def _model_cost(config: RunConfig) -> ModelCost:
    return _counted(config.model, config.image_size, config.num_classes)  # type: ignore[arg-type]  # frozen: it hashes


def forget_counted() -> None:
    """Count every model anew."""
    _counted.cache_clear()
    _cost_of.cache_clear()


@lru_cache(maxsize=1024)
def _counted(model: ModelConfig, image_size: int, num_classes: int) -> ModelCost:
    try:
        if shallow := one_and_two(model):  # a deep model takes a fifth of a second, and many differ in depth only
            one, two = (_cost_of(each, image_size, num_classes) for each in shallow)
            return deeper_cost(one, two, model.depth)  # type: ignore[union-attr]
        return _cost_of(model, image_size, num_classes)  # pyright: ignore[reportArgumentType]  # frozen: it hashes
    except (RuntimeError, ValueError, TypeError, MemoryError) as error:
        message = " ".join(str(error).split())
        raise ValueError(f"model.{model.family}: {model.variant} cannot be built: {message}") from error


@lru_cache(maxsize=1024)
def _cost_of(model: ModelConfig, image_size: int, num_classes: int) -> ModelCost:
    return count_cost(model, image_size, num_classes)
