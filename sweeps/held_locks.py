"""Whether a living process holds a lock, asked without taking it from anybody."""

import fcntl
import os
from pathlib import Path

__all__ = ["is_held"]


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
