"""What a report is asked for, and the records it is made of."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..datasets import named, path_or_data_set
from ..frames import check_columns
from ..prediction import check_level
from ..records import read_records
from ..schema import KEY

__all__ = ["Asked", "axes_of", "numbers_of", "read_asked", "records_digest"]

# Columns that a report shows or counts; a wide table of a million rows is not held whole.
_SHOWN = (
    *KEY, "source", "upstream_dataset", "num_classes", "train_examples", "model_family", "model_variant", "num_params",
    "flops_rule", "batch_size", "planned_steps", "cooled_down", "images_seen", "compute_flops", "trunk_id",
    "upstream_num_eval", "eval_split", "status", "diverged_step", "failure", "recipe", "optimizer", "lr",
    "weight_decay", "schedule", "seed", "torch_version", "git_commit", "schema_version",
)  # fmt: skip
_X, _Y = "compute_flops", "upstream_error"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The choices of a report; see `write_report`."""

    x: str = _X
    y: str = _Y
    by: str | None = None
    where: str | None = None
    weights: str = "last"
    probe: str = "whitened"
    layer: str = "pre_logits"
    law: str = "saturating_power"
    level: float = 0.95
    seed: int = 0

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def is_shown(self, name: str) -> bool:
        """Whether a report needs a column of this name."""
        words = set(re.findall(r"\w+", self.where or ""))
        return name in _SHOWN or name in (self.x, self.y, self.by) or name in words or name.endswith("_error")


def axes_of(source: Any, x: str | None, y: str | None) -> dict[str, str]:
    """The columns named, else a data set's own, else compute and upstream error."""
    own = named(source) if isinstance(source, str) else None
    return {"x": x or (own.x if own else _X), "y": y or (own.y if own else _Y)}


def read_asked(
    source: Any, asked: Asked, columns: Mapping[str, str] | None, decimal: str | None
) -> tuple[pd.DataFrame, Asked]:
    """The rows, of a path or of a data set's name, and what is asked with the column of the groups found out.

    Raises:
        ValueError: bad records, no row, no such column, or neither a path nor a data set.
        OSError: a data set cannot be fetched.
    """
    check_level(asked.level)
    choice = {"probe": asked.probe, "layer": asked.layer, "weights": asked.weights, "where": asked.where}
    found = path_or_data_set(source) if isinstance(source, str) else source
    frame = read_records(found, columns=columns, decimal=decimal, only=asked.is_shown, **choice)
    if frame.empty:
        raise ValueError(
            f"no rows to report of in {os.fspath(source) if not isinstance(source, pd.DataFrame) else 'the table'}"
        )
    if asked.by is not None:
        check_columns(frame, asked.by)
    elif "model_family" in frame and frame["model_family"].notna().any():
        asked = Asked(**{**asked.__dict__, "by": "model_family"})
    return frame, asked


def numbers_of(frame: pd.DataFrame, name: str) -> np.ndarray:
    """float64, NaN where there is no number, shape (n,)."""
    return pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=float, na_value=np.nan)


def records_digest(frame: pd.DataFrame, *names: str) -> str:
    """sha256 of the values of the key and of some columns, in the order of the rows.

    >>> frame = pd.DataFrame({"run_id": ["a"], "step": [1], "weights": ["last"], "upstream_error": [0.5]})
    >>> records_digest(frame, "upstream_error")[:8] != records_digest(frame.assign(step=2), "upstream_error")[:8]
    True
    """
    held = [name for name in dict.fromkeys((*KEY, *names)) if name in frame]
    rows = pd.util.hash_pandas_object(
        frame[held].astype({n: str for n in held if frame[n].dtype == object}), index=False
    )
    return hashlib.sha256(rows.to_numpy(dtype="<u8").tobytes()).hexdigest()
