"""Files that are fetched once: from the user's folder of data, the cache, or their public address."""

import hashlib
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from .data_set import DataFile
from .shipped import shipped

__all__ = ["cache_folder", "locate", "where_it_is"]

_TIMEOUT_SECONDS = 30  # without a byte


def cache_folder() -> Path:
    """`SCALING_CACHE_DIR`, else a folder of the user's cache."""
    return Path(os.environ.get("SCALING_CACHE_DIR") or "~/.cache/vision-scaling-laws/datasets").expanduser()


def locate(file: DataFile, folder: str | os.PathLike[str] | None = None) -> Path:
    """Where a file lies; it is fetched where it is not here.

    Args:
        file: of a data set.
        folder: where to look first, in place of `SCALING_DATA_DIR`.

    Raises:
        ValueError: the file is not that of the digest.
        OSError: it is not here, and cannot be fetched.

    Warns:
        UserWarning: it was fetched, and there is no digest to check it by.
    """
    found = _in_folder(file, folder)
    if found is None:
        return _fetched(file)
    path, digest = found
    _check_digest(path, digest)
    return path


def where_it_is(file: DataFile, folder: str | os.PathLike[str] | None = None) -> Path | None:
    """Where a file lies, None where it would be fetched; the digest is not looked at."""
    if found := _in_folder(file, folder):
        return found[0]
    cached = cache_folder() / file.path
    return cached if cached.is_file() else None


def _in_folder(file: DataFile, folder: str | os.PathLike[str] | None) -> tuple[Path, str | None] | None:
    """Path and digest of a file that is not fetched."""
    if file.url is None:
        return shipped(file.path), file.sha256
    own = folder or os.environ.get("SCALING_DATA_DIR")
    for each in (file, file.reduced):
        if own and each is not None and (path := Path(own).expanduser() / each.path).is_file():
            return path, each.sha256
    return None


def _check_digest(path: Path, digest: str | None) -> None:
    if digest is None:
        return
    actual = _digest(path)
    if actual != digest:
        raise ValueError(f"{path} is not the file that it should be: its sha256 is {actual}, not {digest}")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _fetched(file: DataFile) -> Path:
    """In the cache, whole and checked, or not there at all."""
    url = file.url or ""
    target = cache_folder() / file.path
    if target.is_file() and file.sha256 in (None, _digest(target)):
        return target
    by_hand = f"put it at {target} by hand, or have SCALING_DATA_DIR name a folder that holds {file.path}"
    print(f"fetching {url} to {target}", file=sys.stderr)
    try:
        _retrieve(url, target, file.sha256)
    except (OSError, ValueError) as error:  # no network, no such address, no room; another digest
        kind = OSError if isinstance(error, OSError) else ValueError  # those of requests take more than a message
        raise kind(f"cannot fetch {file.path} from {url} ({_reason(error)}): {by_hand}") from None
    if file.sha256 is None:
        warnings.warn(f"{target} was fetched, and there is no digest to check it by", stacklevel=5)
    return target


def _retrieve(url: str, target: Path, digest: str | None) -> None:
    """Without the lines that pooch logs."""
    import pooch

    # The files are of a few MB: read at once, the connection is closed whatever happens.
    fetch: Any = pooch.HTTPDownloader(timeout=_TIMEOUT_SECONDS, stream=False)
    log = pooch.get_logger()
    level = log.level
    log.setLevel("WARNING")
    try:
        pooch.retrieve(url, digest, fname=target.name, path=target.parent, downloader=fetch)
    finally:
        log.setLevel(level)


def _reason(error: Exception) -> str:
    """In one line; those of a connection name every layer that it went through."""
    import requests

    if isinstance(error, requests.Timeout):
        return f"no answer in {_TIMEOUT_SECONDS} seconds"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"HTTP status {error.response.status_code}"
    return " ".join(str(error).split())
