"""Where data sets and what is made of them lie on this machine."""

import os
from pathlib import Path

__all__ = ["cache_folder", "data_folder", "may_download"]

_HOME = "~/.cache/vision-scaling-laws"


def data_folder(folder: str | None = None) -> Path:
    """The spec's `folder`, else `SWEEPS_DATA_DIR`, else a folder of the user's cache."""
    return Path(folder or os.environ.get("SWEEPS_DATA_DIR") or f"{_HOME}/data").expanduser()


def cache_folder() -> Path:
    """Of the decoded images: `SWEEPS_CACHE_DIR`, else a folder of the user's cache."""
    return Path(os.environ.get("SWEEPS_CACHE_DIR") or f"{_HOME}/decoded").expanduser()


def may_download() -> bool:
    """Whether `SWEEPS_DOWNLOAD=1` asks for data that are not there."""
    return os.environ.get("SWEEPS_DOWNLOAD") == "1"
