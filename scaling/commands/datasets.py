"""`scaling datasets`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from ..datasets import DATASETS, DataSet, find, is_here, load
from .answer import Answer
from .base import takes

__all__ = ["Listed", "datasets"]


@dataclass(frozen=True, kw_only=True)
class Listed:
    """The options: those of every command that make no choice of runs."""

    name: Annotated[str | None, typer.Argument(help="A data set; none lists all.")] = None
    as_json: Annotated[bool, typer.Option("--json", help="Plain values at full precision.")] = False
    as_csv: Annotated[bool, typer.Option("--csv", help="The list, or the rows of the data set.")] = False


@takes(Listed)
def datasets(
    asked: Listed,
    folder: Annotated[Path | None, typer.Option(help="Looked at first, in place of SCALING_DATA_DIR.")] = None,
    table: Annotated[str, typer.Option(help="Of a sweep of our own also evals, or measurements.")] = "records",
) -> Answer:
    """List the data sets that RECORDS may name, or tell all of one; --csv and --json give its rows."""
    if asked.name is None:
        if table != "records":
            raise ValueError("--table goes with the name of a data set")
        listed = pd.DataFrame([_row(each, folder) for each in DATASETS.values()])
        return Answer(listed.astype({"rows": "Int64"}), notes=["scaling datasets NAME tells all of one"])
    data_set = find(asked.name)
    if asked.as_csv or asked.as_json:
        return Answer(load(asked.name, table=table, folder=folder), values=_about(data_set))
    told = {key: str(value) for key, value in _about(data_set).items()}
    return Answer(
        pd.DataFrame({"": list(told), asked.name: list(told.values())}), notes=_columns(data_set, folder, table)
    )


def _row(data_set: DataSet, folder: Path | None) -> dict[str, object]:
    return {
        "name": data_set.name,
        "rows": data_set.num_rows,
        "licence": data_set.licence,
        "comes": _origin(data_set),
        "here": "yes" if is_here(data_set.name, folder=folder) else "no",
        "summary": data_set.summary,
    }


def _origin(data_set: DataSet) -> str:
    """What is fetched is verified by a digest where one is known."""
    if data_set.is_shipped:
        return "shipped"
    return "fetched" if data_set.is_verified else "unverified"


def _about(data_set: DataSet) -> dict[str, object]:
    files = [file.path if file.url is None else f"{file.path} from {file.url}" for file in data_set.files]
    return {
        "summary": data_set.summary,
        "citation": data_set.citation,
        "licence": data_set.licence,
        "comes": _origin(data_set),
        "begin with": f"--x {data_set.x} --y {data_set.y}",
        "upstream_error": data_set.upstream_error,
        "tables": ", ".join(data_set.tables),
        "files": "; ".join(files),
    }


def _columns(data_set: DataSet, folder: Path | None, table: str) -> list[str]:
    """Those of the table, where no network is needed to know them."""
    if not is_here(data_set.name, folder=folder):
        return ["its files are not here: --csv fetches them and gives its rows"]
    found = load(data_set.name, table=table, folder=folder)
    return [f"{len(found)} rows of {len(found.columns)} columns: {', '.join(found.columns)}"]
