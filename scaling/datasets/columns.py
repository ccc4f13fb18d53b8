"""What every table needs on its way to records."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..schema import RECORDS

__all__ = ["EXA", "error_of_percent", "records", "task_name", "transposed_tasks"]

EXA = 1e18
_DIGITS = 10  # of an error: 100 - 90.056 is 9.944, and not 9.944000000000003

_TASKS = {
    "CIFAR-10": "cifar10", "CIFAR-100": "cifar100", "CIFAR10": "cifar10", "CIFAR100": "cifar100",
    "ImageNet ReaL": "imagenet_real", "Oxford Flowers-102": "flowers102", "Oxford-IIIT Pets": "pets",
    "Oxford-IIIT-Pets": "pets", "Pets": "pets", "VTAB (19 tasks)": "vtab",
}  # fmt: skip


def error_of_percent(accuracy: Any) -> Any:
    """An error as a fraction, of an accuracy in percent.

    >>> error_of_percent(90.056)
    0.09944
    """
    return round((100 - accuracy) / 100, _DIGITS)


def task_name(printed: str) -> str:
    """Of a data set as a paper prints it: small letters, digits and underscores.

    >>> task_name("Oxford-IIIT-Pets"), task_name("Clevr-Count"), task_name("CLEVR Counts")
    ('pets', 'clevr_count', 'clevr_counts')
    """
    name = "".join(letter if letter.isalnum() else "_" for letter in printed.lower())
    return _TASKS.get(printed, "_".join(part for part in name.split("_") if part))


def transposed_tasks(table: pd.DataFrame) -> pd.DataFrame:
    """A row a model, of a table with a row a data set (its index) and a column a model; accuracies in percent."""
    errors = error_of_percent(table.astype(float)).T
    errors.columns = [f"{task_name(name)}_finetune_error" for name in table.index]
    return errors.rename_axis("model_variant").reset_index()


def records(frame: pd.DataFrame, *, run_id: str | pd.Series, values: Mapping[str, Any]) -> pd.DataFrame:
    """A table with the columns that every table of records has, in the order of the schema, then its own.

    Args:
        frame: a row a model.
        run_id: what tells a row from the others, or the column of it.
        values: of columns that have one value; `source` must be there or in the frame.
    """
    ids = frame[run_id] if isinstance(run_id, str) else run_id
    whole = {"step": 0, "weights": "last", "upstream_error": float("nan")} | dict(values)
    known = {name: value for name, value in whole.items() if name not in frame}
    frame = frame.assign(**known, run_id=ids.astype(str))
    return frame[[name for name in RECORDS if name in frame] + [name for name in frame if name not in RECORDS]]
