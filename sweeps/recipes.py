"""The table of training recipes: one sourced row each. A spec's `recipe` names a row and may change its fields."""

from dataclasses import dataclass, field
from typing import Any

__all__ = ["RECIPES", "Recipe", "find_recipe"]


@dataclass(frozen=True)
class Recipe:
    """Defaults of `sweeps.config.RecipeConfig`, and the schedule and length used where a spec gives none."""

    source: str
    fields: dict[str, Any]
    schedule: dict[str, str] = field(default_factory=dict)
    steps: int = 1000


RECIPES = {
    "small_scale": Recipe(
        source="AdamW as in DeiT (Touvron et al. 2021, arXiv 2012.12877), shortened to small images",
        fields={
            "optimizer": "adamw",
            "lr": 1e-3,
            "weight_decay": 0.05,
            "head_lr_multiplier": 1.0,
            "head_weight_decay": 0.05,
            "batch_size": 128,
            "augment": "crop_flip",
            "label_smoothing": 0.0,
        },
        schedule={"kind": "cosine", "warmup": "250 steps", "cooldown": "0 steps"},
        steps=2500,
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
