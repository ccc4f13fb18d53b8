"""Fair tuning: the best learning rate of each cell by held-out training images, never by the evaluation set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .cells import CELL_COLUMNS, last_rows, number_rows
from .errors import FitWarning, issue
from .frames import as_numbers, check_columns, check_names
from .inputs import check_fractions

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["best_tuned", "tuning_table"]

_ON_EVALUATION_SET = ("upstream_error", "upstream_top5_error", "upstream_loss")
_NOTHING_HELD_OUT = (
    "without an error on held-out training images (upstream.val_fraction of a sweep) nothing can be chosen"
)
_DIGITS = 12  # a mean over seeds of equal errors may differ in the last bits, and is a tie


def best_tuned(
    runs: pd.DataFrame,
    tuned: Sequence[str] = ("lr",),
    *,
    score: str = "upstream_val_error",
    y: str = "upstream_error",
    by: Sequence[str] = (),
    over_seeds: bool = False,
) -> pd.DataFrame:
    """The best run of each cell, chosen on held-out training images; a study of scale compares the best at each scale.

    A cell are the runs that differ in nothing but what is tuned. The evaluation error of the best on the evaluation set
    itself would be too low, by what the choice makes of its noise; `choice_bias` says by how much.

    Args:
        runs: records, a row an evaluated model. Of each run the last step counts, of each of its `weights` apart.
        tuned: columns of what was tuned. One that follows another, as a head's weight decay the body's, is tuned too.
        score: column that the choice is made by, lowest first; not one of the evaluation set.
        y: column of the error on the evaluation set, a fraction.
        by: further columns that tell cells apart, such as recipe fields that records do not hold.
        over_seeds: choose by the mean score over the seeds of a cell, among the values that all its seeds have; the row
            of each seed is returned. Without, each seed is a cell of its own.

    Returns:
        The rows of the chosen runs, with all their columns, by cell; of equal scores the lowest value is chosen. Added:
        `cell`, a number; `choice_score`, the score that was compared; `num_tried`, values with a result in the cell,
        diverged ones too; `num_diverged` and `num_failed`, runs; `num_seeds`; `edge`, such as "highest lr": the end of
        the values tried at which the chosen one lies, beyond which a better one may be, "" inside of them or at 0;
        `choice_bias`: the error of the chosen less the lowest of the cell, which is what a choice on the evaluation set
        would have claimed, at least 0.

    Raises:
        ValueError: a missing column or value (without held-out images nothing is chosen), a score on the evaluation
            set, two runs of a cell with the same values, or no cell with two values.

    Warns:
        FitWarning: `edge_of_range`; `one_value`, cells where nothing was chosen; `dropped_points`, cells left out in
            which every run diverged or failed.

    >>> import pandas as pd
    >>> runs = pd.DataFrame({"run_id": list("abc"), "step": 9, "weights": "last", "lr": [0.001, 0.003, 0.01],
    ...                      "upstream_val_error": [0.31, 0.24, 0.28], "upstream_error": [0.30, 0.26, 0.25]})
    >>> best_tuned(runs)[["run_id", "lr", "upstream_error", "num_tried", "edge", "choice_bias"]].round(3)
      run_id     lr  upstream_error  num_tried edge  choice_bias
    0      b  0.003            0.26          3               0.01
    """
    table = tuning_table(runs, tuned, score=score, y=y, by=by, over_seeds=over_seeds)
    issue(*_warnings(table, tuned, runs))
    return table[table["is_chosen"]].drop(columns="is_chosen").reset_index(drop=True)


def tuning_table(
    runs: pd.DataFrame,
    tuned: Sequence[str] = ("lr",),
    *,
    score: str = "upstream_val_error",
    y: str = "upstream_error",
    by: Sequence[str] = (),
    over_seeds: bool = False,
) -> pd.DataFrame:
    """Every run of each cell, with the columns of `best_tuned` and `is_chosen`.

    Args, Raises: as in `best_tuned`. `choice_score` is infinite for a run that diverged or failed and for a value that
    not all seeds have; in a cell without a choice `choice_bias` is null.
    """
    _check(runs, tuned, score, y, by)
    table = last_rows(runs)
    status = table["status"].fillna("ok").astype(str) if "status" in table else np.full(len(table), "ok")
    table["_status"] = np.where(np.isin(status, ["ok", "diverged"]), status, "failed")
    columns = [*(name for name in CELL_COLUMNS if name in table), *by]
    identity = [name for name in dict.fromkeys(columns) if name not in (*tuned, *(["seed"] if over_seeds else []))]
    table["cell"], table["_value"] = number_rows(table, identity), number_rows(table, tuned)
    table["_score"], table["_error"] = _numbers(table, score), _numbers(table, y)
    _check_once(table, over_seeds, tuned)
    _check_varied(table, tuned, identity)
    table = _choose(table, tuned, over_seeds)
    order = ["cell", "_value", *(["seed"] if "seed" in table else []), "run_id"]
    table = table.sort_values(order, kind="stable", ignore_index=True)
    return table.drop(columns=[name for name in table if str(name).startswith("_")])


# Checks -------------------------------------------------------------------------------------------------------


def _check(runs: pd.DataFrame, tuned: Sequence[str], score: str, y: str, by: Sequence[str]) -> None:
    check_names("tuned", tuned)
    if "seed" in tuned:
        raise ValueError(f"tuned must not hold the seed: the best seed is luck, got {list(tuned)}")
    if score in (y, *_ON_EVALUATION_SET):
        raise ValueError(
            f"score must be a column of held-out training images such as 'upstream_val_error', got {score!r}: a choice"
            " on the evaluation set makes its error too low"
        )
    if not (isinstance(by, Sequence) and len(by) == 0):
        check_names("by", by)
    for name, column in (("score", score), ("y", y)):
        if not isinstance(column, str):
            raise ValueError(f"{name} must be a column's name, got {column!r}")
    check_columns(runs)
    if score not in runs:
        raise ValueError(f"column {score!r} is missing: {_NOTHING_HELD_OUT}")
    check_columns(runs, "run_id", "step", "weights", *tuned, y, *by)
    if runs.empty:
        raise ValueError("runs must have at least one row, got none")


def _numbers(table: pd.DataFrame, name: str) -> np.ndarray:
    """A column as float64, shape (n,), infinite for runs that diverged or failed; errors are fractions."""
    is_needed = (table["_status"] == "ok").to_numpy()
    values = as_numbers(table[name])
    bad = np.flatnonzero(is_needed & ~np.isfinite(values))
    if bad.size:
        run = table["run_id"].iloc[bad[0]]
        raise ValueError(
            f"column {name!r} must hold a number for every finished run; that of run {run!r} is"
            f" {table[name].iloc[bad[0]]} ({bad.size} such)" + (f": {_NOTHING_HELD_OUT}" if "val" in name else "")
        )
    if name.endswith("error"):
        check_fractions(f"column {name!r}", values[is_needed])
    return np.where(is_needed, values, np.inf)


def _check_once(table: pd.DataFrame, over_seeds: bool, tuned: Sequence[str]) -> None:
    """A cell has one run of each value, and of each seed where they are averaged."""
    if over_seeds:
        check_columns(table, "seed")
    twice = table.duplicated(["cell", "_value", *(["seed"] if over_seeds else [])], keep=False)
    if twice.any():
        first = table[twice].sort_values(["cell", "_value", "run_id"])
        a, b = first["run_id"].iloc[:2]
        raise ValueError(
            f"runs {a!r} and {b!r} are alike in every column that records hold of a recipe and in {list(tuned)}: name"
            f" what tells them apart in `by` or `tuned` ({twice.sum()} such rows)"
        )


def _check_varied(table: pd.DataFrame, tuned: Sequence[str], identity: Sequence[str]) -> None:
    if table.empty or table.groupby("cell")["_value"].nunique().max() > 1:
        return
    along = [
        name
        for name in identity
        if table["_value"].groupby(number_rows(table, [other for other in identity if other != name])).nunique().max()
        > 1
    ]
    also = f"; what differs along with it, and may be tuned too: {along}" if along else ""
    raise ValueError(f"no two runs differ in {list(tuned)} alone, so there is nothing to choose{also}")


# Cells and the choice -----------------------------------------------------------------------------------------


def _choose(table: pd.DataFrame, tuned: Sequence[str], over_seeds: bool) -> pd.DataFrame:
    """Scores and errors of each value, and what is chosen in each cell."""
    has_result = table["_status"] != "failed"
    seeds = table["seed"].where(has_result).groupby(table["cell"]).transform("nunique") if over_seeds else 1
    keys = [table["cell"], table["_value"]]
    is_complete = has_result & (has_result.groupby(keys).transform("sum") == seeds)
    score = table["_score"].groupby(keys).transform("mean").where(is_complete, np.inf).round(_DIGITS)
    error = table["_error"].groupby(keys).transform("mean").where(is_complete, np.inf)
    table = table.assign(choice_score=score, _error=error, _is_complete=is_complete, num_seeds=seeds)
    is_best = np.isfinite(score) & (score == score.groupby(table["cell"]).transform("min"))
    lowest = table["_value"].where(is_best).groupby(table["cell"]).transform("min")
    table["is_chosen"] = is_best & (table["_value"] == lowest)
    of_cell = table["cell"]
    table["num_tried"] = table["_value"].where(has_result).groupby(of_cell).transform("nunique")
    for name in ("diverged", "failed"):
        table[f"num_{name}"] = (table["_status"] == name).groupby(of_cell).transform("sum")
    table["edge"] = of_cell.map({cell: _edge(rows, tuned) for cell, rows in table.groupby("cell")})
    least = error.groupby(table["cell"]).transform("min")
    chosen = error.where(table["is_chosen"]).groupby(table["cell"]).transform("min")
    table["choice_bias"] = (chosen - least).where(np.isfinite(least))
    return table


def _edge(rows: pd.DataFrame, tuned: Sequence[str]) -> str:
    """At which ends of the values tried the chosen one of a cell lies; no value lies below 0."""
    import pandas as pd

    found = []
    for name in tuned:
        values = pd.to_numeric(rows[name], errors="coerce")
        chosen, tried = values[rows["is_chosen"]], values[rows["_is_complete"]].dropna().unique()
        if chosen.empty or len(tried) < 2:
            continue
        if chosen.iloc[0] == tried.max():
            found.append(f"highest {name}")
        elif chosen.iloc[0] == tried.min() and tried.min() > 0:
            found.append(f"lowest {name}")
    return ", ".join(found)


def _warnings(table: pd.DataFrame, tuned: Sequence[str], runs: pd.DataFrame) -> list[FitWarning]:
    """What a reader of the chosen runs must know."""
    cells = table.sort_values("is_chosen", ascending=False, kind="stable").drop_duplicates("cell").sort_values("cell")
    is_known = cells["is_chosen"].astype(bool)
    kinds: list[tuple[str, pd.Series, str]] = [
        ("edge_of_range", is_known & (cells["edge"] != ""), "the best value is at the end of those tried: try beyond"),
        ("one_value", is_known & (cells["num_tried"] == 1), f"one value of {list(tuned)}: nothing was chosen"),
        ("dropped_points", ~is_known, "no value has a result of every run, and the cell is left out"),
    ]
    return [
        FitWarning(kind, f"in {is_so.sum()} of {len(cells)} cells {text}; the first: {_described(cells[is_so], runs)}")
        for kind, is_so, text in kinds
        if is_so.any()
    ]


def _described(cells: pd.DataFrame, runs: pd.DataFrame) -> str:
    """The first cell in words: its columns that differ between runs."""
    row = cells.iloc[0]
    named = [name for name in CELL_COLUMNS if name in runs and runs[name].nunique(dropna=False) > 1]
    edge = [row["edge"]] if row["edge"] else []
    values = {name: f"{row[name]:g}" if isinstance(row[name], float) else row[name] for name in named}
    return ", ".join([*edge, *(f"{name} {value}" for name, value in values.items())]) or f"run {row['run_id']}"
