"""Means over groups of tasks, and the tasks where two rows differ most: VTAB's Natural, Specialized, Structured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..frames import as_numbers, check_columns, check_names
from .labels import check_unique, labelled_row

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["VTAB_GROUPS", "extreme_tasks", "group_means", "task_gaps", "vtab_task"]

VTAB_GROUPS: dict[str, tuple[str, ...]] = {
    "Natural": ("caltech101", "cifar100", "dtd", "flowers102", "pets", "sun397", "svhn"),
    "Specialized": ("camelyon", "eurosat", "resisc45", "retinopathy"),
    "Structured": (
        "clevr_count", "clevr_distance", "dmlab", "dsprites_location", "dsprites_orientation", "kitti_distance",
        "smallnorb_azimuth", "smallnorb_elevation",
    ),
}  # fmt: skip
"""The 19 tasks of VTAB by group: Zhai et al. 2019 (arXiv 1910.04867), Table 1."""

# Other spellings in papers and in TensorFlow Datasets, without case, blanks, dashes and underscores.
_SPELLINGS = {
    "caltech": "caltech101", "flowers": "flowers102", "oxfordflowers102": "flowers102", "oxfordiiitpet": "pets",
    "oxfordiiitpets": "pets", "svhncropped": "svhn", "patchcamelyon": "camelyon",
    "diabeticretinopathy": "retinopathy", "diabeticretinopathydetection": "retinopathy", "clevrdist": "clevr_distance",
    "dsprloc": "dsprites_location", "dsprori": "dsprites_orientation", "kitti": "kitti_distance",
    "kittidist": "kitti_distance", "snorbazim": "smallnorb_azimuth", "snorbelev": "smallnorb_elevation",
}  # fmt: skip
_TASKS = {task.replace("_", ""): task for tasks in VTAB_GROUPS.values() for task in tasks}


def vtab_task(name: str) -> str:
    """The name that `VTAB_GROUPS` has for a task, whatever a paper calls it; other names are returned as they are.

    >>> vtab_task("dSpr-Ori"), vtab_task("patch-camelyon"), vtab_task("Mean")
    ('dsprites_orientation', 'camelyon', 'Mean')
    """
    squeezed = "".join(letter for letter in str(name).lower() if letter.isalnum())
    return _SPELLINGS.get(squeezed) or _TASKS.get(squeezed) or str(name)


def group_means(
    table: pd.DataFrame, groups: Mapping[str, Sequence[str]] = VTAB_GROUPS, overall: str = "All"
) -> pd.DataFrame:
    """Mean of each group of tasks, and of all their tasks; a row a model, in the table's own unit.

    Args:
        table: a row a model, a column a task; for `VTAB_GROUPS` in any spelling of `vtab_task`. Columns of no group,
            such as a printed mean, are left out.
        groups: name of a group -> its tasks.
        overall: name of the mean over all tasks, each with the same weight, so that large groups weigh more.

    Raises:
        ValueError: a task of a group is missing, occurs twice, or has no number in some row; a group has no task, or
            the name of the overall mean.

    Source: VTAB, Zhai et al. 2019 (arXiv 1910.04867).

    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [0.5], "y": [0.7], "z": [0.9]}, index=["model"])
    >>> group_means(table, {"first": ["x", "y"], "second": ["z"]}).round(3).loc["model"].to_dict()
    {'first': 0.6, 'second': 0.9, 'All': 0.7}
    """
    import pandas as pd

    tasks = _task_columns(table, groups)
    if overall in groups:
        raise ValueError(f"no group may have the name of the overall mean, {overall!r}; pass another as `overall`")
    means = {name: tasks[list(members)].mean(axis=1) for name, members in groups.items()}
    means[overall] = tasks.mean(axis=1)
    return pd.DataFrame(means)


def extreme_tasks(table: pd.DataFrame, groups: Mapping[str, Sequence[str]] = VTAB_GROUPS) -> pd.DataFrame:
    """The task of the lowest and of the highest value of each model: `lowest, lowest_value, highest, highest_value`.

    A low value may be a hard task or one with many classes; it is not corrected for chance.

    Raises:
        ValueError: as in `group_means`.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [0.5], "y": [0.7]}, index=["model"])
    >>> extreme_tasks(table, {"all": ["x", "y"]}).to_numpy().tolist()
    [['x', 0.5, 'y', 0.7]]
    """
    import pandas as pd

    tasks = _task_columns(table, groups)
    columns = {"lowest": tasks.idxmin(axis=1), "lowest_value": tasks.min(axis=1)}
    return pd.DataFrame(columns | {"highest": tasks.idxmax(axis=1), "highest_value": tasks.max(axis=1)})


def task_gaps(
    table: pd.DataFrame, row_a: str, row_b: str, groups: Mapping[str, Sequence[str]] = VTAB_GROUPS
) -> pd.DataFrame:
    """What row a has over row b on each task, the largest gap first: columns `group, a, b, gap`.

    Whether the rows may be compared at all is another matter: see `check_comparison`.

    Raises:
        ValueError: as in `group_means`, or there is no such row.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [0.5, 0.6], "y": [0.7, 0.5]}, index=["old", "new"])
    >>> task_gaps(table, "new", "old", {"all": ["x", "y"]}).gap.round(3).to_dict()
    {'x': 0.1, 'y': -0.2}
    """
    import pandas as pd

    tasks = _task_columns(table, groups)
    a, b = (tasks.iloc[labelled_row(table, row)] for row in (row_a, row_b))
    group = {task: name for name, members in groups.items() for task in members}
    gaps = pd.DataFrame({"group": pd.Series(group), "a": a, "b": b, "gap": a - b})
    return gaps.sort_values("gap", ascending=False, kind="stable")


def _task_columns(table: pd.DataFrame, groups: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """The tasks of the groups as float64, by their names in the groups."""
    import pandas as pd

    check_unique(table, "a row a model")
    if not isinstance(groups, Mapping) or not groups:
        raise ValueError(f"groups must name at least one group of tasks, got {groups!r}")
    wanted = [task for name, members in groups.items() for task in check_names(f"group {name!r}", members)]
    renamed = table.rename(columns=lambda name: name if name in wanted else vtab_task(name))
    check_columns(renamed, *wanted)
    check_names("tasks of groups", wanted)
    numbers = pd.DataFrame({name: as_numbers(renamed[name]) for name in wanted}, index=table.index)
    bad = np.argwhere(~np.isfinite(numbers.to_numpy()))
    if bad.size:
        row, column = bad[0]
        where = f"{wanted[column]!r} of {table.index[row]!r}"
        raise ValueError(f"each task must have a finite number; {where} has none ({len(bad)} such)")
    return numbers
