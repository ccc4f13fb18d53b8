"""Locks that fall with their holder, however that ends: who holds a trunk's trains it."""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from ..full_disk import when_there_is_room
from ..stopping import check_stop

__all__ = ["is_held", "locked"]

_LOOK_SECONDS = 0.5  # between looks whether it was told to stop meanwhile
_POLL_SECONDS = 0.05


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock, for which it waits. Within it the holder may unlink the file: who waits for it looks again.

    Raises:
        Interrupted: told to stop while it waited.
    """
    lock, said = FileLock(path), False
    while not when_there_is_room(path.parent, lambda: _acquired(lock)):
        if not said:
            print(f"{path.stem} is being trained by another process; waiting for it", file=sys.stderr, flush=True)
        said = True
        check_stop()
    try:
        yield
    finally:
        lock.release()


def is_held(path: Path) -> bool:
    """Whether a process holds the lock file of a `filelock.FileLock`; a dead one's is not held.

    `FileLock` takes flock's exclusive lock. This asks for the shared one, for some microseconds and without waiting,
    and neither makes, writes nor empties the file.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(file)


def _acquired(lock: FileLock) -> bool:
    Path(lock.lock_file).parent.mkdir(parents=True, exist_ok=True)
    try:
        lock.acquire(timeout=_LOOK_SECONDS, poll_interval=_POLL_SECONDS)
    except Timeout:
        return False
    return True
