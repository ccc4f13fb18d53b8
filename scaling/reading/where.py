"""Which rows of a table an expression of a user's keeps."""

import re
from tokenize import TokenError
from typing import Any

import numpy as np
import pandas as pd

from ..errors import first_line
from ..frames import there_is
from ..schema import RECORDS

__all__ = ["rows_where"]

# What may stand before a bracket in an expression that is true or false of each row by itself.
_ROW_WISE = {
    "and", "or", "not", "in", "isin", "isna", "notna", "isnull", "notnull", "between", "abs", "startswith", "endswith",
    "contains", "lower", "upper", "log", "log10", "exp", "sqrt",
}  # fmt: skip

# All ways in which pandas says that it cannot evaluate an expression.
_REFUSALS = (
    SyntaxError, TokenError, AssertionError, ArithmeticError, LookupError, TypeError, ValueError, NameError,
    AttributeError, NotImplementedError,
)  # fmt: skip


def rows_where(frame: pd.DataFrame, where: str | None) -> np.ndarray:
    """True for the rows of which an expression of pandas over columns holds; a null decides nothing: False.

    Raises:
        ValueError: the expression cannot be evaluated, or is neither true nor false.

    >>> rows_where(pd.DataFrame({"cooled_down": [True, None], "depth": [2, 3]}), "cooled_down and depth < 3")
    array([ True, False])
    """
    if where is None:
        return np.ones(len(frame), dtype=bool)
    _check_row_wise(where)
    flags = {name: "boolean" for name, column in RECORDS.items() if column.kind == "flag" and name in frame}
    try:
        truth: Any = frame.astype(flags).eval(where)
        return truth.astype("boolean").fillna(False).to_numpy(dtype=bool)
    except _REFUSALS as error:
        reason = first_line(error) + _near_columns(error, frame)
        raise ValueError(f"where must be true or false of each row, got {where!r}: {reason}") from error


def _near_columns(error: Exception, frame: pd.DataFrame) -> str:
    """Of a name that no column has."""
    unknown = re.search(r"name '(\w+)' is not defined", str(error))
    return f"; {there_is(frame.columns, unknown[1])}" if unknown else ""


def _check_row_wise(where: str) -> None:
    """Of rows that stream in batches nothing can be asked that needs all of them: a mean, a rank, the index."""
    if not isinstance(where, str):
        raise ValueError(f"where must be an expression over columns, got {where!r}")
    called = [name for name in re.findall(r"\b(\w+)\s*\(", where) if name not in _ROW_WISE]
    if called or re.search(r"\bindex\b|`", where):
        what = called[0] if called else "index or a quoted name"
        raise ValueError(f"where must be true or false of each row by itself, got {where!r} with {what}")
