"""Read and check the records of a sweep or of a paper's table."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from .errors import issue
from .inputs import check_flag
from .reading.cell_numbers import check_decimal
from .reading.checks import validate
from .reading.column_map import as_kinds, map_columns, text_columns
from .reading.csv_tables import is_csv, read_csv_table
from .reading.hand_kept import check_required, is_of_finished_runs, warn_of_spellings, warn_of_sums
from .reading.parquet_tables import existing_files, is_partitioned, read_parquet_table, without_index
from .reading.streaming import Choice, check_weights, choose_rows, stream_rows
from .reading.where import rows_where
from .schema import KEY, TABLES
from .selection.rules import check_selection

__all__ = ["read_evals", "read_measurements", "read_records", "validate_records"]

_OTHER_FORMS = {
    ".xlsx": "read_excel", ".xls": "read_excel", ".ods": "read_excel", ".json": "read_json",
    ".jsonl": "read_json(path, lines=True)",
}  # fmt: skip

_USUAL_PROBE = ("whitened", "pre_logits")


def read_records(
    source: str | os.PathLike[str] | pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    decimal: str | None = None,
    probe: str = "whitened",
    layer: str = "pre_logits",
    weights: str | None = "last",
    wide: bool = True,
    where: str | None = None,
    selection: str = "all",
    x: str = "compute_flops",
    y: str = "upstream_error",
    only: Callable[[str], bool] | None = None,
) -> pd.DataFrame:
    """Records with one column a downstream task, from a sweep folder, parquet (file or folder), csv or DataFrame.

    Args:
        source: a sweep's folder, a parquet file, a folder of parquet files (subfolders `family=vit` are columns), a csv
            file (.csv, .tsv, .txt, also .gz, with any separator of , ; and tab, and decimal commas), or a DataFrame.
        columns: a table of your own: the name of each column of records with that of yours, an expression over yours,
            or several joined by commas, `{"upstream_error": "1 - top1 / 100", "run_id": "model,img_size"}`. All of
            your columns are kept. `run_id`, `step` and `weights` may be missing; the table is read into memory, and
            task columns are its own. A csv file or DataFrame whose columns are named as they should be needs no
            mapping: without `step` it is taken for one of finished runs, a row each, and `run_id` must not repeat.
        decimal: "." or ",", where a csv has cells that can be read two ways ("1,234"); None finds it out.
        probe, layer: which linear probe the columns `<task>_<k>shot_error` show: the mean over its draws.
        weights: which weights' rows to keep: "last", "ema", "best"; None keeps all.
        wide: False leaves the downstream columns out.
        where: which rows to keep, an expression of pandas over columns of the records: "cooled_down and depth > 2".
        selection: "all", or only the rows on the frontier of y against x ("pareto"), or at the vertices of its lower
            hull ("convex_hull"), x ascending. Parquet is then read a batch of rows at a time and may be larger than
            memory: held are one batch (under 100 MB) and the selection itself. Checked are x, y and `weights` of all
            rows, and every column of the rows selected; that keys do not repeat is checked among these only.
        x, y: columns of the records that the selection is taken of; rows where one is null are skipped and counted.
        only: of parquet without a selection or `columns`, whether to read a column of this name; required ones are
            read anyhow.

    Returns:
        A row an evaluated model: the columns of `scaling.schema.RECORDS` that the source has, then
        `<task>_<k>shot_error`, `<task>_finetune_error` and `<task>_zero_shot_error` where downstream evaluations lie in
        the folder, or beside a file named `records.parquet`. Of a selection, `attrs` say how many rows it was taken of
        (`num_rows`), and how many of them were skipped (`num_skipped`).

    Raises:
        ValueError: no records, a missing column, an unknown choice, or values out of range, with their rows.
        FileNotFoundError: there is no such file or folder.

    >>> read_records(pd.DataFrame({"run_id": ["a"], "step": [10], "weights": ["last"], "upstream_error": [0.3]}))
      run_id  step weights  upstream_error
    0      a    10    last             0.3
    """
    _check_source(source)
    _check_texts(selection=selection, probe=probe, layer=layer, x=x, y=y)
    check_flag("wide", wide)
    _check_texts(**{name: value for name, value in (("weights", weights), ("where", where)) if value is not None})
    check_selection(selection)
    check_decimal(decimal)
    parquet = _parquet_path(source) if columns is None else None
    if selection != "all" and parquet is not None and not is_partitioned(parquet):
        records = stream_rows(existing_files(parquet, "records"), Choice(selection, x, y, weights, where))
        validate_records(records)
    else:
        records = _read_records(source, columns, decimal, only)
        check_required(records)
        validate_records(records)
        records = _filtered(records, weights, where)
        if parquet is None:
            warn_of_sums(records)
            warn_of_spellings(records)
        if selection != "all":
            records = choose_rows(records, Choice(selection, x, y))
    if not wide or parquet is None:
        return records
    evals = _read_table(_evals_beside(parquet), "evals", None if selection == "all" else records["run_id"])
    return records if evals.empty else _add_task_columns(records, _validated(evals, "evals"), probe, layer)


def read_evals(source: str | os.PathLike[str] | pd.DataFrame) -> pd.DataFrame:
    """The long table of downstream evaluations: a row a (model, task, method, shots, layer, draw).

    Raises:
        ValueError: a required column is missing or a value is out of range, with its rows.
    """
    _check_source(source)
    return _validated(_read_table(source, "evals"), "evals")


def read_measurements(source: str | os.PathLike[str] | pd.DataFrame) -> pd.DataFrame:
    """The long table of measurements of trained models: a row a (model, name, data set, split, layer, head, other).

    Raises:
        ValueError: a required column is missing or a value is not finite, with its rows.
    """
    _check_source(source)
    return _validated(_read_table(source, "measurements"), "measurements")


def validate_records(frame: pd.DataFrame) -> None:
    """Check a table of records; one error names every bad column and row.

    Checked: the key `run_id, step, weights` and `upstream_error` are there (an error may be null only where
    `status` is not "ok", or is and the step is 0: a model that was only evaluated; or where `source` cites a paper,
    which need not print it), keys do not repeat, fractions lie in [0, 1], counts are whole and not negative.

    Raises:
        ValueError: one line a fault: the column, the rows, the values and what is valid.

    >>> validate_records(pd.DataFrame({"run_id": ["a"], "step": [1], "weights": ["last"], "upstream_error": [23.0]}))
    Traceback (most recent call last):
    ...
    ValueError: bad records: upstream_error must lie in [0, 1] (is this percent? divide by 100); row 0: 23.0
    """
    validate(frame, "records")


# Reading ------------------------------------------------------------------------------------------------------


def _check_texts(**options: Any) -> None:
    for name, value in options.items():
        if not isinstance(value, str):
            raise ValueError(f"{name} must be a text, got {value!r}")


def _check_source(source: Any) -> None:
    if not isinstance(source, str | os.PathLike | pd.DataFrame):
        raise ValueError(f"records are read from a path or a pandas DataFrame, got a {type(source).__name__}")
    if isinstance(source, str) and not source.strip():
        raise ValueError(f"records are read from a path, got {source!r}: is a variable not set?")
    path = None if isinstance(source, pd.DataFrame) else Path(source)
    if path is not None and path.suffix.lower() in _OTHER_FORMS and path.is_file():
        way = f"read it with pandas.{_OTHER_FORMS[path.suffix.lower()]} and give the DataFrame"
        raise ValueError(f"{path} is neither parquet nor csv: save it as csv, or {way}")


def _parquet_path(source: str | os.PathLike[str] | pd.DataFrame) -> Path | None:
    """Where parquet lies; None for a frame, and for a csv file, which is read whole."""
    return None if isinstance(source, pd.DataFrame) or is_csv(Path(source)) else Path(source)


def _read_table(
    source: str | os.PathLike[str] | pd.DataFrame,
    table: str,
    run_ids: pd.Series | None = None,
    decimal: str | None = None,
    only: Callable[[str], bool] | None = None,
) -> pd.DataFrame:
    """The whole table, or of parquet files only the rows of some runs, or some columns."""
    if isinstance(source, pd.DataFrame):
        return without_index(source)
    path = Path(source)
    if not is_csv(path):
        return read_parquet_table(path, table, run_ids, only)
    existing_files(path, table)
    frame, _ = read_csv_table(path, decimal=decimal, texts=_texts_of(table))
    frame.attrs.clear()
    return as_kinds(frame)


def _texts_of(table: str) -> list[str]:
    return [name for name, column in TABLES[table].items() if column.kind == "text"]


def _read_records(
    source: str | os.PathLike[str] | pd.DataFrame,
    columns: Mapping[str, str] | None,
    decimal: str | None,
    only: Callable[[str], bool] | None,
) -> pd.DataFrame:
    """Records, or a table of the user's own with the columns of records: texts of numbers in it are numbers."""
    if columns is None:
        frame = _read_table(source, "records", decimal=decimal, only=only)
        own = _parquet_path(source) is None and "upstream_error" in frame and is_of_finished_runs(frame)
        return map_columns(frame, {}, frame[[]]) if own else frame
    if not isinstance(source, pd.DataFrame) and _parquet_path(source) is None:
        existing_files(Path(source), "records")
        names = {"texts": _texts_of("records"), "written": text_columns(columns)}
        frame, written = read_csv_table(Path(source), decimal=decimal, **names)
        return map_columns(frame, columns, written)
    return map_columns(_read_table(source, "records"), columns, decimal=decimal)


def _filtered(records: pd.DataFrame, weights: str | None, where: str | None) -> pd.DataFrame:
    check_weights(weights, set(records["weights"].unique()))
    if weights is not None:
        records = records[records["weights"] == weights].reset_index(drop=True)
    return records if where is None else records[rows_where(records, where)].reset_index(drop=True)


def _validated(rows: pd.DataFrame, table: str) -> pd.DataFrame:
    """The rows of a long table, of which there may be none."""
    if len(rows):
        validate(rows, table)
    return rows


def _evals_beside(path: Path) -> Path | pd.DataFrame:
    """Where the evals of a folder or of a records file lie: `evals.parquet` in the same folder, where there is one."""
    if path.is_dir():
        return path
    beside = path.with_name("evals.parquet")
    return beside if path.name == "records.parquet" and beside.is_file() else pd.DataFrame()


def _add_task_columns(records: pd.DataFrame, evals: pd.DataFrame, probe: str, layer: str) -> pd.DataFrame:
    probed = evals[evals["method"] == "fewshot"]
    fewshot = probed[(probed["probe"] == probe) & (probed["layer"] == layer)]
    if len(probed) and fewshot.empty and (probe, layer) != _USUAL_PROBE:  # one was asked for
        known = probed[["probe", "layer"]].drop_duplicates().astype(str).agg(" at ".join, axis=1)
        issue(UserWarning(f"no few-shot evals are of {probe} at {layer}: there is {', '.join(known[:6])}"))
    others = evals[evals["method"].isin(["finetune", "zero_shot"])]
    fewshot = fewshot.assign(
        column=[f"{t}_{k:.0f}shot_error" for t, k in zip(fewshot.task, fewshot.num_shots, strict=True)]
    )
    others = others.assign(column=others["task"] + "_" + others["method"] + "_error")
    chosen = pd.concat([fewshot, others])
    wide = chosen.pivot_table(index=list(KEY), columns="column", values="error", aggfunc="mean", sort=False)
    wide = records.merge(wide.reset_index().rename_axis(columns=None), on=list(KEY), how="left")
    wide.attrs.update(records.attrs)
    return wide
