"""`sweeps collect`."""

from ..paths import SweepPaths
from .base import FolderArgument, collected, print_line

__all__ = ["collect"]


def collect(folder: FolderArgument) -> None:
    """Write one records, one evals and one measurements parquet into a sweep's folder."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    records = collected(folder)
    print_line(f"{len(records)} records in {SweepPaths(folder).table('records')}")
