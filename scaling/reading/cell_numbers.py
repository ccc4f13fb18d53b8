"""Cells of text into numbers: decimal commas, thousands separators and percent, decided from a whole table.

"1,234" by itself is 1.234 or 1234. Cells that can be read one way only ("0,5", "1,013.01") say which is the decimal
separator of the table; where none says so, the table is refused.
"""

from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute

__all__ = ["NO_VALUE", "NUMBER", "check_decimal", "percent_columns", "trimmed", "typed_columns", "typed_frame"]

# pyarrow makes the functions of `compute` at run time.
pc: Any = pyarrow.compute

# What spreadsheets and programs write where there is no value.
NO_VALUE = (
    "", "-", "–", "—", "NA", "N/A", "n/a", "n.a.", "#N/A", "<NA>", "nan", "NaN", "NAN", "-nan", "null", "NULL", "Null",
    "None", "#NA", "#NV", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "NaT",
)  # fmt: skip

_SIGN = "[+\\-−]?"
_BLANK = "[ \u00a0\u2009\u202f]"
_FEW = 1000  # cells that tell most columns of words
_TRUE, _FALSE = ("true", "false")


def _number_pattern(point: str, other: str) -> str:
    """Numbers whose decimals begin after `point`: 1013.01, 1,013.01, 1 013.01, 1'013.01, .5, 1e9, 23.4 %."""
    grouped = "|".join(rf"[1-9]\d{{0,2}}(?:{separator}\d{{3}})+" for separator in (other, _BLANK, "['’]"))
    plain = rf"(?:\d+(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"
    return rf"^{_SIGN}(?:(?:{grouped})(?:{point}\d*)?|{plain}){_BLANK}?%?$"


NUMBER = {".": _number_pattern(r"\.", ","), ",": _number_pattern(",", r"\.")}
_TWO_WAYS = rf"^{_SIGN}[1-9]\d{{0,2}}[.,]\d{{3}}{_BLANK}?%?$"
_OTHER = {".": ",", ",": "."}
_LEADING_ZERO = r"^[+-]?0[\dxX]"


class _Column(NamedTuple):
    """A column's cells, or its values where they are known.

    `form` is "." or "," where a cell can be read with this decimal separator only, "" where all can be read one way,
    "?" where some can be read two ways, "text" where they are no numbers; `example` is a cell that says so.
    """

    cells: pa.ChunkedArray
    form: str
    example: str = ""


def check_decimal(decimal: str | None) -> None:
    if decimal is not None and not (isinstance(decimal, str) and decimal in (".", ",")):
        raise ValueError(f"decimal must be '.', ',' or None (found out), got {decimal!r}")


def trimmed(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts without blanks around them, null where they say that there is no value."""
    cells = pc.utf8_trim_whitespace(cells)
    return pc.if_else(pc.is_in(cells, pa.array(NO_VALUE)), None, cells)


def percent_columns(columns: dict[str, pa.ChunkedArray]) -> list[str]:
    """Names of the columns whose first value has a percent sign."""
    first = {name: column.slice(0, _FEW).drop_null() for name, column in columns.items()}
    return [name for name, cells in first.items() if len(cells) and cells[0].as_py().endswith("%")]


def typed_frame(frame: pd.DataFrame, decimal: str | None = None) -> pd.DataFrame:
    """A frame whose columns of texts that are all numbers are numbers, as `typed_columns` reads them.

    `attrs["percent"]` names the columns with percent signs.
    """
    texts = {}
    for name in frame.columns:
        if pd.api.types.infer_dtype(frame[name], skipna=True) == "string":
            texts[name] = trimmed(pa.chunked_array([pa.array(frame[name], pa.string(), from_pandas=True)]))
    percent = percent_columns(texts)
    found = {
        name: pd.Series(values.to_pandas().to_numpy(), index=frame.index)
        for name, values in typed_columns(texts, decimal, point_is_usual=True).items()
        if not pa.types.is_string(values.type)
    }
    frame = frame.assign(**found)
    frame.attrs["percent"] = percent
    return frame


def typed_columns(
    columns: dict[str, pa.ChunkedArray], decimal: str | None = None, *, point_is_usual: bool = False
) -> dict[str, pa.ChunkedArray]:
    """Each column of texts as int64, float64 (percent as fractions) or bool where all its cells are such.

    A column in which "12" and "0012" both stand holds names, and stays text.

    Args:
        columns: trimmed texts by name, null where there is no value. It is emptied, which frees the memory.
        decimal: how cells that can be read two ways are read; None finds it out from the other cells.
        point_is_usual: cells like "1.234" have a decimal point where nothing in the table says otherwise.

    Raises:
        ValueError: cells can be read two ways and no other cell of the table says which, or two columns contradict.

    >>> texts = {"params": ["1,013.01", "86,500"], "error": ["23.4%", None], "model": ["a", "7"]}
    >>> found = typed_columns({name: pa.chunked_array([cells]) for name, cells in texts.items()})
    >>> found["params"].to_pylist(), found["error"].to_pylist(), found["model"].to_pylist()
    ([1013.01, 86500.0], [0.23399999999999999, None], ['a', '7'])
    """
    check_decimal(decimal)
    found = {name: _read_column(columns.pop(name)) for name in list(columns)}
    decimal = decimal or _decimal_of(found, point_is_usual)
    return {name: _values(column, decimal) for name, column in found.items()}


def _read_column(cells: pa.ChunkedArray) -> _Column:
    if cells.null_count == len(cells):
        return _Column(cells.cast(pa.float64()), "")
    for kind in (pa.int64(), pa.float64()):
        try:
            values = cells.cast(kind)
        except pa.ArrowInvalid:
            continue
        return _read_plain(cells, values)
    return _read_words(cells.drop_null(), cells)


def _read_plain(cells: pa.ChunkedArray, values: pa.ChunkedArray) -> _Column:
    """Cells that are numbers to a program: with a decimal point, which may be a separator of thousands."""
    if pa.types.is_integer(values.type):
        return _Column(cells, "text") if _merges_ids(cells, values) else _Column(values, "")
    pointed = cells.filter(pc.match_substring(cells, ".").fill_null(False))
    if len(pointed) == 0:
        return _Column(values, "")
    example = _first_that_fails(pointed, _TWO_WAYS)
    return _Column(values, ".", example) if example is not None else _Column(cells, "?", pointed[0].as_py())


def _merges_ids(cells: pa.ChunkedArray, values: pa.ChunkedArray) -> bool:
    """Whether "12" and "0012", which are two names, would become one number, or "0x10" the number 16."""
    if not pc.any(pc.match_substring_regex(cells, _LEADING_ZERO)).as_py():
        return False
    if pc.any(pc.match_substring(cells, "x", ignore_case=True)).as_py():
        return True
    return pc.count_distinct(cells).as_py() > pc.count_distinct(values).as_py()


def _read_words(given: pa.ChunkedArray, cells: pa.ChunkedArray) -> _Column:
    head = given.slice(0, _FEW)
    if all(_first_that_fails(head, pattern) is not None for pattern in NUMBER.values()):
        return _Column(_flags(given, cells), "text")
    fails = {point: _first_that_fails(given, pattern) for point, pattern in NUMBER.items()}
    points = [point for point, example in fails.items() if example is None]
    if len(points) == 2:
        unsure = given.filter(pc.match_substring_regex(given, _TWO_WAYS))
        return _Column(cells, "?", unsure[0].as_py()) if len(unsure) else _Column(cells, "")
    if not points:
        return _Column(cells, "text")
    return _Column(cells, points[0], fails[_OTHER[points[0]]] or "")


def _first_that_fails(cells: pa.ChunkedArray, pattern: str) -> str | None:
    place = pc.index(pc.match_substring_regex(cells, pattern), False).as_py()
    return None if place < 0 else cells[place].as_py()


def _flags(given: pa.ChunkedArray, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    words = pa.array([_TRUE, _FALSE])
    if not all(pc.all(pc.is_in(pc.utf8_lower(part), words)).as_py() for part in (given.slice(0, _FEW), given)):
        return cells
    return pc.equal(pc.utf8_lower(cells), _TRUE)


def _decimal_of(found: dict[str, _Column], point_is_usual: bool) -> str:
    said: dict[str, tuple[str, str]] = {}
    for name, column in found.items():
        if column.form in NUMBER:
            said.setdefault(column.form, (name, column.example))
    if len(said) == 2:
        (one, first), (two, second) = said.values()
        raise ValueError(
            f"columns {one!r} ({first!r}) and {two!r} ({second!r}) have different decimal separators: say with"
            " decimal='.' or decimal=',' how cells like '1,234' are to be read"
        )
    unsure = {name: column.example for name, column in found.items() if column.form == "?"}
    if said or not unsure or (point_is_usual and all("," not in example for example in unsure.values())):
        return next(iter(said), ".")
    name, cell = next(iter(unsure.items()))
    raise ValueError(
        f"column {name!r} can be read two ways: {cell!r} has decimals or thousands, and no other cell says which;"
        " give decimal='.' or decimal=','"
    )


def _values(column: _Column, decimal: str) -> pa.ChunkedArray:
    """Cells that can be read one way only are, whatever separator the rest of the table has."""
    if column.form == "text" or not pa.types.is_string(column.cells.type):
        return column.cells
    point = column.form if column.form in NUMBER else decimal
    percent = pc.ends_with(column.cells, "%")
    is_percent = pc.any(percent).as_py()
    if is_percent and not pc.all(percent).as_py():
        return column.cells  # 23 beside 45%: whoever uses the column is told
    plain = pc.replace_substring_regex(column.cells, rf"[%'’+{_OTHER[point]}]|{_BLANK}", "")
    plain = pc.replace_substring(pc.replace_substring(plain, "−", "-"), point, ".")
    try:
        values = plain.cast(pa.int64())
    except pa.ArrowInvalid:
        values = plain.cast(pa.float64())
    return pc.divide(values.cast(pa.float64()), 100.0) if is_percent else values
