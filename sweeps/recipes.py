"""The table of training recipes: one sourced row each. A spec's `recipe` names a row and may change its fields."""

from dataclasses import dataclass, field
from typing import Any

__all__ = ["RECIPES", "Recipe", "find_recipe"]


@dataclass(frozen=True)
class Recipe:
    """Fields of `sweeps.config.RecipeConfig`, and the schedule and length used where a spec gives none.

    Attributes:
        length: a duration with its unit, such as "2500 steps" or "300 epochs".
    """

    source: str
    fields: dict[str, Any]
    schedule: dict[str, str] = field(default_factory=dict)
    length: str = "1000 steps"


RECIPES = {
    "small_scale": Recipe(
        source="AdamW as in DeiT (Touvron et al. 2021, arXiv 2012.12877), shortened to small images",
        fields={
            "optimizer": "adamw",
            "lr": 1e-3,
            "weight_decay": 0.05,
            "head_lr_multiplier": 1.0,
            "batch_size": 128,
            "augment": "crop_flip",
            "label_smoothing": 0.0,
        },
        schedule={"kind": "cosine", "warmup": "250 steps", "cooldown": "0 steps"},
        length="2500 steps",
    ),
}


def find_recipe(name: str) -> Recipe:
    """The recipe of that name.

    Raises:
        ValueError: no recipe has that name.
    """
    if not isinstance(name, str) or name not in RECIPES:
        raise ValueError(f"recipe must be one of {sorted(RECIPES)}, got {name!r}")
    return RECIPES[name]
