"""The downstream columns of records: which task and how many shots each holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..inputs import check_columns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["find_tasks"]

_FEWSHOT = re.compile(r"(?P<task>.+)_(?P<shots>\d+)shot_error")
_FINETUNE = "_finetune_error"


def find_tasks(records: pd.DataFrame, columns: Sequence[str] | None = None) -> list[tuple[str, int | None, str]]:
    """(task, shots, column) of each downstream column; shots are None for one that is not of few shots.

    Args:
        records: as `read_records` returns.
        columns: which; None: every `<task>_<k>shot_error` and `<task>_finetune_error`.

    Raises:
        ValueError: there is no such column.

    >>> import pandas as pd
    >>> find_tasks(pd.DataFrame(columns=["run_id", "pets_10shot_error", "pets_finetune_error"]))
    [('pets', 10, 'pets_10shot_error'), ('pets', None, 'pets_finetune_error')]
    """
    if columns is None:
        names = [str(name) for name in records.columns]
        columns = [name for name in names if _FEWSHOT.fullmatch(name) or name.endswith(_FINETUNE)]
        if not columns:
            raise ValueError(
                f"no column is named <task>_<k>shot_error or <task>{_FINETUNE}: pass tasks=[...], columns of downstream"
                f" errors; there is {names[:12]}"
            )
    columns = [columns] if isinstance(columns, str) else columns
    check_columns(records, *columns)
    return [_task_of(name) for name in columns]


def _task_of(column: str) -> tuple[str, int | None, str]:
    if match := _FEWSHOT.fullmatch(column):
        return match["task"], int(match["shots"]), column
    return column.removesuffix(_FINETUNE), None, column
