"""The downstream columns of records: which task and how many shots each holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ..frames import check_frame, check_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["choose_tasks", "find_tasks"]

_FEWSHOT = re.compile(r"(?P<task>.+)_(?P<shots>\d+)shot_error")
_OTHER_WAYS = ("_finetune_error", "_zero_shot_error")


def find_tasks(records: pd.DataFrame, columns: Sequence[str] | None = None) -> list[tuple[str, int | None, str]]:
    """(task, shots, column) of each downstream column; shots are None for one that is not of few shots.

    Args:
        records: as `read_records` returns.
        columns: which; None: every `<task>_<k>shot_error`, `<task>_finetune_error` and `<task>_zero_shot_error`.

    Raises:
        ValueError: there is no such column.

    >>> import pandas as pd
    >>> find_tasks(pd.DataFrame(columns=["run_id", "pets_10shot_error", "pets_finetune_error"]))
    [('pets', 10, 'pets_10shot_error'), ('pets', None, 'pets_finetune_error')]
    """
    check_frame(records)
    if columns is None:
        names = [str(name) for name in records.columns]
        columns = [name for name in names if _FEWSHOT.fullmatch(name) or name.endswith(_OTHER_WAYS)]
        if not columns:
            raise ValueError(
                f"no column is named <task>_<k>shot_error or <task>{' or <task>'.join(_OTHER_WAYS)}: pass tasks=[...],"
                f" columns of downstream errors; there is {names[:12]}"
            )
    columns = [columns] if isinstance(columns, str) else columns
    return [_task_of(str(name)) for name in check_names("tasks", columns, records)]


def choose_tasks(records: pd.DataFrame, columns: Sequence[str] | None = None) -> list[tuple[str, int | None, str]]:
    """As `find_tasks`; of a column that is missing the error says which tasks there are.

    >>> import pandas as pd
    >>> choose_tasks(pd.DataFrame(columns=["run_id", "pets_10shot_error"]), ["pet_10shot_error"])
    Traceback (most recent call last):
    ...
    ValueError: column 'pet_10shot_error' is missing; near: pets_10shot_error; tasks: pets (10-shot)
    """
    for column in columns or ():
        if column not in records:
            names = [str(name) for name in records.columns]
            near = ", ".join(get_close_matches(column, names, n=3)) or "none"
            ways = [name for name in names if _FEWSHOT.fullmatch(name) or name.endswith(_OTHER_WAYS)]
            tasks = ", ".join(_way_of(name) for name in ways) or "none"
            raise ValueError(f"column {column!r} is missing; near: {near}; tasks: {tasks}")
    return find_tasks(records, columns)


def _way_of(column: str) -> str:
    task, shots, _ = _task_of(column)
    return (
        f"{task} ({f'{shots}-shot' if shots else 'zero-shot' if column.endswith('_zero_shot_error') else 'finetune'})"
    )


def _task_of(column: str) -> tuple[str, int | None, str]:
    if match := _FEWSHOT.fullmatch(column):
        return match["task"], int(match["shots"]), column
    task = column
    for ending in _OTHER_WAYS:
        task = task.removesuffix(ending)
    return task, None, column
