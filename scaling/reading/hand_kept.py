"""What to ask of tables that people keep by hand: columns that lack, slips of the pen, rows that are no runs."""

from collections.abc import Container, Iterable
from difflib import get_close_matches

import pandas as pd

from ..errors import issue
from ..groups import warn_of_spelled_alike
from ..schema import KEY, RECORDS
from .checks import REQUIRED

__all__ = ["check_required", "is_of_finished_runs", "warn_of_near_names", "warn_of_spellings", "warn_of_sums"]

_NAMED_COLUMNS = 12  # of those that there are, in a message
_NEAR = 0.85  # of two names that are 1 where they are the same: num_param and num_params
_NO_LABELS = ("run_id", "source", "failure", "trunk_id", "host", "torch_version", "git_commit")
_MOST_LABELS = 1000  # more are names of rows, not of groups
_SUMS = ("total", "sum", "mean", "average", "avg", "median", "summe", "gesamt", "mittelwert", "durchschnitt", "moyenne")


def is_of_finished_runs(frame: pd.DataFrame) -> bool:
    """Whether what the key of records lacks in a table is plain: a row a run, or one step of a run that is named."""
    return any(name not in frame for name in KEY) and ("run_id" in frame or "step" not in frame)


def check_required(frame: pd.DataFrame) -> None:
    """One line of the columns that records must have, what there is, and how to say which is which."""
    missing = [name for name in REQUIRED["records"] if name not in frame]
    if not missing:
        return
    if "upstream_error" in missing and is_of_finished_runs(frame):
        missing = ["upstream_error"]
    there = ", ".join(str(name) for name in list(frame)[:_NAMED_COLUMNS]) or "none"
    more = f" and {len(frame.columns) - _NAMED_COLUMNS} more" if len(frame.columns) > _NAMED_COLUMNS else ""
    which = f"column {missing[0]} is" if len(missing) == 1 else f"columns {', '.join(missing)} are"
    raise ValueError(
        f"bad records: {which} missing; there is {there}{more}. Say what upstream_error is in your table: "
        "columns={'upstream_error': '1 - top1 / 100'}, at a terminal --column 'upstream_error=1 - top1 / 100'; "
        "run_id, step, weights may then be missing"
    )


def warn_of_sums(records: pd.DataFrame) -> None:
    """Spreadsheets end with a row of sums, which is no run."""
    last = str(records["run_id"].iloc[-1]) if len(records) else ""
    if last.strip(" :").lower() in _SUMS:
        way = f"where={f'run_id != {last!r}'!r}"
        issue(UserWarning(f"the last row, {last!r}, seems to sum up the others; {way} leaves it out"))


def warn_of_near_names(made: Iterable[str], there: Container[str]) -> None:
    """A new column that is called nearly as one of records, which the table has not: a slip, or a name of its own."""
    for name in made:
        near = get_close_matches(
            name.strip().lower().replace(" ", "_"), [each for each in RECORDS if each not in there], 1, _NEAR
        )
        if near and name not in RECORDS:
            issue(UserWarning(f"columns has {name!r}, which is no column of records: is {near[0]!r} meant?"))


def warn_of_spellings(records: pd.DataFrame) -> None:
    """Labels that differ in their spelling alone: each would be a group of its own."""
    for name in records:
        if name in _NO_LABELS or not pd.api.types.is_string_dtype(records[name]):
            continue
        labels = records[name].dropna().unique()
        if len(labels) <= _MOST_LABELS:
            warn_of_spelled_alike(f"column {name!r}", labels)
