"""Columns that a folder of parquet has in the names of its subfolders: `family=vit/part-0.parquet`."""

from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pyarrow as pa

from ..schema import RECORDS
from .cell_numbers import typed_columns

__all__ = ["partition_columns", "partition_values"]

_NULL = "__HIVE_DEFAULT_PARTITION__"  # as Hive and Spark call the folder of rows without a value


def partition_values(file: Path, root: Path) -> dict[str, str | None]:
    """What the subfolders between a folder and a file in it say.

    >>> partition_values(Path("runs/family=vit/size=big%20one/part-0.parquet"), Path("runs"))
    {'family': 'vit', 'size': 'big one'}
    """
    parts = file.relative_to(root).parent.parts if root in file.parents else ()
    named = (part.partition("=") for part in parts if "=" in part[1:])
    return {unquote(name): None if value == _NULL else unquote(value) for name, _, value in named}


def partition_columns(values: list[dict[str, str | None]], num_rows: list[int]) -> pd.DataFrame:
    """Those of all files, of which each has so many rows: numbers where all values of a name are numbers.

    >>> partition_columns([{"family": "vit", "depth": "2"}, {"family": "resnet", "depth": "4"}], [1, 2])
       family  depth
    0     vit      2
    1  resnet      4
    2  resnet      4
    """
    names = list(dict.fromkeys(name for each in values for name in each))
    rows = [number for number, count in enumerate(num_rows) for _ in range(count)]
    texts = {name: pa.chunked_array([pa.array([each.get(name) for each in values], pa.string())]) for name in names}
    kept = {name: texts.pop(name) for name in names if name in RECORDS and RECORDS[name].kind == "text"}
    found = kept | typed_columns(texts, ".")
    return pa.table({name: found[name] for name in names}).to_pandas().iloc[rows].reset_index(drop=True)
