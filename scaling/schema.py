"""The columns of the three tables: records, evals, measurements. One row of records is one evaluated model."""

from functools import cache
from typing import NamedTuple

import pyarrow as pa

__all__ = ["EVALS", "KEY", "MEASUREMENTS", "RECORDS", "SCHEMA_VERSION", "TABLES", "Column", "arrow_schema"]

SCHEMA_VERSION = 1
KEY = ("run_id", "step", "weights")

_ARROW_TYPES = {
    "text": pa.string(),
    "count": pa.int64(),  # whole, >= 0
    "amount": pa.float64(),  # >= 0
    "fraction": pa.float64(),  # in [0, 1]
    "number": pa.float64(),  # finite
    "flag": pa.bool_(),
}


class Column(NamedTuple):
    """A column's name and the kind of value it holds (a key of the table of kinds above)."""

    name: str
    kind: str

    @property
    def arrow_type(self) -> pa.DataType:
        return _ARROW_TYPES[self.kind]


def _columns(*groups: tuple[str, str]) -> dict[str, Column]:
    return {name: Column(name, kind) for kind, names in groups for name in names.split()}


RECORDS = _columns(
    ("text", "run_id source upstream_dataset eval_split"),
    ("count", "num_classes image_size train_examples"),
    ("text", "model_family model_variant"),
    ("count", "width depth num_heads mlp_dim patch_size num_tokens"),
    ("text", "pooling"),
    ("count", "num_params head_params"),
    ("amount", "flops_per_image head_flops_per_image"),
    ("text", "flops_rule"),
    ("count", "batch_size step planned_steps"),
    ("flag", "cooled_down"),
    ("count", "images_seen"),
    ("amount", "compute_flops compute_core_days"),
    ("text", "trunk_id"),
    ("count", "branch_step"),
    ("text", "weights"),
    ("fraction", "upstream_error upstream_top5_error"),
    ("amount", "upstream_loss"),
    ("count", "upstream_num_eval"),
    ("fraction", "upstream_val_error"),
    ("amount", "train_loss"),
    ("fraction", "train_error"),
    ("flag", "memorised"),
    ("text", "status"),
    ("count", "diverged_step"),
    ("text", "failure recipe optimizer"),
    ("amount", "lr weight_decay head_lr_multiplier head_weight_decay"),
    ("text", "schedule"),
    ("count", "warmup_steps cooldown_steps"),
    ("text", "augment label_loss"),
    ("fraction", "label_smoothing drop_path"),
    ("text", "teacher"),
    ("amount", "sam_rho"),
    ("fraction", "beta1 beta2"),
    ("text", "weight_decay_rule"),
    ("amount", "grad_clip"),
    ("count", "rand_augment_ops"),
    ("amount", "rand_augment_magnitude mixup cutmix"),
    ("fraction", "erase"),
    ("count", "repeats"),
    ("number", "head_bias"),
    ("fraction", "ema_decay"),
    ("amount", "attack_radius"),
    ("count", "attack_steps"),
    ("amount", "contrastive_temperature"),
    ("text", "precision"),
    ("count", "seed"),
    ("amount", "wall_seconds"),
    ("text", "device host"),
    ("count", "num_threads num_devices num_micro_batches"),
    ("amount", "training_images_per_second inference_images_per_second energy_joules"),
    ("count", "peak_memory_bytes"),
    ("text", "torch_version git_commit"),
    ("count", "numerics_version schema_version"),
)

EVALS = _columns(
    ("text", "run_id"),
    ("count", "step"),
    ("text", "weights task method probe"),
    ("count", "num_shots"),
    ("text", "layer"),
    ("amount", "l2"),
    ("text", "l2_rule"),
    ("count", "draw"),
    ("amount", "lr"),
    ("fraction", "error"),
    ("count", "num_train num_eval num_classes"),
)

MEASUREMENTS = _columns(
    ("text", "run_id"),
    ("count", "step"),
    ("text", "weights name dataset split layer head other"),
    ("number", "value"),
    ("count", "num_examples"),
)

TABLES = {"records": RECORDS, "evals": EVALS, "measurements": MEASUREMENTS}


@cache
def arrow_schema(table: str) -> pa.Schema:
    """The pyarrow schema of a table: "records", "evals" or "measurements".

    >>> arrow_schema("evals").field("error").type
    DataType(double)
    """
    return pa.schema([(column.name, column.arrow_type) for column in TABLES[table].values()])
