"""Any csv that users have, as a table: separator, encoding and the form of its numbers are found out."""

import codecs
import csv
import gzip
import io
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from .cell_numbers import check_decimal, pc, percent_columns, trimmed, typed_columns

__all__ = ["is_csv", "read_csv_table"]

_SUFFIXES = (".csv", ".tsv", ".txt")
_SEPARATORS = (",", ";", "\t")
_HEAD_BYTES = 1 << 18  # of which the separator is found out
_HEAD_ROWS = 200
_CHUNK_BYTES = 1 << 20
_NOT_CP1252 = b"\x81\x8d\x8f\x90\x9d"
_BLOCK_BYTES = 1 << 23  # a row must fit in


def is_csv(path: Path) -> bool:
    """Whether a file is read as csv: by its suffix, also compressed by gzip.

    >>> is_csv(Path("runs.csv")), is_csv(Path("runs.TSV.gz")), is_csv(Path("runs.parquet"))
    (True, True, False)
    """
    return path.name.lower().removesuffix(".gz").endswith(_SUFFIXES)


def read_csv_table(
    path: Path, *, decimal: str | None = None, texts: Collection[str] = (), written: Collection[str] = ()
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table, and the columns among `written` as they are written ("007").

    Found out are the separator (, ; or tab), the encoding (UTF-8, UTF-16 or -32 with a byte-order mark, else cp1252),
    thousands separators and decimal commas; cells "23.4%" are fractions; "", "-", "NaN", "N/A" and the like are
    missing. A column is numbers where all its cells are. Rows and unnamed columns without a value are left out.

    Args:
        path: the file; its name may end in .gz.
        decimal: "." or ",", for cells that can be read two ways; None finds it out from the whole file.
        texts: names of columns that are no numbers, whatever they look like; those that the file lacks are ignored.
        written: names of columns whose texts are wanted too.

    Returns:
        The table, whose `attrs["percent"]` names the columns with percent signs, and the texts of those `written`.

    Raises:
        ValueError: no csv, a row longer than the header, a repeated name, or numbers that can be read two ways.
    """
    check_decimal(decimal)
    try:
        columns, separator = _text_columns(path)
    except (ValueError, OSError, EOFError, csv.Error) as error:  # pyarrow's and undecodable text are ValueErrors
        raise ValueError(f"{path} cannot be read as csv: {error}") from error
    asis = _frame({name: columns[name] for name in columns if name in written})
    names, percent = list(columns), percent_columns(columns)
    found = {name: columns.pop(name) for name in names if name in texts}
    try:
        found |= typed_columns(columns, decimal, point_is_usual=separator == ",")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    frame = _frame({name: found.pop(name) for name in names})
    frame.attrs["percent"] = percent
    return frame, asis


def _frame(columns: dict[str, pa.ChunkedArray]) -> pd.DataFrame:
    return pa.table(columns).to_pandas(split_blocks=True, self_destruct=True)


def _text_columns(path: Path) -> tuple[dict[str, pa.ChunkedArray], str]:
    """Trimmed cells by the names of the header, null where there is no value, and the separator."""
    encoding = _encoding(path)
    with _opened(path) as file:
        head = file.read(_HEAD_BYTES)
    lines = codecs.getincrementaldecoder(encoding)().decode(head).splitlines(keepends=True)
    said = lines[0].strip() if lines else ""  # a spreadsheet's own line "sep=;"
    num_skipped = int(said.startswith("sep=") and said[4:] in _SEPARATORS)
    lines = lines[num_skipped : -1 if len(head) == _HEAD_BYTES else None]
    separator = said[4:] if num_skipped else _separator(lines)
    rows = _rows(lines, separator)
    if not any(map(any, rows)):
        raise ValueError("it holds no header")
    options = {"encoding": encoding, "separator": separator, "num_skipped": num_skipped}
    try:
        compression = "gzip" if path.suffix.lower() == ".gz" else None
        with pa.input_stream(str(path), compression=compression) as file:
            cells = _arrow_columns(file, len(rows[0]), **options)
    except pa.ArrowInvalid as error:
        if "Expected" not in str(error):
            raise
        with _opened(path) as file:
            even, width = _evened(file, **options)
        cells = _arrow_columns(even, width, **options | {"encoding": "utf-8", "num_skipped": 0})
    _check_last_quote(cells, path, encoding, separator)
    return _named(cells), separator


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    opening: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opening(path, "rb") as file:
        yield file


def _encoding(path: Path) -> str:
    """Of the whole file, in which one byte may tell cp1252 from UTF-8; latin-1 has the bytes that cp1252 lacks."""
    decoder, possible = codecs.getincrementaldecoder("utf-8")(), ["utf-8", "cp1252", "latin-1"]
    with _opened(path) as file:
        start = file.read(_CHUNK_BYTES)
        if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):  # before that of UTF-16, with which one begins
            return "utf-32"
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        chunk = start
        while True:
            if b"\0" in chunk:
                raise ValueError("it holds zero bytes")
            if "utf-8" in possible and not _decodes(decoder, chunk):
                possible.remove("utf-8")
            if "cp1252" in possible and chunk.translate(None, _NOT_CP1252) != chunk:
                possible.remove("cp1252")
            if not chunk:
                break
            chunk = file.read(_CHUNK_BYTES)
    return "utf-8-sig" if start.startswith(codecs.BOM_UTF8) else possible[0]


def _decodes(decoder: codecs.IncrementalDecoder, chunk: bytes) -> bool:
    try:
        decoder.decode(chunk, final=not chunk)
    except UnicodeDecodeError:
        return False
    return True


def _separator(lines: list[str]) -> str:
    """That which cuts most of the first rows into as many cells as the header has, and into the most."""

    def score(separator: str) -> tuple[float, int]:
        widths = [len(row) for row in _rows(lines, separator)]
        if not widths or widths[0] < 2:
            return (0.0, 1)
        return (sum(width == widths[0] for width in widths) / len(widths), widths[0])

    return max(_SEPARATORS, key=score)


def _rows(lines: list[str], separator: str) -> list[list[str]]:
    """The first rows that hold something."""
    found = []
    for row in csv.reader(lines, delimiter=separator):
        if any(cell.strip() for cell in row):
            found.append(row)
        if len(found) == _HEAD_ROWS:
            break
    return found


def _arrow_columns(
    file: pa.NativeFile, width: int, *, encoding: str, separator: str, num_skipped: int
) -> list[pa.ChunkedArray]:
    names = [f"f{i}" for i in range(width)]  # as pyarrow calls them
    table = pyarrow.csv.read_csv(
        file,
        read_options=pyarrow.csv.ReadOptions(
            encoding=encoding.removesuffix("-sig"),
            autogenerate_column_names=True,
            skip_rows=num_skipped,
            block_size=_BLOCK_BYTES,
        ),
        parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )
    return table.columns


def _evened(file: BinaryIO, *, encoding: str, separator: str, num_skipped: int) -> tuple[pa.BufferReader, int]:
    """The rows with as many cells as the header: spreadsheets leave out the last empty ones, or add some."""
    even = io.StringIO(newline="")
    writer = csv.writer(even, delimiter=separator)
    with io.TextIOWrapper(file, encoding=encoding, newline="") as text:
        rows = csv.reader(text, delimiter=separator)
        for _ in range(num_skipped):
            next(rows)
        header = next(row for row in rows if any(map(str.strip, row)))
        width = len(header)
        writer.writerow(header)
        for row in rows:
            if any(map(str.strip, row[width:])):
                raise ValueError(f"line {rows.line_num} has {len(row)} cells, the header {width}")
            writer.writerow((row + [""] * (width - len(row)))[:width])
    return pa.BufferReader(even.getvalue().encode()), width


def _check_last_quote(columns: list[pa.ChunkedArray], path: Path, encoding: str, separator: str) -> None:
    """A quotation mark that is never closed makes one cell of all rows after it."""
    cells = [column[-1].as_py() for column in columns]
    last = next((cell for cell in reversed(cells) if cell), "")
    if "\n" not in last and "\r" not in last:
        return
    with _opened(path) as file:
        text = file.read().decode(encoding).rstrip(" \t\r\n" + separator)
    if not text.endswith('"'):
        raise ValueError(f"the quotation mark before {last.strip()[:40]!r} is never closed")


def _named(columns: list[pa.ChunkedArray]) -> dict[str, pa.ChunkedArray]:
    """The first row that holds something has the names; rows and unnamed columns that hold nothing are left out."""
    first = next(row for row in range(len(columns[0])) if any(column[row].as_py().strip() for column in columns))
    names = [column[first].as_py().strip() for column in columns]
    cells = []
    for number, name in enumerate(names):
        cells.append(trimmed(columns.pop(0).slice(first + 1)))
        if not name and cells[-1].null_count < len(cells[-1]):
            names[number] = f"column {number + 1}"
    if repeated := [name for name, count in Counter(filter(None, names)).items() if count > 1]:
        raise ValueError(f"{names.count(repeated[0])} columns are named {repeated[0]!r}: give each a name of its own")
    named = {name: column for name, column in zip(names, cells, strict=True) if name}
    return _without_empty_rows(named)


def _without_empty_rows(columns: dict[str, pa.ChunkedArray]) -> dict[str, pa.ChunkedArray]:
    is_empty = None
    for column in columns.values():
        if column.null_count == 0:
            return columns
        is_empty = pc.is_null(column) if is_empty is None else pc.and_(is_empty, pc.is_null(column))
    if is_empty is None or not pc.any(is_empty).as_py():
        return columns
    return {name: column.filter(pc.invert(is_empty)) for name, column in columns.items()}
