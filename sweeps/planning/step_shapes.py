"""What changes the time of a training step, and of the questions that a run's models are asked; runs alike in it."""

from collections import defaultdict
from collections.abc import Sequence

from ..specs.config import RecipeConfig, RunConfig, ScheduleConfig
from ..specs.grid import Plan, Trunk

__all__ = ["num_evaluations", "shapes_of", "step_shape"]

# Numbers of a recipe that a step computes with and takes as long for, whatever they are.
_VALUES = {"lr": 1.0, "beta1": 0.0, "beta2": 0.0, "weight_decay": 0.0, "head_weight_decay": 0.0, "head_bias": 0.0}
_VALUES |= {"head_lr_multiplier": 1.0, "weight_decay_rule": "lr_scaled", "name": "", "label_smoothing": 0.0}
# Of these it matters whether they are on.
_SWITCHES = (
    "grad_clip", "drop_path", "mixup", "cutmix", "erase", "ema_decay", "sam_rho", "attack_radius",
    "contrastive_temperature",
)  # fmt: skip
_NO_SCHEDULE = ScheduleConfig(kind="constant", warmup_steps=0, cooldown_steps=0)


def step_shape(config: RunConfig) -> RunConfig:
    """The config without what a step's time does not depend on: the same for runs whose steps take as long.

    It stands for them as a key and cannot be trained.
    """
    asked = config.evaluate
    return config.model_copy(update={
        "recipe": _recipe_shape(config.recipe), "schedule": _NO_SCHEDULE, "seed": 0, "steps": min(config.steps, 1),
        "train_examples": 1,
        "evaluate": asked.model_copy(update={"every_steps": None, "stop_after": None}), "keep_model": False,
    })  # fmt: skip


def _recipe_shape(recipe: RecipeConfig) -> RecipeConfig:
    on = {name: 0.5 if getattr(recipe, name) else None for name in _SWITCHES}
    return recipe.model_copy(update=_VALUES | on)


def shapes_of(plan: Plan) -> dict[RunConfig, list[Trunk]]:
    """The trunks of each distinct shape."""
    found: defaultdict[RunConfig, list[Trunk]] = defaultdict(list)
    for trunk in plan.trunks:
        found[step_shape(trunk.configs[0])].append(trunk)
    return dict(found)


def num_evaluations(configs: Sequence[RunConfig]) -> int:
    """How often the models of a trunk are evaluated: on the way, in each cooldown, and at each run's end.

    A run that stops early counts in full.

    >>> from sweeps.specs.grid import make_plan
    >>> from sweeps.specs.spec import parse_spec
    >>> shape = {"vit": {"width": 16, "depth": 1, "patch": 4}}
    >>> plan = make_plan(parse_spec({"name": "a", "upstream": {"dataset": "digits"}, "model": shape, "steps": [10, 20],
    ...     "schedule": {"kind": "constant"}, "evaluate": {"every": 4}}))
    >>> [num_evaluations(trunk.configs) for trunk in plan.trunks]  # at 4, 8, 10, 12, 16, 20
    [6]
    """
    every = configs[0].evaluate.every_steps
    if not every:
        return len(configs)
    shared = max(config.branch_step for config in configs) // every
    return shared + sum(
        config.steps // every - config.branch_step // every + (config.steps % every > 0) for config in configs
    )
