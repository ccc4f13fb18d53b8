"""Data sets by name: tables of papers and our own sweeps, which are shipped, and public results, fetched once.

To add one, write a file with its `DATA_SETS` and add it to the list below; the shared test finds it there.

>>> runs = load("zhai2021")
>>> runs.loc[runs["model_variant"] == "G/14", ["compute_core_days", "imagenet_10shot_error"]].round(3).values.tolist()
[[27507.759, 0.151]]
"""

import os
from difflib import get_close_matches
from pathlib import Path

import pandas as pd

from ..reading.checks import validate
from ..reading.where import rows_where
from ..records import read_evals, read_measurements
from . import (
    chinchilla,
    clip_linear_probes,
    dosovitskiy2020,
    fewshot_curves,
    open_clip,
    small_tables,
    sweeps,
    timm_results,
    zhai2021,
)
from .data_set import DataFile, DataSet
from .fetching import locate, where_it_is
from .shipped import shipped

__all__ = ["DATASETS", "DataFile", "DataSet", "find", "is_here", "load", "named", "path_or_data_set", "paths", "table"]

_MODULES = (
    zhai2021,
    dosovitskiy2020,
    small_tables,
    sweeps,
    timm_results,
    open_clip,
    clip_linear_probes,
    fewshot_curves,
    chinchilla,
)

_LONG_TABLES = {"evals": read_evals, "measurements": read_measurements}

DATASETS: dict[str, DataSet] = {each.name: each for module in _MODULES for each in module.DATA_SETS}
"""The data sets by name, as `scaling datasets` lists them."""


def find(name: str) -> DataSet:
    """The data set of a name.

    Raises:
        ValueError: there is none; near names are told.
    """
    if not isinstance(name, str) or name not in DATASETS:
        raise ValueError(f"no data set is named {name!r}; {_near(name, list(DATASETS))}")
    return DATASETS[name]


def load(
    name: str,
    *,
    table: str = "records",
    where: str | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> pd.DataFrame:
    """A table of a data set; of records a row a model, errors as fractions, as `validate_records` asks.

    Args:
        name: a key of `DATASETS`.
        table: "records"; of a sweep of our own also "evals", and "measurements" where it has them: the long tables of
            `read_evals` and `read_measurements`.
        where: which rows to keep, an expression of pandas over that table's columns: "cooled_down and depth > 2".
        folder: of a data set that is not shipped: where its files are looked for before they are fetched, in place of
            `SCALING_DATA_DIR`. What is fetched is kept in `SCALING_CACHE_DIR`, else in
            `~/.cache/vision-scaling-laws/datasets`.

    Raises:
        ValueError: there is no such data set, it has no such table, `where` cannot be evaluated, or a file is not that
            of its digest.
        OSError: a file is not here and cannot be fetched.

    Warns:
        UserWarning: a file was fetched that there is no digest for.

    >>> load("demo", table="evals", where="task == 'digits' and probe == 'whitened'").shape
    (648, 16)
    """
    data_set = find(name)
    if not isinstance(table, str) or table not in data_set.tables:
        raise ValueError(f"data set {name!r} has the tables {', '.join(data_set.tables)}, got {table!r}")
    files = paths(name, folder=folder)
    if table == "records":
        found = data_set.read(*files.values())
        validate(found, table)
    else:
        found = _LONG_TABLES[table](files[f"{table}.parquet"])
    return found if where is None else found[rows_where(found, where)].reset_index(drop=True)


def paths(name: str, *, folder: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """Where the files of a data set lie, by the last part of their names; they are fetched where they are not here.

    It raises what `load` does.
    """
    return {Path(file.path).name: locate(file, folder) for file in find(name).files}


def is_here(name: str, *, folder: str | os.PathLike[str] | None = None) -> bool:
    """Whether a data set needs no network."""
    return all(where_it_is(file, folder) is not None for file in find(name).files)


def table(name: str) -> pd.DataFrame:
    """A table of `data/published` as it is, also one that holds no models (printed laws, correlations).

    Raises:
        ValueError: there is no such table; near names are told.

    >>> table("zhai2021_printed_laws").columns.tolist()
    ['figure', 'task', 'a', 'b', 'c', 'd', 'form']
    """
    names = sorted(path.stem for path in shipped("published").glob("*.csv"))
    stem = str(name).removesuffix(".csv")
    if stem not in names:
        raise ValueError(f"no published table is named {name!r}; {_near(stem, names)}")
    return pd.read_csv(shipped(f"published/{stem}.csv"))


def named(source: str) -> DataSet | None:
    """The data set of a name, None where there is none, or where a path of that name exists, which wins."""
    return None if Path(source).exists() else DATASETS.get(source)


def path_or_data_set(source: str) -> str | Path | pd.DataFrame:
    """What `read_records` takes, of a path or of a data set's name; a path that exists wins.

    Raises:
        ValueError: it is neither; near names are told. Else what `load` raises.
    """
    if not source.strip() or Path(source).exists():  # an empty text is refused by the reader
        return source
    if named(source) is None:
        near = _near(source, list(DATASETS), otherwise="scaling datasets lists the data sets")
        raise ValueError(f"no file, folder or data set is named {source!r}; {near}")
    first = DATASETS[source].files[0]
    if first.path.endswith("/records.parquet"):  # a sweep: which probe its columns show is the reader's choice
        return locate(first).parent
    return load(source)


def _near(name: str, names: list[str], otherwise: str = "") -> str:
    part = str(name)
    near = get_close_matches(part, names, n=3, cutoff=0.5) or [each for each in names if part and part in each][:5]
    return f"near names: {', '.join(near)}" if near else otherwise or f"there is {', '.join(names)}"
