"""Which rows of records a law can be fitted to, and how many are left out, by reason."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..frames import as_numbers, check_columns

__all__ = ["NEAR_CHANCE", "UsableRuns", "trainings", "usable_runs"]

NEAR_CHANCE = 0.95  # runs whose error is above this share of a guess's bend the law, which has no such plateau


@dataclass(frozen=True)
class UsableRuns:
    """Rows that a law can be fitted to, and the number of the others, by reason.

    Attributes:
        frame: the rows, with a new index.
        num_left_out: rows by the reason why they are left out, none of 0.
    """

    frame: pd.DataFrame
    num_left_out: dict[str, int]

    @property
    def left_out(self) -> str:
        """One line, "" where all rows are usable."""
        return ", ".join(f"{count} {reason}" for reason, count in self.num_left_out.items())


def usable_runs(runs: pd.DataFrame, x: str, y: str) -> UsableRuns:
    """Rows of finished runs with a positive x and y.

    Left out are runs that diverged or failed, rows from inside a run, rows without x or y or of 0, which has no
    logarithm, and upstream errors near that of a guess among `num_classes`.

    Args:
        runs: as `read_records` returns.
        x, y: columns of a cost and of an error.

    Raises:
        ValueError: there is no such column (near names are told), or no row is left.

    >>> runs = pd.DataFrame({"compute_flops": [1e9, 2e9], "upstream_error": [0.5, 0.0]})
    >>> usable_runs(runs, "compute_flops", "upstream_error").left_out
    '1 with upstream_error of 0, which has no logarithm'
    """
    check_columns(runs, x, y)
    at, error = (pd.Series(as_numbers(runs[name]), index=runs.index) for name in (x, y))
    reasons = {
        "not ok (diverged, failed)": ~_column(runs, "status", "ok").fillna("ok").eq("ok"),
        "from inside a run": _column(runs, "cooled_down", True).eq(False),
        f"without {x} or {y}": runs[x].isna() | runs[y].isna(),
        **{reason: is_so for name, values in ((x, at), (y, error)) for reason, is_so in _no_amount(name, values)},
        "near chance": _is_near_chance(runs, y),
    }
    kept, counts = pd.Series(True, index=runs.index), {}
    for reason, is_so in reasons.items():
        if num := int((kept & is_so).sum()):
            counts[reason] = num
        kept &= ~is_so
    found = UsableRuns(runs[kept].reset_index(drop=True), counts)
    if not kept.any():
        raise ValueError(f"no run to fit a law to, of {len(runs)} rows: {found.left_out or 'there are none'}")
    return found


def _no_amount(name: str, values: pd.Series) -> Iterator[tuple[str, Any]]:
    """Why a law, which takes positive numbers, takes some of the values that there are not."""
    yield f"whose {name} is no finite number", ~values.between(-np.inf, np.inf, inclusive="neither")
    yield f"with {name} of 0, which has no logarithm", values == 0
    yield f"with {name} below 0", values < 0


def trainings(runs: pd.DataFrame) -> pd.Series | None:
    """What is drawn together in a bootstrap: branches of one trunk; None where each run is a training of its own."""
    if "trunk_id" not in runs:
        return None
    groups = runs["trunk_id"].fillna(runs["run_id"])
    return groups if groups.duplicated().any() and groups.nunique() > 1 else None


def _column(runs: pd.DataFrame, name: str, missing: object) -> pd.Series:
    return runs[name] if name in runs else pd.Series(missing, index=runs.index)


def _is_near_chance(runs: pd.DataFrame, y: str) -> pd.Series:
    if y != "upstream_error" or "num_classes" not in runs:
        return pd.Series(False, index=runs.index)
    return runs[y] > NEAR_CHANCE * (1 - 1 / runs["num_classes"])
