"""Arithmetic over columns, `1 - top1 / 100`, evaluated node by node: nothing else in it can run."""

import ast
import re
import warnings
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pandas as pd

from ..errors import issue
from ..frames import as_numbers, check_columns
from .cell_numbers import NUMBER
from .checks import percent_hint

__all__ = ["evaluate"]

_MOST_CHARACTERS = 1000
_ALLOWED = "columns, numbers, + - * / ** ( ) and exp, log, log10, sqrt"
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide, ast.Pow: np.power,
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.USub: np.negative, ast.UAdd: np.positive}
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {"exp": np.exp, "log": np.log, "log10": np.log10, "sqrt": np.sqrt}
_REFUSED = {
    ast.Attribute: "an attribute", ast.Call: "a call", ast.Subscript: "a subscript", ast.Compare: "a comparison",
    ast.BoolOp: "and/or", ast.IfExp: "a condition", ast.Lambda: "a function", ast.Constant: "a text or constant",
    ast.BinOp: "an operator", ast.UnaryOp: "an operator", ast.Tuple: "a comma",
}  # fmt: skip
_NEAR = 2  # how far beyond the other percents one may lie that is written as a fraction


def evaluate(frame: pd.DataFrame, expression: str) -> np.ndarray:
    """An arithmetic expression over columns as float64, shape (rows,), NaN where one of its columns has no value.

    Raises:
        ValueError: what is no column, no number or not allowed, or the first row that is not finite.

    >>> evaluate(pd.DataFrame({"top 1": [80.0, 90.0]}), "1 - `top 1` / 100")
    array([0.2, 0.1])
    """
    tree, quoted = _parsed(expression)
    percent = frame.attrs.get("percent", ())
    used: dict[str, np.ndarray] = {}

    def value(node: ast.AST) -> Any:
        match node:
            case ast.Constant(value=bool() | complex()):
                raise _refusal(node)
            case ast.Constant(value=int() | float() as number):
                return _number(number)
            case ast.Name(id=name):
                name = quoted.get(name, name)
                if name not in used:
                    used[name] = _numbers(frame, name)
                    _check_percent(name, used[name], percent, tree)
                return used[name]
            case ast.BinOp(op=op) if type(op) in _BINARY:
                return _BINARY[type(op)](value(node.left), value(node.right))
            case ast.UnaryOp(op=op) if type(op) in _UNARY:
                return _UNARY[type(op)](value(node.operand))
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _FUNCTIONS:
                return _FUNCTIONS[name](value(argument))
        raise _refusal(node)

    try:
        with np.errstate(all="ignore"):
            numbers = np.broadcast_to(np.asarray(value(tree), dtype=float), (len(frame),)).copy()
    except RecursionError:
        raise _no_expression() from None
    _check_finite(numbers, used)
    return numbers


def _parsed(expression: str) -> tuple[ast.expr, dict[str, str]]:
    """The tree, and the columns that stand in backticks by the names they have in it."""
    if len(expression) > _MOST_CHARACTERS:
        raise ValueError(f"an expression has at most {_MOST_CHARACTERS} characters, got {len(expression)}")
    quoted: dict[str, str] = {}

    def plain(found: re.Match) -> str:
        name = f"_quoted_{len(quoted)}_"
        quoted[name] = found[1]
        return f" {name} "

    words = re.sub("`([^`]*)`", plain, expression).strip()
    try:
        with warnings.catch_warnings(action="ignore"):  # "1or 2" is refused below
            return ast.parse(words, mode="eval").body, quoted
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _no_expression() from None


def _no_expression() -> ValueError:
    return ValueError(f"this is no column and no expression of {_ALLOWED}; odd names stand in `backticks`")


def _refusal(node: ast.AST) -> ValueError:
    what = _REFUSED.get(type(node), type(node).__name__)
    return ValueError(f"{what} ({ast.unparse(node)[:60]}) is not allowed: only {_ALLOWED}")


def _number(number: float) -> np.float64:
    try:
        return np.float64(number)
    except OverflowError:
        raise ValueError("a number is too large") from None


def _numbers(frame: pd.DataFrame, name: str) -> np.ndarray:
    check_columns(frame, name)
    values = frame[name]
    if pd.api.types.is_datetime64_any_dtype(values) or pd.api.types.is_timedelta64_dtype(values):
        raise ValueError(f"column {name!r} must hold numbers, it holds times")
    numbers = as_numbers(values)
    bad = values[np.isnan(numbers) & values.notna().to_numpy()]
    if len(bad):
        raise ValueError(f"column {name!r} must hold numbers; {_no_number(values.reset_index(drop=True), bad)}")
    return numbers


def _no_number(values: pd.Series, bad: pd.Series) -> str:
    """Which cells keep a column from being numbers: of all that are none by themselves, where some are none anyhow."""
    cells = values.dropna().astype(str).str.strip()
    forms = {point: cells[cells.str.match(pattern)] for point, pattern in NUMBER.items()}
    never = cells.drop(forms["."].index.union(forms[","].index))
    if not never.empty:
        return f"row {never.index[0]} is {never.iloc[0][:60]!r} ({len(never)} such)"
    points, commas = (forms[one].drop(forms[other].index, errors="ignore") for one, other in (".,", ",."))
    if not points.empty and not commas.empty:
        first = f"row {commas.index[0]} is {commas.iloc[0]!r}, row {points.index[0]} is {points.iloc[0]!r}"
        return f"{first}: a decimal comma and a decimal point"
    return f"row {bad.index[0]} is {str(bad.iloc[0])[:60]!r} ({len(bad)} such){percent_hint(bad)}"


def _check_percent(name: str, values: np.ndarray, percent: Collection[str], tree: ast.expr) -> None:
    """1 - 76.5% / 100 would pass for an error, and so would 1 - 0.765 / 100 beside 1 - 78.3 / 100."""
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    if not any(number in (100, 0.01) for number in constants):
        return
    if name in percent:
        raise ValueError(f"column {name!r} is written with % and is a fraction already, 23% is 0.23: leave out the 100")
    small, large = np.flatnonzero((values > 0) & (values <= 1)), values[values > 1]
    if small.size and large.size and _are_fractions_of(values[small], large):
        issue(
            UserWarning(
                f"column {name!r} seems to mix percent and fractions: row {small[0]} is {values[small[0]]:g},"
                f" others are {large.min():g} to {large.max():g} ({small.size} such)"
            )
        )


def _are_fractions_of(small: np.ndarray, large: np.ndarray) -> bool:
    """Whether small values would be among the large ones as percent; an error of .5 % beside one of 3 % would not."""
    return 100 * small.min() >= large.min() / _NEAR and 100 * small.max() <= large.max() * _NEAR


def _check_finite(numbers: np.ndarray, used: dict[str, np.ndarray]) -> None:
    """A division by zero is no missing value."""
    given = np.ones(len(numbers), dtype=bool)
    for values in used.values():
        given &= ~np.isnan(values)
    bad = np.flatnonzero(given & ~np.isfinite(numbers))
    if bad.size:
        of = ", ".join(f"{name} = {values[bad[0]]:g}" for name, values in used.items())
        raise ValueError(f"the result must be finite; row {bad[0]} is {numbers[bad[0]]} ({of}; {bad.size} such)")
