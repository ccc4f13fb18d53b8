"""What is shipped of a sweep: its tables without the machine's name, sorted and small, the spec, and their digests.

python -m scaling.datasets.shipping runs/night1 data/sweeps/night1
"""

import argparse
import hashlib
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from ..records import read_evals, read_measurements, read_records
from ..schema import KEY, TABLES
from ..writing import write_records

__all__ = ["ship", "write_digests"]

# What tells the rows of a long table apart; numbers that were found (l2, error, value) do not.
_TOLD_BY = {
    "records": KEY,
    "evals": (*KEY, "task", "method", "probe", "num_shots", "layer", "draw", "lr"),
    "measurements": (*KEY, "name", "dataset", "split", "layer", "head", "other"),
}
# A path from the root, a drive or a home: of the machine that ran it. "w16d1/8" and addresses have none.
_OWN_PATH = re.compile(r"(?<![\w./:])(?:/[\w.-]+/|~[\w.-]*/|[A-Za-z]:\\)[^\s,}\]\"']*")


def ship(sweep: Path, target: Path) -> list[Path]:
    """Write the tables and the spec of a sweep into a folder, and the digests of all that lies beside that folder.

    The tables are those of `scaling.schema`, with the rows of all weights, sorted by what tells them apart; `host` is
    blank, nothing else is changed. They are compressed, and the same rows give the same bytes with one version of
    pyarrow. A table without rows is not written.

    Args:
        sweep: a sweep's folder with `spec.yaml`; nothing is written there.
        target: the folder to make or to write over; its name stands in `SHA256SUMS` beside it.

    Returns:
        The files, spec.yaml last.

    Raises:
        ValueError: no records, a value out of range, with its rows, or a path of this machine in a text or the spec.
        FileNotFoundError: there is no such sweep, or it holds no spec.
    """
    tables = {
        "records": read_records(sweep, weights=None, wide=False).assign(host=None),
        "evals": read_evals(sweep),
        "measurements": read_measurements(sweep),
    }
    _check_no_paths({f"{name} of {table}": rows[name] for table, rows in tables.items() for name in rows}, sweep)
    target.mkdir(parents=True, exist_ok=True)
    spec = Path(shutil.copyfile(sweep / "spec.yaml", target / "spec.yaml"))
    files = [_write(rows, table, target) for table, rows in tables.items() if len(rows)]
    write_digests(target.parent)
    return [*files, spec]


def _check_no_paths(columns: Mapping[str, pd.Series], sweep: Path) -> None:
    texts = {"spec.yaml": (sweep / "spec.yaml").read_text(encoding="utf-8")}
    for name, values in columns.items():
        if not pd.api.types.is_numeric_dtype(values):
            texts[name] = "\n".join(map(str, values.dropna().unique()))
    for name, text in texts.items():
        if found := _OWN_PATH.search(text):
            raise ValueError(f"what is shipped must hold no path of the machine that ran it, {name} has {found[0]!r}")


def write_digests(folder: Path) -> None:
    """`SHA256SUMS` of all files below a folder, as `sha256sum -c` reads it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}" for path in files
    ]
    (folder / "SHA256SUMS").write_text("".join(f"{line}\n" for line in lines))


def _write(rows: pd.DataFrame, table: str, folder: Path) -> Path:
    """With the schema's columns in its types, checked; then the same in fewer bytes."""
    path = folder / f"{table}.parquet"
    told_by = [name for name in _TOLD_BY[table] if name in rows]
    known = [name for name in TABLES[table] if name in rows]
    others = [name for name in rows if name not in known]
    write_records(rows.sort_values(told_by, kind="stable", ignore_index=True)[known + others], path, table)
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), path, compression="zstd", store_schema=False)
    return path


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m scaling.datasets.shipping", description=__doc__)
    parser.add_argument("sweep", type=Path, help="the folder of a sweep")
    parser.add_argument("target", type=Path, help="the folder to make, such as data/sweeps/night1")
    asked = parser.parse_args(arguments)
    try:
        files = ship(asked.sweep, asked.target)
    except (ValueError, FileNotFoundError) as error:
        parser.error(str(error))
    for path in files:
        print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
