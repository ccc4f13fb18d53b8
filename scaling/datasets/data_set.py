"""What a data set is: where its files lie, who made it, and how they become records."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

import pandas as pd

from ..schema import TABLES

__all__ = ["DataFile", "DataSet"]


@dataclass(frozen=True)
class DataFile:
    """A file of a data set.

    Attributes:
        path: below `data/` where it is shipped, else below `SCALING_DATA_DIR` and the cache.
        url: where it is fetched from; None for a shipped one.
        sha256: its digest; None where nobody has told it: then a download is not verified.
        reduced: a smaller file that may stand in its place in `SCALING_DATA_DIR`; it is never fetched.
    """

    path: str
    url: str | None = None
    sha256: str | None = None
    reduced: "DataFile | None" = None


@dataclass(frozen=True)
class DataSet:
    """Records of models by name.

    Attributes:
        name: what `load` takes.
        summary: what its rows are, in one line.
        citation: who to cite; its first word is what the column `source` holds.
        licence: of the numbers; "facts: cite" of those printed in a paper, "ours" of the project's.
        x, y: columns of the cost and of the error to begin with.
        upstream_error: what that column holds here.
        files: what `read` reads, in its order.
        read: makes the records from the files' paths.
        num_rows: of the records; None where it depends on which of its files is here.
    """

    name: str
    summary: str
    citation: str
    licence: str
    x: str
    y: str
    upstream_error: str
    files: tuple[DataFile, ...]
    read: Callable[..., pd.DataFrame]
    num_rows: int | None

    @property
    def tables(self) -> tuple[str, ...]:
        """What `load` gives of it: of a sweep all that its folder holds."""
        files = {PurePath(file.path).name for file in self.files}
        return tuple(name for name in TABLES if f"{name}.parquet" in files) or ("records",)

    @property
    def is_shipped(self) -> bool:
        return all(file.url is None for file in self.files)

    @property
    def is_verified(self) -> bool:
        """Whether a download is checked by a digest."""
        return all(file.url is None or file.sha256 is not None for file in self.files)
