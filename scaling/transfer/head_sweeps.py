"""Sweeps of the head's weight decay or learning rate: which value is best for which task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..cells import CELL_COLUMNS, number_rows
from ..frames import check_columns, column_of, finished_rows
from ..inputs import check_fractions, check_number, check_same_index, numbers
from .ranks import rank_correlations
from .task_columns import find_tasks

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare_coupling", "head_optima", "mean_errors", "optimum_against_rank"]


def head_optima(
    records: pd.DataFrame,
    *,
    setting: str = "head_weight_decay",
    upstream: str = "upstream_error",
    tasks: Sequence[str] | None = None,
    tolerance: float = 0.0,
) -> pd.DataFrame:
    """The setting of the head with the least error, upstream and for each downstream task and number of shots.

    Runs with equal settings (seeds) are averaged first; rows from inside a run are left out where others are finished.
    An optimum at the end of the grid is no optimum: a value beyond it may be better. It is refused, unless it is 0,
    below which there is nothing.

    Args:
        records: a row a run that differs from the others in `setting` (and seed) only; of several models, each with the
            same settings, the errors are averaged.
        setting: column of the values tried, at least two, not negative.
        upstream: column of the upstream error.
        tasks: columns of downstream errors; None: every `<task>_<k>shot_error` and `<task>_finetune_error`.
        tolerance: errors that near to the least count as tied with it.

    Returns:
        A row for the upstream (`task` "upstream") and for each downstream column: `task`, `num_shots` (null for the
        upstream and fine-tuning), `column`, `best_value` and `best_error`, the largest and smallest value tied with
        it, `tied_low` and `tied_high`; `num_values`; `status`: "bracketed", "not bracketed: lowest value", "not
        bracketed: highest value" (a tied value counts) or "flat: all values tie"; `optimum`: the best value where it is
        bracketed, else null; `over_upstream`: the optimum over the upstream one, null where one of them is null, or the
        upstream one is 0. Of tied values the best is the middle one, of an even number the lower of the two.

    Raises:
        ValueError: a missing column, a value that is no fraction, fewer than two settings, or models of other settings.

    Warns:
        FitWarning: `unfinished_runs` where rows from inside a run are among those of finished ones.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Figures 9, 11, 35, 36, 38, 39.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"head_weight_decay": [0.1, 1, 10], "upstream_error": [0.5, 0.4, 0.6]})
    >>> table = head_optima(frame.assign(pets_10shot_error=[0.3, 0.2, 0.1]))
    >>> table[["task", "best_value", "status"]].values.tolist()
    [['upstream', 1.0, 'bracketed'], ['pets', 10.0, 'not bracketed: highest value']]
    """
    import pandas as pd

    check_number("tolerance", tolerance)
    known = [("upstream", None, upstream), *find_tasks(records, tasks)]
    means = mean_errors(records, setting, [column for _, _, column in known])
    grid, rows = means.index.to_numpy(dtype=float), []
    if np.any(grid < 0) or grid.size < 2:
        raise ValueError(
            f"column {setting!r} must hold two values or more, none negative, got {grid}: a sweep of it, such as"
            f" recipe: {{{setting}: [0, 0.1, 1]}} in its spec"
        )
    for task, num_shots, column in known:
        optimum = _optimum(grid, means[column].to_numpy(), tolerance)
        rows.append({"task": task, "num_shots": num_shots, "column": column, **optimum})
    table = pd.DataFrame(rows).astype({"num_shots": "Int64", "optimum": "Float64"})
    of_upstream = table["optimum"].iloc[0]
    if of_upstream is pd.NA or of_upstream == 0:
        of_upstream = pd.NA
    return table.assign(over_upstream=table["optimum"] / of_upstream)


def mean_errors(records: pd.DataFrame, setting: str, columns: Sequence[str]) -> pd.DataFrame:
    """Mean errors of finished runs at each value of a setting: values down, ascending, columns across."""
    import pandas as pd

    records = records[finished_rows(records)]
    values = column_of(records, setting)
    _check_same_values(records, setting, values)
    errors = {name: check_fractions(f"column {name!r}", column_of(records, name)) for name in columns}
    return pd.DataFrame(errors).groupby(values).mean()


def _check_same_values(records: pd.DataFrame, setting: str, values: np.ndarray) -> None:
    """Models that are averaged must have the same values of the setting: else the mean is of others at each value."""
    names = [name for name in CELL_COLUMNS if name in records and name not in (setting, "seed")]
    cells = number_rows(records, names)
    found = [np.unique(values[cells == cell]) for cell in np.unique(cells)]
    other = next((i for i, of_cell in enumerate(found) if not np.array_equal(of_cell, found[0])), None)
    # Cells of one value each: what differs between them goes along with the setting.
    if other is None or max(of_cell.size for of_cell in found) == 1:
        return
    rows = records.iloc[[int(np.argmax(cells == 0)), int(np.argmax(cells == other))]]
    which = [f"{name} {rows[name].iloc[0]} / {rows[name].iloc[1]}" for name in names if rows[name].nunique() > 1]
    raise ValueError(
        f"runs that are averaged must have the same values of {setting!r}, got {found[0].tolist()} and"
        f" {found[other].tolist()} of runs that differ in {', '.join(which)}: choose a part of the records"
    )


def _optimum(grid: np.ndarray, mean: np.ndarray, tolerance: float) -> dict[str, object]:
    # The mean of equal errors may differ from them in the last bit.
    tied = np.flatnonzero(mean <= mean.min() + tolerance + 4 * np.finfo(float).eps)
    best = tied[(tied.size - 1) // 2]
    if tied.size == grid.size:
        status = "flat: all values tie"
    elif tied[-1] == grid.size - 1:
        status = "not bracketed: highest value"
    elif tied[0] == 0 and grid[0] > 0:
        status = "not bracketed: lowest value"
    else:
        status = "bracketed"
    return {
        "best_value": float(grid[best]), "best_error": float(mean[best]), "tied_low": float(grid[tied[0]]),
        "tied_high": float(grid[tied[-1]]), "num_values": grid.size, "status": status,
        "optimum": float(grid[best]) if status == "bracketed" else None,
    }  # fmt: skip


def optimum_against_rank(
    records: pd.DataFrame, checkpoints: pd.DataFrame, *, setting: str = "head_weight_decay",
    upstream: str = "upstream_error", tasks: Sequence[str] | None = None, tolerance: float = 0.0,
) -> pd.DataFrame:  # fmt: skip
    """Each task's best setting of the head beside how well upstream error ranks models for it.

    The paper finds that tasks that rank models as the upstream does want the upstream's own weight decay.

    Args:
        records: the sweep of the setting, as in `head_optima`.
        checkpoints: other models or checkpoints with the same columns, over which Spearman's correlation is taken: all
            of them, rows from inside runs too, for it is their spread that ranks.
        setting, upstream, tasks, tolerance: as in `head_optima`.

    Returns:
        The downstream rows of `head_optima` with `rank_correlation`, of upstream and downstream error.

    Raises:
        ValueError: as `head_optima` and `rank_correlations`.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Figure 12.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"head_weight_decay": [0.1, 1, 10], "upstream_error": [0.5, 0.4, 0.6]})
    >>> frame = frame.assign(pets_10shot_error=[0.3, 0.2, 0.4])
    >>> optimum_against_rank(frame, frame)[["task", "optimum", "rank_correlation"]].round(3).values.tolist()
    [['pets', 1.0, 1.0]]
    """
    options = {"setting": setting, "upstream": upstream, "tolerance": tolerance}
    optima = head_optima(records, tasks=tasks, **options).iloc[1:].reset_index(drop=True)
    columns = optima["column"].tolist()
    check_columns(checkpoints, upstream, *columns)
    correlations = rank_correlations(checkpoints[columns], checkpoints[[upstream]])[upstream]
    return optima.assign(rank_correlation=correlations.to_numpy())


def compare_coupling(head: ArrayLike, body: ArrayLike, accuracy: ArrayLike) -> pd.DataFrame:
    """The best weight decay of head and body when both are equal, against the best when each is free.

    Args:
        head, body: weight decay of the head and of the body of each run, shape (n,).
        accuracy: fractions, shape (n,).

    Returns:
        Two rows, `choice` "coupled" and "decoupled": `head`, `body`, `accuracy` of the best run (of equals the first),
        `num_runs` it was chosen of and `num_tied` with it.

    Raises:
        ValueError: shapes differ, a decay is negative, or no run has equal decays.

    Source: Zhai et al. 2021 (arXiv 2106.04560), Figure 5.

    >>> table = compare_coupling([0, 0, 1, 1], [0, 1, 0, 1], [0.5, 0.4, 0.6, 0.55])
    >>> table[["choice", "head", "body", "accuracy"]].values.tolist()
    [['coupled', 1.0, 1.0, 0.55], ['decoupled', 1.0, 0.0, 0.6]]
    """
    import pandas as pd

    check_same_index(head=head, body=body, accuracy=accuracy)
    head, body = numbers("head", head), numbers("body", body)
    accuracy = check_fractions("accuracy", accuracy)
    if head.ndim != 1 or head.shape != body.shape or head.shape != accuracy.shape:
        shapes = f"{head.shape}, {body.shape} and {accuracy.shape}"
        raise ValueError(f"head, body and accuracy must be one-dimensional and equally long, got {shapes}")
    if not (np.all(head >= 0) and np.all(body >= 0)):
        raise ValueError("weight decays must be numbers, not negative")
    coupled = np.flatnonzero(head == body)
    if coupled.size == 0:
        raise ValueError(f"none of {head.size} runs has the same weight decay in head and body")
    rows = []
    for choice, runs in (("coupled", coupled), ("decoupled", np.arange(head.size))):
        best = runs[np.argmax(accuracy[runs])]
        num_tied = int(np.sum(accuracy[runs] == accuracy[best]))
        row = (choice, float(head[best]), float(body[best]), float(accuracy[best]), runs.size, num_tied)
        rows.append(row)
    return pd.DataFrame(rows, columns=["choice", "head", "body", "accuracy", "num_runs", "num_tied"])
