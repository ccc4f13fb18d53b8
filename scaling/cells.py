"""Which runs are alike in all that they were told to do: the cells of a tuning and of a paired comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CELL_COLUMNS", "last_rows", "number_rows"]

# What a run was told to do: runs that are alike in all of it, apart from what is compared, are a cell. In this order
# cells are numbered.
CELL_COLUMNS = (
    "upstream_dataset", "eval_split", "num_classes", "image_size", "model_family", "num_params", "width", "depth",
    "num_heads", "mlp_dim", "patch_size", "pooling", "model_variant", "train_examples", "batch_size", "planned_steps",
    "weights", "recipe", "optimizer", "lr", "weight_decay", "head_lr_multiplier", "head_weight_decay", "schedule",
    "warmup_steps", "cooldown_steps", "augment", "label_loss", "label_smoothing", "drop_path", "teacher", "sam_rho",
    "beta1", "beta2", "weight_decay_rule", "grad_clip", "rand_augment_ops", "rand_augment_magnitude", "mixup", "cutmix",
    "erase", "repeats", "head_bias", "ema_decay", "attack_radius", "attack_steps", "contrastive_temperature",
    "precision", "seed", "num_threads", "numerics_version",
)  # fmt: skip


def last_rows(runs: pd.DataFrame) -> pd.DataFrame:
    """Of each run and its weights the row of the last step."""
    steps = runs.groupby(["run_id", "weights"], dropna=False)["step"].transform("max")
    return runs[(runs["step"] == steps).to_numpy()].reset_index(drop=True)


def number_rows(table: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """A number a row for each combination of values, in ascending order of the first column, then the next."""
    codes = np.array([_codes(table[name]) for name in names], dtype=np.int64).reshape(len(names), len(table)).T
    return np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1) if len(names) else np.zeros(len(table), int)


def _codes(values: pd.Series) -> np.ndarray:
    """Place of each value among all in ascending order, as numbers where all are, nulls last."""
    import pandas as pd

    numbers = pd.to_numeric(values, errors="coerce")
    is_text = bool((numbers.isna() & values.notna()).any())
    found = values.astype(str).where(values.notna()) if is_text else numbers
    codes, known = pd.factorize(found, sort=True)
    return np.where(codes < 0, len(known), codes)
