"""What a run costs, told before it is trained: its model's parameters and FLOPs, and those of training on an image."""

from functools import lru_cache
from typing import NamedTuple

from .config import RunConfig
from .models import ModelConfig
from .models.cost import ModelCost, count_cost, training_flops
from .saved_model import read_config

__all__ = ["RunCost", "run_cost"]


class RunCost(NamedTuple):
    """`training_flops`: of one image, with what the recipe adds, counted by `rule`."""

    model: ModelCost
    training_flops: int
    rule: str


def run_cost(config: RunConfig) -> RunCost:
    """Builds the model, and its teacher, on the meta device; once a model.

    Raises:
        ValueError: a model that cannot be built.
    """
    recipe = config.recipe
    cost = _model_cost(config)
    theirs = _model_cost(read_config(recipe.teacher)) if recipe.teacher else None
    return RunCost(cost, *training_flops(cost, recipe, theirs))


def _model_cost(config: RunConfig) -> ModelCost:
    return _counted(config.model, config.image_size, config.num_classes)  # type: ignore[arg-type]  # frozen: it hashes


@lru_cache(maxsize=256)
def _counted(model: ModelConfig, image_size: int, num_classes: int) -> ModelCost:
    try:
        return count_cost(model, image_size, num_classes)
    except (RuntimeError, ValueError, TypeError, MemoryError) as error:
        message = " ".join(str(error).split())
        raise ValueError(f"model.{model.family}: {model.variant} cannot be built: {message}") from error
