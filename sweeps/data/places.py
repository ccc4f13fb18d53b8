"""Where data sets and what is made of them lie on this machine."""

import os
from pathlib import Path

__all__ = ["base_name", "cache_folder", "data_folder", "may_download"]

_HOME = "~/.cache/vision-scaling-laws"


def data_folder(folder: str | None = None) -> Path:
    """The spec's `folder`, else `SWEEPS_DATA_DIR`, else a folder of the user's cache."""
    return Path(folder or os.environ.get("SWEEPS_DATA_DIR") or f"{_HOME}/data").expanduser()


def base_name(path: str) -> str:
    """What data in a folder or an npz file are called: the last part of the path.

    >>> base_name("~/data/birds/"), base_name("blood.npz")
    ('birds', 'blood')
    """
    return Path(os.path.abspath(Path(path).expanduser())).name.removesuffix(".npz")


def cache_folder() -> Path:
    """Of the decoded images: `SWEEPS_CACHE_DIR`, else a folder of the user's cache."""
    return Path(os.environ.get("SWEEPS_CACHE_DIR") or f"{_HOME}/decoded").expanduser()


def may_download() -> bool:
    """Whether `SWEEPS_DOWNLOAD=1` asks for data that are not there."""
    return os.environ.get("SWEEPS_DOWNLOAD") == "1"
