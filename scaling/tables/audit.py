"""Audit a table: what is printed against what follows from its own rows, and whether rounding can explain it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..frames import check_columns, check_names
from ..inputs import check_choice, check_same_index, numbers
from .labels import check_unique, labelled_row
from .rounding import float_slack, half_unit, mean_rounding, printed_decimals

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CHECKS", "audit_repeats", "audit_signs", "audit_summary", "audit_values", "checks_table", "contradictions"]

CHECKS = ("kind", "where", "printed", "follows", "difference", "tolerance", "is_consistent", "detail")
_STATISTICS = {"mean": np.mean, "median": np.median, "sum": np.sum}


def audit_values(
    printed: Any, follows: ArrayLike, *, where: Sequence[Any] | None = None, follows_tolerance: ArrayLike = 0.0,
    kind: str = "value", detail: str = "",
) -> pd.DataFrame:  # fmt: skip
    """Printed numbers against what they should be.

    Args:
        printed: numbers or strings as printed ("0.730"), shape (n,); of a string the decimals are known.
        follows: what follows from other printed numbers, unrounded, shape (n,).
        where: names of the n checks; without, the index of `printed` where it has one.
        follows_tolerance: how far `follows` may be off because its own inputs were rounded, one number or one a check.
        kind, detail: for the columns of that name.

    Returns:
        A row a check, columns `CHECKS`: `tolerance` is half a unit of the last printed decimal and `follows_tolerance`;
        `is_consistent` where the difference is no larger, so that rounding can explain it.

    Raises:
        ValueError: shapes or the indices of Series differ, a value is not a finite number, or a tolerance is negative.

    >>> audit_values(["0.24", "0.23"], [0.24, 0.24], where=["ours", "theirs"]).is_consistent.tolist()
    [True, False]
    """
    import pandas as pd

    check_same_index(printed=printed, follows=follows)
    printed = [printed] if isinstance(printed, str) else printed
    where = list(printed.index) if where is None and isinstance(printed, pd.Series) else where
    values = _finite("printed", printed)
    expected = _finite("follows", follows)
    if values.shape != expected.shape:
        raise ValueError(f"printed and follows must be equally long, got {values.shape} and {expected.shape}")
    tolerance = half_unit(printed_decimals(printed)) + _tolerances(follows_tolerance, values.size)
    consistent = np.abs(values - expected) <= tolerance + float_slack(values, expected)
    return checks_table(kind, where, values, expected, tolerance, consistent, [detail] * values.size)


def audit_summary(
    table: Any, printed: Any, groups: Mapping[Any, Sequence[Any]], *, statistic: str = "mean", exact: bool = False
) -> pd.DataFrame:
    """Printed means, medians or sums of groups of tasks against the values of the tasks.

    The values were rounded too: a mean of them can be off by their rounding, see `mean_rounding`; a sum by so much
    times their number; a median by half a unit.

    Args:
        table: the printed values, a row a model and a column a task, as in `group_means`; of one model a Series by
            task.
        printed: the printed summaries, a row a model with the labels of `table` and a column a group; of one model a
            Series by group.
        groups: group -> its tasks, for each group to check.
        statistic: "mean", "median" or "sum".
        exact: values and summaries are not rounded, such as counts.

    Returns:
        A row for each model and group, columns `CHECKS`; `where` is the group and the model.

    Raises:
        ValueError: a task, a group or a model is missing or occurs twice, tasks or groups label the rows, an unknown
            statistic, or a value is not a finite number.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"pets": [0.93], "dtd": [0.66], "svhn": [0.72]}, index=["ViT"])
    >>> printed = pd.DataFrame({"mean": ["0.77"], "all": ["0.70"]}, index=["ViT"])
    >>> checks = audit_summary(table, printed, {"mean": table.columns, "all": table.columns})
    >>> checks.is_consistent.tolist(), checks.follows.round(3).tolist()
    ([True, False], [0.77, 0.77])
    """
    import pandas as pd

    check_choice("statistic", statistic, _STATISTICS)
    if isinstance(table, pd.Series) != isinstance(printed, pd.Series):
        raise ValueError("table and printed must both be a Series or both a DataFrame")
    if not isinstance(groups, Mapping) or not groups:
        raise ValueError(f"groups must name at least one group of tasks, got {groups!r}")
    members = {group: check_names(f"group {group!r}", tasks) for group, tasks in groups.items()}
    if isinstance(table, pd.Series):
        return _summary("", table, printed, members, statistic, exact)
    check_unique(table, "a row a model")
    check_unique(printed, "a row a model")
    _check_orientation("table", table, [task for tasks in members.values() for task in tasks])
    _check_orientation("printed", printed, list(members))
    if not len(table):
        raise ValueError("table must have at least one row, got none")
    beside = [labelled_row(printed, label) for label in table.index]
    checks = [
        _summary(label_text(label), table.iloc[row], printed.iloc[other], members, statistic, exact)
        for row, (label, other) in enumerate(zip(table.index, beside, strict=True))
    ]
    return pd.concat(checks, ignore_index=True)


def _check_orientation(name: str, frame: pd.DataFrame, labels: list[Any]) -> None:
    if not any(label in frame.columns for label in labels) and any(label in frame.index for label in labels):
        raise ValueError(f"{name} must have a row a model, but {labels[0]!r} is a row; pass it transposed: {name}.T")


def _summary(
    name: str, values: pd.Series, printed: pd.Series, groups: Mapping[Any, list[Any]], statistic: str, exact: bool
) -> pd.DataFrame:
    places = {group: [_place(values, label, group) for label in members] for group, members in groups.items()}
    of_groups = sorted({place for members in places.values() for place in members})
    known, halves = np.full(len(values), np.nan), np.full(len(values), np.nan)
    known[of_groups] = _finite(f"values of {name}" if name else "values", values.iloc[of_groups])
    halves[of_groups] = half_unit(printed_decimals(values.iloc[of_groups].to_numpy(dtype=object)))
    shown = [printed.iloc[_place(printed, group, "printed")] for group in groups]
    expected = [_STATISTICS[statistic](known[of]) for of in places.values()]
    tolerance = [0.0 if exact else _rounding(statistic, halves[of]) for of in places.values()]
    where = [f"{label_text(group)} {name}".strip() for group in groups]
    checks = audit_values(shown, expected, where=where, follows_tolerance=tolerance, kind="summary")
    if exact:
        equal = checks["difference"].abs() <= float_slack(checks["printed"], checks["follows"])
        checks = checks.assign(tolerance=0.0, is_consistent=equal)
    return checks.assign(detail=[f"{statistic} of {len(members)} tasks" for members in groups.values()])


def _rounding(statistic: str, halves: np.ndarray) -> float:
    if statistic == "median":
        return float(halves.max())
    return mean_rounding(halves) * (halves.size if statistic == "sum" else 1)


def audit_signs(values: Any, claimed: Mapping[Any, int]) -> pd.DataFrame:
    """Entries against a sentence about their signs.

    An entry of the other sign is consistent only where it is a 0 that was rounded away from.

    Args:
        values: a DataFrame with a column for each claim, rows labelled, or one row of it as a Series; nulls are left
            out.
        claimed: column -> 1 (positive) or -1 (negative).

    Returns:
        A row an entry, columns `CHECKS`; `follows` is 0, the bound, and `difference` how far beyond it the entry lies.

    Raises:
        ValueError: a column is missing, nothing is claimed, or a claim is not 1 or -1.

    >>> import pandas as pd
    >>> checks = audit_signs(pd.DataFrame({"k": [-0.78, 0.72]}, index=["caltech", "cars"]), {"k": -1})
    >>> checks[~checks.is_consistent]["where"].tolist()
    ['cars k']
    """
    import pandas as pd

    if not isinstance(claimed, Mapping) or not claimed:
        raise ValueError(f"claimed must name at least one column and its sign, got {claimed!r}")
    if isinstance(values, pd.Series):
        values = values.to_frame("" if values.name is None else values.name).T
    check_columns(values, *claimed)
    parts = []
    for name, sign in claimed.items():
        if sign not in (1, -1):
            raise ValueError(f"a claimed sign must be 1 or -1, got {sign!r} for {name!r}")
        column = values[name].dropna()
        printed = _finite(str(name), column)
        beyond = np.where(sign * printed < 0, printed, 0.0)
        tolerance = half_unit(printed_decimals(column.to_numpy(dtype=object)))
        where = [f"{label_text(label)} {name}".strip() for label in column.index]
        details = ["said to be " + ("positive" if sign > 0 else "negative")] * len(where)
        consistent = np.abs(beyond) <= tolerance
        parts.append(checks_table("sign", where, printed, np.zeros(len(where)), tolerance, consistent, details, beyond))
    return pd.concat(parts, ignore_index=True)


def audit_repeats(entries: Sequence[tuple[Any, Any, Any]]) -> pd.DataFrame:
    """One quantity printed in several places: each later value against the first.

    Two different roundings of one number lie less than half a unit of each apart. Runs that differ do so for a reason
    that the table does not tell.

    Args:
        entries: (quantity, place, value) for each printing, in one unit a quantity; strings keep their decimals.

    Returns:
        A row for each second and later printing, columns `CHECKS`: `printed` there, `follows` the first one.

    Raises:
        ValueError: a value is not a finite number.

    >>> checks = audit_repeats([("lr", "section 4", "0.0008"), ("lr", "appendix", "0.008")])
    >>> checks[["where", "printed", "follows", "is_consistent"]].to_numpy().tolist()
    [['lr', 0.008, 0.0008, False]]
    """
    import pandas as pd

    first: dict[Any, tuple[Any, Any]] = {}
    none = np.zeros(0)
    parts = [checks_table("repeat", [], none, none, none, none, [])]
    if not isinstance(entries, Iterable) or not all(isinstance(entry, tuple) and len(entry) == 3 for entry in entries):
        raise ValueError(f"entries must be a list of (quantity, place, value), got {entries!r}")
    for quantity, place, value in entries:
        if quantity not in first:
            first[quantity] = place, value
            _finite(str(quantity), [value])
            continue
        other_place, other = first[quantity]
        half = half_unit(printed_decimals([other]))
        detail = f"{label_text(place)} against {label_text(other_place)}"
        check = audit_values(
            [value], _finite(str(quantity), [other]), where=[label_text(quantity)], follows_tolerance=half,
            kind="repeat", detail=detail,
        )  # fmt: skip
        equal = check["difference"].abs() < check["tolerance"] - float_slack(check["printed"], check["follows"])
        parts.append(check.assign(is_consistent=equal | (check["difference"] == 0)))
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def contradictions(*checks: pd.DataFrame) -> pd.DataFrame:
    """The checks of one or several audits that rounding cannot explain.

    Raises:
        ValueError: no table of checks.

    >>> len(contradictions(audit_values(["0.24"], [0.24])))
    0
    """
    import pandas as pd

    if not checks:
        raise ValueError("contradictions needs the checks of at least one audit, got none")
    for check in checks:
        check_columns(check, *CHECKS)

    found = [check[~check["is_consistent"].astype(bool)] for check in checks]
    return pd.concat([part for part in found if len(part)] or found[:1], ignore_index=True)


def checks_table(
    kind: str, where: Sequence[Any] | None, printed: np.ndarray, follows: np.ndarray, tolerance: np.ndarray,
    is_consistent: np.ndarray, details: Sequence[str], difference: np.ndarray | None = None,
) -> pd.DataFrame:  # fmt: skip
    """The result of an audit: columns `CHECKS`."""
    import pandas as pd

    if isinstance(where, str) or not isinstance(where, Iterable | None):
        raise ValueError(f"where must be a list of names, got {where!r}")
    names = [f"entry {i}" for i in range(len(printed))] if where is None else [label_text(name) for name in where]
    if len(names) != len(printed):
        raise ValueError(f"where must name each of {len(printed)} checks, got {len(names)}")
    difference = printed - follows if difference is None else difference
    columns = (kind, names, printed, follows, difference, tolerance, np.asarray(is_consistent, dtype=bool), details)
    return pd.DataFrame(dict(zip(CHECKS, columns, strict=True)))


def label_text(label: Any) -> str:
    """A label of an index in words; of several levels, their values."""
    return " ".join(str(part) for part in label) if isinstance(label, tuple) else str(label)


def _place(series: pd.Series, label: Any, group: Any) -> int:
    labels = list(series.index)
    if labels.count(label) != 1:
        raise ValueError(f"{group!r} needs {label!r} once; it occurs {labels.count(label)} times")
    return labels.index(label)


def _finite(name: str, values: Any) -> np.ndarray:
    """Numbers, also of strings, shape (n,)."""
    flat = np.atleast_1d(np.asarray(values, dtype=object)).ravel()
    found = np.array([_number(value) for value in flat], dtype=float)
    bad = np.flatnonzero(~np.isfinite(found))
    if bad.size:
        raise ValueError(f"{name} must be finite numbers; entry {bad[0]} is {flat[bad[0]]}")
    return found


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):  # pd.NA, words
        return np.nan


def _tolerances(values: ArrayLike, size: int) -> np.ndarray:
    tolerance = numbers("follows_tolerance", values)
    if tolerance.shape not in ((), (size,)) or not (np.isfinite(tolerance) & (tolerance >= 0)).all():
        raise ValueError(f"follows_tolerance must be at least 0 and finite, shape () or {(size,)}, got {values!r}")
    return tolerance
