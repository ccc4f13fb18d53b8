"""Where data sets and what is made of them lie on this machine."""

import os
from pathlib import Path

__all__ = ["HOME", "base_name", "data_folder", "may_download"]

HOME = "~/.cache/vision-scaling-laws"


def data_folder(folder: str | None = None) -> Path:
    """The spec's `folder`, else `SWEEPS_DATA_DIR`, else a folder of the user's cache."""
    return Path(folder or os.environ.get("SWEEPS_DATA_DIR") or f"{HOME}/data").expanduser()


def base_name(path: str) -> str:
    """What data in a folder or an npz file are called: the last part of the path.

    >>> base_name("~/data/birds/"), base_name("blood.npz")
    ('birds', 'blood')
    """
    return Path(os.path.abspath(Path(path).expanduser())).name.removesuffix(".npz")


def may_download() -> bool:
    """Whether `SWEEPS_DOWNLOAD=1` asks for data that are not there."""
    return os.environ.get("SWEEPS_DOWNLOAD") == "1"
