"""What holds a grid of runs back, model, data or duration: the best error of each model size and data size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..frames import check_columns, check_single, column_of, finished_rows, positive_column
from ..inputs import check_fractions

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Bottlenecks", "bottlenecks"]

_AXES = ("data", "model", "duration")
_CELL = ("model", "size", "data", "error", "duration", "longest", "error_at_longest", "is_longest")


@dataclass(frozen=True, repr=False, eq=False)
class Bottlenecks:
    """Best errors of a grid of models and data sizes. Made by `bottlenecks`.

    Attributes:
        cells: a row a model and data size, both ascending: `model`, `size`; `data`; `error` and `duration` of the best
            run; the `longest` duration and its `error_at_longest`; `is_longest`: whether the best run is the longest
            (where not, training on past it overtrained); `data_cut`, `model_cut`, `duration_cut`: by how much of the
            error, at best, a run of the grid is better that differs in one: more data for this model, a larger model on
            this data, both trained no longer than the cell; a longer training of this model on no more data; nan where
            no such run was made; `binds`: the one of the largest cut, "data", "model" or "duration"; "none" where such
            runs were made and none is better, "unknown" where none was made.
        by_model: of each model the best cell, with `is_largest_data`: whether that is on the largest data of the grid.
        by_data: of each data size the best cell, with `is_largest_model`.
        num_excluded: rows from inside a run that were left out.
    """

    cells: pd.DataFrame
    by_model: pd.DataFrame
    by_data: pd.DataFrame
    num_excluded: int

    def __repr__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Both panels, a line a model and a line a data size, and the cells that were overtrained."""
        lines = ["best error of each model" + _not_equal(self.by_model, "data", "duration")]
        for row in self.by_model.itertuples():
            run = f"data {row.data:.3g} for {row.duration:.3g}"
            lines.append(f"  {row.model} ({row.size:.3g}): {row.error:.4g}, {run}; binds: {row.binds}")
        lines.append("best error on each data size" + _not_equal(self.by_data, "model", "duration"))
        for row in self.by_data.itertuples():
            run = f"{row.model} for {row.duration:.3g}"
            lines.append(f"  {row.data:.3g}: {row.error:.4g}, {run}; binds: {row.binds}")
        for row in self.cells[~self.cells["is_longest"]].itertuples():
            best, longest = f"{row.error:.4g} at {row.duration:.3g}", f"{row.error_at_longest:.4g} at {row.longest:.3g}"
            lines.append(f"  overtrained: {row.model} on {row.data:.3g}: {best}, then {longest}")
        return "\n".join([*lines, f"{self.num_excluded} rows from inside a run left out"])


def _not_equal(best: pd.DataFrame, *names: str) -> str:
    """What else differs between the rows of a panel."""
    differ = [name for name in names if best[name].nunique() > 1]
    return f" (rows differ in {' and '.join(differ)} too)" if differ else ""


def bottlenecks(
    runs: pd.DataFrame,
    *,
    model: str = "model_variant",
    size: str = "num_params",
    data: str = "train_examples",
    duration: str = "images_seen",
    y: str = "upstream_error",
) -> Bottlenecks:
    """The best error of each model size and of each data size, and what holds each cell of the grid back.

    A model that is too small, or data too few, set a floor that no more of the others goes below. Errors are the best
    of a cell's runs as they are: of many runs or seeds the best is the lower by luck, and there is no interval.

    Args:
        runs: a row a run.
        model: column of its name; a model has one size.
        size: column of its size, positive: parameters, or FLOPs an image.
        data: column of the number of training images in its data set, positive.
        duration: column of how long it was trained, positive: images seen, or steps.
        y: column of its error, a fraction.

    Raises:
        ValueError: a column is missing or has bad values, a model has two sizes, or no row is left.

    Warns:
        FitWarning: `unfinished_runs` where such rows are mixed with those of finished runs.

    Source: the bottleneck panels of Figure 2 of Zhai et al. 2021 (arXiv 2106.04560).

    >>> import pandas as pd
    >>> runs = pd.DataFrame({"model_variant": ["S", "S", "L", "L"], "num_params": [1, 1, 9, 9], "images_seen": 10,
    ...                      "train_examples": [100, 900, 100, 900], "upstream_error": [0.5, 0.45, 0.4, 0.2]})
    >>> bottlenecks(runs).cells[["model", "data", "error", "data_cut", "model_cut", "binds"]].round(3)
      model   data  error  data_cut  model_cut    binds
    0     S  100.0   0.50       0.1      0.200    model
    1     S  900.0   0.45       NaN      0.556    model
    2     L  100.0   0.40       0.5        NaN     data
    3     L  900.0   0.20       NaN        NaN  unknown
    """
    check_columns(runs, size, data, duration, y)
    check_single(runs, model)
    table = _clean(runs, {"size": size, "data": data, "duration": duration}, y, model)
    is_used = finished_rows(runs)
    table = table[is_used].reset_index(drop=True)
    cells = _add_cuts(_cells(table), table)
    by_model, by_data = (_best(cells, by) for by in ("model", "data"))
    by_model["is_largest_data"] = by_model["data"] == cells["data"].max()
    by_data["is_largest_model"] = by_data["size"] == cells["size"].max()
    return Bottlenecks(cells, by_model.sort_values("size", ignore_index=True), by_data, int((~is_used).sum()))


def _clean(runs: pd.DataFrame, amounts: dict[str, str], y: str, model: str) -> pd.DataFrame:
    """The columns under names of one's own, checked."""
    import pandas as pd

    if runs.empty:
        raise ValueError("runs must have at least one row, got none")
    nameless = np.flatnonzero(runs[model].isna().to_numpy(dtype=bool))
    if nameless.size:
        raise ValueError(f"column {model!r} must name the model; row {nameless[0]} is null ({nameless.size} such)")
    columns = {name: positive_column(runs, column) for name, column in amounts.items()}
    columns["error"] = check_fractions(f"column {y!r}", column_of(runs, y))
    table = pd.DataFrame({"model": runs[model].astype(str).to_numpy(), **columns})
    sizes = table.groupby("model")["size"].nunique()
    if sizes.max() > 1:
        raise ValueError(f"a model has one {amounts['size']!r}; {sizes.idxmax()!r} has {sizes.max()}")
    return table


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    """A row a model and data size: its best run, of equal ones the shortest, and its longest."""
    keys = ["size", "model", "data"]
    table = table.sort_values([*keys, "error", "duration"])
    best = table.drop_duplicates(keys, ignore_index=True)
    longest = table.sort_values([*keys, "duration", "error"], ascending=[True] * 3 + [False, True])
    longest = longest.drop_duplicates(keys, ignore_index=True)  # in the same order
    best["longest"], best["error_at_longest"] = longest["duration"], longest["error"]
    best["is_longest"] = best["error"] >= best["error_at_longest"]
    return best[[*_CELL]]


def _add_cuts(cells: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """How far the error falls where a run differs from the cell in one respect."""
    runs = {str(name): table[name].to_numpy() for name in table}
    cuts = np.array([list(_cuts(cell, runs).values()) for cell in cells.itertuples()])
    known, cut = ~np.isnan(cuts), np.nan_to_num(cuts, nan=0.0)
    place = np.where(cut.any(axis=1), cut.argmax(axis=1), len(_AXES) + ~known.any(axis=1))
    binds = np.array([*_AXES, "none", "unknown"], dtype=object)[place]
    return cells.assign(**{f"{name}_cut": cut for name, cut in zip(_AXES, cuts.T, strict=True)}, binds=binds)


def _cuts(cell: Any, runs: dict[str, np.ndarray]) -> dict[str, float]:
    is_model, is_longer = runs["model"] == cell.model, runs["duration"] > cell.longest
    others = {
        "data": is_model & (runs["data"] > cell.data) & ~is_longer,
        "model": (runs["size"] > cell.size) & (runs["data"] == cell.data) & ~is_longer,
        "duration": is_model & (runs["data"] <= cell.data) & is_longer,
    }
    return {name: _cut(cell.error, runs["error"][others[name]]) for name in _AXES}


def _cut(error: float, others: np.ndarray) -> float:
    """By how much of the error the best of others is better; nan without any."""
    if others.size == 0:
        return np.nan
    return max(error - others.min(), 0.0) / error if error > 0 else 0.0


def _best(cells: pd.DataFrame, by: str) -> pd.DataFrame:
    """The best cell of each model or data size, of equal ones the first."""
    order = cells.sort_values(["error", "size", "data"], kind="stable")
    return order.drop_duplicates(by).sort_values(by, ignore_index=True)
