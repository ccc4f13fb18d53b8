"""A user's own columns under the names of records: `columns={"upstream_error": "1 - top1 / 100", "run_id": "model"}`.

An expression is arithmetic over columns, evaluated here node by node: nothing else in it can run.
"""

import ast
import re
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..errors import issue
from ..inputs import as_numbers, check_columns
from ..schema import KEY, RECORDS
from .cell_numbers import NUMBER, typed_frame
from .checks import REQUIRED, percent_hint

__all__ = ["as_kinds", "check_required", "is_of_finished_runs", "map_columns", "text_columns", "warn_of_sums"]

_MOST_CHARACTERS = 1000
_WHOLE = 1e-9  # 1e6 * 86.57 is 86570000.00000001: a count that is whole but for rounding
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
_NAMED_COLUMNS = 12  # of those that there are, in a message
_NEAR = 2  # how far beyond the other percents one may lie that is written as a fraction
_SUMS = ("total", "sum", "mean", "average", "avg", "median", "summe", "gesamt", "mittelwert", "durchschnitt", "moyenne")
_WORDS = {"true": True, "yes": True, "1": True, "1.0": True, "false": False, "no": False, "0": False, "0.0": False}


def map_columns(
    frame: pd.DataFrame,
    columns: Mapping[str, str],
    written: pd.DataFrame | None = None,
    *,
    decimal: str | None = None,
) -> pd.DataFrame:
    """The table with new columns, and the key of records where it has none.

    A value of `columns` is the exact name of a column; an expression over columns (+ - * / ** and parentheses,
    numbers, exp, log, log10, sqrt; a name that is no plain word stands in `backticks`); or, for a column of texts,
    several names joined by commas, whose values are joined by "@". All columns keep their own names too. A missing
    `run_id` is "row 0", "row 1", ..., a missing `step` 0, `weights` "last", `status` "ok", or "failed" where a trained
    model has no error.

    Args:
        frame: the user's table.
        columns: the value of each new column.
        written: the texts of columns of a csv that look like numbers. Without it texts of numbers in `frame`
            ("1,013.01", "23.4%") are numbers in an expression.
        decimal: "." or ",", for such texts that can be read two ways.

    Raises:
        ValueError: a name that is no column (near ones are told), an expression that is none, or one that is not finite
            in a row, or keys that repeat (a column that would tell them apart is told).

    >>> frame = pd.DataFrame({"model": ["a", "b"], "top1": [81.0, 83.0], "GMACs": [4.0, 8.0]})
    >>> map_columns(frame, {"run_id": "model", "upstream_error": "1 - top1 / 100"})[["run_id", "upstream_error"]]
      run_id  upstream_error
    0      a            0.19
    1      b            0.17
    """
    _check_texts(columns)
    if frame.columns.nlevels > 1:
        raise ValueError(f"columns must have one name each, got {tuple(frame.columns[0])!r}: join its levels")
    if repeated := list(frame.columns[frame.columns.duplicated()]):
        raise ValueError(f"{list(frame.columns).count(repeated[0])} columns are named {repeated[0]!r}")
    if written is None:
        texts, frame = frame, typed_frame(frame, decimal)
    else:
        texts = frame.assign(**{str(name): written[name] for name in written})
    made = {name: _column(frame, texts, name, value) for name, value in columns.items()}
    own = {str(name): texts[name] for name in frame if _kind(name) == "text" and name not in made}
    mapped = frame.assign(**own, **made)
    mapped.attrs.pop("percent", None)
    missing = {name: value for name, value in _missing_key(mapped).items() if name not in mapped}
    mapped = mapped.assign(**missing)
    if "status" not in mapped and "upstream_error" in mapped:
        mapped["status"] = _status(mapped)
    mapped = as_kinds(mapped)
    _check_keys(mapped, frame, columns)
    first = dict.fromkeys([*columns, *KEY])
    return mapped[[*first, *(name for name in mapped if name not in first)]]


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


def text_columns(columns: Mapping[str, str]) -> set[str]:
    """Names of a table's columns whose texts are asked for, among others: run_id "007" is no number."""
    _check_texts(columns)
    return {part for value in columns.values() for part in (value, *_parts(value))}


def as_kinds(frame: pd.DataFrame) -> pd.DataFrame:
    """With flags of records true or false where they are written as yes, no, 1 or the like, and counts and quantities
    numbers where they are written as "05" beside "5"."""
    made = {}
    for name in frame.columns:
        if _kind(name) == "flag" and frame[name].dtype != bool:
            words = frame[name].map(lambda value: _WORDS.get(str(value).strip().lower(), value), na_action="ignore")
            made[name] = words.astype(bool) if set(words) <= {True, False} else words.astype(object)
        elif name in RECORDS and _kind(name) not in ("text", "flag") and pd.api.types.is_string_dtype(frame[name]):
            numbers = pd.to_numeric(frame[name], errors="coerce")
            if (numbers.notna() | frame[name].isna()).all():
                made[name] = numbers
    return frame.assign(**made) if made else frame


# One column ---------------------------------------------------------------------------------------------------


def _check_texts(columns: Mapping[str, str]) -> None:
    for name, value in columns.items():
        if not isinstance(name, str) or not isinstance(value, str) or not name.strip() or not value.strip():
            raise ValueError(f"columns must be texts, such as {{'upstream_error': '1 - top1 / 100'}}, got {columns!r}")


def _kind(name: Any) -> str:
    return RECORDS[name].kind if name in RECORDS else "number"


def _parts(value: str) -> list[str]:
    """Names between commas, of which some stand in backticks."""
    return [part.strip().strip("`") for part in re.findall("(?:`[^`]*`|[^,`])+", value)]


def _column(frame: pd.DataFrame, texts: pd.DataFrame, name: str, value: str) -> pd.Series:
    parts = [value] if value in frame else _parts(value)
    if len(parts) == 1 and parts[0] in frame and _kind(name) != "text":
        return frame[parts[0]]
    if _kind(name) == "text" or (len(parts) > 1 and all(part in frame for part in parts)):
        check_columns(frame, *parts)
        return _joined([texts[part] for part in parts])
    try:
        numbers = evaluate(frame, value)
    except ValueError as error:
        raise ValueError(f"{name} = {value!r}: {error}{_odd_names(frame, value)}") from None
    if _kind(name) == "count":
        numbers = _whole(numbers)
    return pd.Series(numbers, index=frame.index)


def _odd_names(frame: pd.DataFrame, value: str) -> str:
    """The columns whose names stand in an expression and need backticks there."""
    bare = re.sub("`[^`]*`", "", value)
    odd = [name for name in frame if isinstance(name, str) and not name.isidentifier() and name in bare]
    return f"; is `{max(odd, key=len)}` meant, in backticks?" if odd else ""


def _joined(columns: list[pd.Series]) -> pd.Series:
    """Null where one of them is."""
    words = columns[0].astype("string")
    for column in columns[1:]:
        words = words + "@" + column.astype("string")
    return words.astype(object).where(words.notna(), None)


def _whole(numbers: np.ndarray) -> np.ndarray:
    whole = np.rint(numbers)
    numbers = np.where(np.abs(numbers - whole) <= _WHOLE * np.abs(whole), whole, numbers)
    exact = np.isfinite(numbers).all() and (np.abs(numbers) < 2**53).all() and (numbers == np.rint(numbers)).all()
    return numbers.astype(np.int64) if exact else numbers


# Expressions --------------------------------------------------------------------------------------------------


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


# The key ------------------------------------------------------------------------------------------------------


def _missing_key(frame: pd.DataFrame) -> dict[str, Any]:
    return {"run_id": [f"row {i}" for i in range(len(frame))], "step": 0, "weights": "last"}


def _status(frame: pd.DataFrame) -> np.ndarray:
    has_error = frame["upstream_error"].notna().to_numpy() | (as_numbers(frame["step"]) == 0)
    return np.where(has_error, "ok", "failed").astype(object)


def _check_keys(mapped: pd.DataFrame, frame: pd.DataFrame, columns: Mapping[str, str]) -> None:
    repeated = mapped.duplicated(list(KEY)).to_numpy()
    if not repeated.any():
        return
    row, value = int(np.argmax(repeated)), columns.get("run_id", "run_id")
    suggested = next((name for name in frame if isinstance(name, str) and _tells_apart(mapped, frame, name)), None)
    hint = f"run_id={f'{value},{suggested}'!r}" if suggested else "run_id='model,img_size'"
    raise ValueError(
        f"run_id, step, weights must not repeat; row {row} is the second with {mapped['run_id'].iloc[row]!r}"
        f" ({repeated.sum()} such): name several columns that tell the rows apart, columns={{...}} with {hint}"
    )


def _tells_apart(mapped: pd.DataFrame, frame: pd.DataFrame, name: str) -> bool:
    """Of measured numbers no name is made."""
    if name in KEY or pd.api.types.is_float_dtype(frame[name]):
        return False
    key = mapped[list(KEY)].assign(more=frame[name].astype(str))
    return not key.duplicated().any()
