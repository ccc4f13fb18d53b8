"""Where the order of two groups of models turns round along an axis, such as the size of the data."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ..frames import check_columns, column_of, finished_rows, positive_column
from ..quantiles import student_quantile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["crossings"]


def crossings(
    records: pd.DataFrame, *, x: str = "train_examples", y: str = "upstream_error", by: str = "model_family"
) -> pd.DataFrame:
    """Where two groups of models change places: between which values of x, and the x that log interpolation gives.

    The value of a group at an x is the mean over its runs there; compared are groups at the values that both have.

    Args:
        records: a row a run, as `read_records` returns.
        x: column, positive.
        y: column of an error, or of what else is the better the lower.
        by: column that tells groups apart.

    Returns:
        A row a crossing of a pair of groups: `better_below` and `better_above` it, `x_below` and `x_above`, the values
        that it lies between, `x_at` by linear interpolation of y in log x, `y_at`, and `is_clear`: whether on both
        sides the 95 % interval of the difference (Student's t, over the runs there) leaves out 0; false where a group
        has one run. Without a crossing no rows.

    Raises:
        ValueError: a missing column or value, or no pair of groups with two values of x in common.

    Source: Dosovitskiy et al. 2020 (arXiv 2010.11929), Figure 4.

    >>> import pandas as pd
    >>> runs = pd.DataFrame({"model_family": ["vit"] * 2 + ["resnet"] * 2, "train_examples": [9e6, 9e8] * 2})
    >>> found = crossings(runs.assign(upstream_error=[0.6, 0.3, 0.5, 0.4]))
    >>> found[["better_below", "better_above", "x_at"]].round().values.tolist()
    [['resnet', 'vit', 90000000.0]]
    """
    import pandas as pd

    check_columns(records, x, y, by)
    records = records[finished_rows(records)]
    frame = pd.DataFrame({"x": positive_column(records, x), "y": column_of(records, y)})
    groups = frame.groupby([records[by].astype(str).to_numpy(), "x"])["y"].agg(["mean", "var", "size"])
    names = list(dict.fromkeys(groups.index.get_level_values(0)))
    shared = {pair: _shared(groups, *pair) for pair in combinations(names, 2)}
    if not any(len(both) > 1 for both in shared.values()):
        raise ValueError(f"no two of {by!r} {names[:6]} have two values of {x!r} in common")
    rows = [row for pair, both in shared.items() for row in _turns(*pair, both)]
    columns = ["better_below", "better_above", "x_below", "x_above", "x_at", "y_at", "is_clear"]
    return pd.DataFrame(rows, columns=columns)


def _shared(groups: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """By the values of x that both have: the difference, second less first, its half width, and the first."""
    import pandas as pd

    a, b = groups.loc[first].align(groups.loc[second], join="inner", axis=0)
    half = np.sqrt(a["var"] / a["size"] + b["var"] / b["size"])  # null where a group has one run
    half *= [student_quantile(0.95, max(num - 2, 1)) for num in a["size"] + b["size"]]
    return pd.DataFrame({"difference": b["mean"] - a["mean"], "half": half, "y": a["mean"]}).sort_index()


def _turns(first: str, second: str, both: pd.DataFrame) -> list[tuple[object, ...]]:
    """A tie is no change of places: of the values beside it the nearest that differ are compared."""
    both = both[both["difference"] != 0]
    x, change, y = both.index.to_numpy(dtype=float), both["difference"].to_numpy(), both["y"].to_numpy()
    is_clear = np.abs(change) > both["half"].to_numpy()
    rows = []
    for i in np.flatnonzero(change[:-1] * change[1:] < 0):
        share = change[i] / (change[i] - change[i + 1])
        at = float(np.exp(np.log(x[i]) + share * np.log(x[i + 1] / x[i])))
        better = (first, second) if change[i] > 0 else (second, first)
        y_at = float(y[i] + share * (y[i + 1] - y[i]))
        rows.append((*better, x[i], x[i + 1], at, y_at, bool(is_clear[i] and is_clear[i + 1])))
    return rows
