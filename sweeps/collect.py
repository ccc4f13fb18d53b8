"""One records, one evals and one measurements parquet from the run folders of a sweep."""

from pathlib import Path

import pandas as pd

from scaling.records import read_evals, read_measurements, read_records, write_records

from .paths import SweepPaths

__all__ = ["collect"]


def collect(folder: Path) -> pd.DataFrame:
    """Write the three tables into the sweep's folder and return its records.

    Raises:
        ValueError: the folder holds no records.
    """
    paths = SweepPaths(folder)
    records = read_records(folder, weights=None, wide=False)
    tables = {"records": records, "evals": read_evals(folder), "measurements": read_measurements(folder)}
    for name, table in tables.items():
        if len(table):
            write_records(table, paths.table(name), name)
    return records
