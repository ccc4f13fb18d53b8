"""A full disk: what is to be written waits for room, and nothing is lost."""

import errno
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from .stopping import check_stop

__all__ = ["is_full_disk", "when_there_is_room"]

T = TypeVar("T")

_CODES = (errno.ENOSPC, errno.EDQUOT)
_WAIT_SECONDS = 5.0
_LOOK_SECONDS = 0.2  # between looks whether it was told to stop meanwhile
_SAY_SECONDS = 300.0


def when_there_is_room(folder: Path, write: Callable[[], T]) -> T:
    """What `write` returns; on a full disk that is said, and it is called again until there is room.

    Args:
        folder: where it writes, for the message.
        write: leaves nothing behind where it raises, so that it can be called again.

    Raises:
        Interrupted: told to stop while it waited.
    """
    said = -_SAY_SECONDS
    while True:
        try:
            return write()
        except Exception as error:  # libraries raise a full disk as what they like
            if not is_full_disk(error):
                raise
        if time.monotonic() - said >= _SAY_SECONDS:
            said = time.monotonic()
            print(f"paused: {folder}: no space left on disk; goes on when there is room", file=sys.stderr, flush=True)
        _wait()


def is_full_disk(error: BaseException) -> bool:
    """Whether no space was left, on the disk or of a quota; safetensors tells the system's code in its text only.

    >>> is_full_disk(OSError(errno.ENOSPC, "full")), is_full_disk(OSError(errno.EACCES, "not yours"))
    (True, False)
    """
    if isinstance(error, OSError):
        return error.errno in _CODES
    return any(f"(os error {code})" in str(error) for code in _CODES)


def _wait() -> None:
    until = time.monotonic() + _WAIT_SECONDS
    while (left := until - time.monotonic()) > 0:
        check_stop()
        time.sleep(min(left, _LOOK_SECONDS))
