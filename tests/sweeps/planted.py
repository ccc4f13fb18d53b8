"""A `sitecustomize` that every process of a command loads: it counts the records written, and can be a full disk."""

import os
from collections import Counter
from pathlib import Path

__all__ = ["Planted", "free_disk", "full_disk"]

_CODE = """
import errno, os

_replace = os.replace

def replace(source, target, **kwargs):
    if os.path.exists({full!r}):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
    _replace(source, target, **kwargs)
    if str(target).endswith("records.parquet"):
        with open({witness!r}, "a") as file:
            file.write(str(target) + "\\n")

os.replace = replace
"""


class Planted:
    """In a folder of its own; a file is written by taking the place of another, which it counts or refuses."""

    def __init__(self, folder: Path):
        folder.mkdir()
        self._folder, self._witness, self.full = folder, folder / "witness.txt", folder / "full"
        (folder / "sitecustomize.py").write_text(_CODE.format(full=str(self.full), witness=str(self._witness)))

    @property
    def environment(self) -> dict[str, str]:
        paths = [str(self._folder), str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
        return dict(os.environ) | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}

    @property
    def num_written(self) -> Counter[str]:
        """How often each run's records were written, by run id."""
        lines = self._witness.read_text().splitlines() if self._witness.exists() else []
        return Counter(Path(line).parent.name for line in lines if Path(line).parent.parent.name == "runs")


def full_disk(ballast: Path) -> None:
    """Fill the disk that a file lies on."""
    with open(ballast, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


def free_disk(ballast: Path) -> None:
    ballast.unlink()
