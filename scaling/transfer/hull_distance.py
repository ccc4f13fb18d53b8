"""How far models lie below a hull: of their own task, or on other tasks' hulls those of one task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..frames import check_columns, check_names, column_of, finished_rows
from ..inputs import check_accuracies, check_fractions
from ..selection.hulls import convex_hull
from ..selection.rules import select
from .correlations import spearman
from .selection import check_anchors

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["HullOverlay", "hull_distance", "hull_line", "overlay_hull"]


def hull_line(
    upstream: np.ndarray,
    downstream: np.ndarray,
    anchors: str | Sequence[str] = "none",
    chance: tuple[float, float] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the upper hull, upstream accuracy ascending, shape (m,) each; `anchors` as in `hull_distance`."""
    names, guess = check_anchors(anchors, chance, (0.0, 1.0))
    us, ds = upstream, downstream
    if guess is not None:
        us, ds = np.append(us, guess[0]), np.append(ds, guess[1])
    if "flat_right" in names:
        us, ds = np.append(us, us.max()), np.append(ds, ds.max())
    hull = convex_hull(us, ds)
    return us[hull], ds[hull]


def hull_distance(
    upstream_accuracy: ArrayLike,
    downstream_accuracy: ArrayLike,
    *,
    anchors: str | Sequence[str] = "none",
    chance: tuple[float, float] | None = None,
) -> np.ndarray:
    """How much downstream accuracy each model lacks to the upper hull of all, at its upstream accuracy: shape (n,).

    Args:
        upstream_accuracy, downstream_accuracy: fractions, shape (n,).
        anchors: how the hull ends: "none", at the leftmost and at the rightmost model, whose distance is 0 then;
            "chance", with a guess as one more model; "flat_right", level from the best model to the rightmost upstream
            accuracy; or a tuple of both.
        chance: (upstream, downstream) accuracy of a guess, for its anchor.

    Raises:
        ValueError: bad input.

    Source: Abnar et al. 2021 (arXiv 2110.02095), whose hyper-parameters move models off the hull.

    >>> hull_distance([0.1, 0.3, 0.5, 0.6], [0.2, 0.3, 0.6, 0.5]).round(6)
    array([0. , 0.1, 0. , 0. ])
    >>> hull_distance([0.1, 0.3, 0.5, 0.6], [0.2, 0.3, 0.6, 0.5], anchors="flat_right").round(6)
    array([0. , 0.1, 0. , 0.1])
    """
    upstream, downstream = check_accuracies(upstream_accuracy, downstream_accuracy, below_one=False)
    return np.maximum(np.interp(upstream, *hull_line(upstream, downstream, anchors, chance)) - downstream, 0.0)


@dataclass(frozen=True, repr=False, eq=False)
class HullOverlay:
    """Models on the hull of one task, seen on the hulls of others. Made by `overlay_hull`.

    Attributes:
        table: a row for each other task and model; see `overlay_hull`.
        trend: a row for each other task: mean gap over the models, in the lower and in the upper half of their upstream
            accuracies, and Spearman's correlation of gap and upstream accuracy (nan where all gaps are equal).
        of: the task whose hull the models are on.
        upstream: accuracies of all models, shape (n,).
        downstream: by task, accuracies of all models, `of` among them.
        anchors: of the hulls.
    """

    table: pd.DataFrame
    trend: pd.DataFrame
    of: str
    upstream: np.ndarray
    downstream: dict[str, np.ndarray]
    anchors: str | Sequence[str]

    def summary(self) -> str:
        """The trend of the gap on each task."""
        return f"models on the hull of {self.of}, below the hull of\n{self.trend.to_string(index=False)}"

    def __repr__(self) -> str:
        return self.summary()


def overlay_hull(
    records: pd.DataFrame, tasks: Sequence[str], *, of: str, upstream: str = "upstream_error",
    anchors: str | Sequence[str] = "none",
) -> HullOverlay:  # fmt: skip
    """Take the models on the hull of one task, and see how far below the hulls of other tasks they are.

    Args:
        records: a row a model, as `read_records` returns.
        tasks: columns of downstream errors, such as "pets_10shot_error".
        of: the column of the task whose hull's models are taken, up to its best one.
        upstream: the column of upstream errors.
        anchors: of the hulls, "none" or "flat_right", as in `hull_distance`.

    Returns:
        In its `table`: `task, model` (place among the finished rows), `upstream_accuracy, downstream_accuracy,
        hull_accuracy, gap`.

    Raises:
        ValueError: a column that is missing or holds what is no fraction; no task beside `of`.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Figures 7 and 30: the gap shrinks as upstream accuracy grows.

    >>> import pandas as pd
    >>> runs = pd.DataFrame({"upstream_error": [0.9, 0.6, 0.5], "a": [0.8, 0.4, 0.3], "b": [0.9, 0.7, 0.5]})
    >>> overlay_hull(runs, ["b"], of="a").table[["model", "gap"]].round(3).values.tolist()
    [[0.0, 0.0], [1.0, 0.1], [2.0, 0.0]]
    """
    import pandas as pd

    records = records[finished_rows(records)]
    check_columns(records, of)
    names = [task for task in check_names("tasks", tasks, records) if task != of]
    if not names:
        raise ValueError(f"tasks must be a list of columns, one or more of them not {of!r}, got {tasks!r}")
    us = 1 - check_fractions(upstream, column_of(records, upstream))
    downstream = {name: 1 - check_fractions(name, column_of(records, name)) for name in (of, *names)}
    models = select(us, 1 - downstream[of], "convex_hull")
    rows = []
    for name in names:
        ds = downstream[name]
        gap = hull_distance(us, ds, anchors=anchors)[models]
        rows += [
            {"task": name, "model": model, "upstream_accuracy": us[model], "downstream_accuracy": ds[model],
             "hull_accuracy": ds[model] + below, "gap": below}
            for model, below in zip(models.tolist(), gap, strict=True)
        ]  # fmt: skip
    table = pd.DataFrame(rows)
    trend = pd.DataFrame([_trend(str(name), part) for name, part in table.groupby("task", sort=False)])
    return HullOverlay(table, trend, of, us, downstream, anchors)


def _trend(task: str, part: pd.DataFrame) -> dict[str, Any]:
    us, gap = part["upstream_accuracy"].to_numpy(), part["gap"].to_numpy()
    lower = us <= np.median(us)
    upper_gap = float(gap[~lower].mean()) if not lower.all() else float("nan")
    head = {"task": task, "num_models": us.size, "mean_gap": float(gap.mean())}
    return head | {
        "lower_half_gap": float(gap[lower].mean()),
        "upper_half_gap": upper_gap,
        "spearman": spearman(us, gap),
    }
