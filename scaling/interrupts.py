"""Ctrl-C of a command line that has nothing to save: one line, exit code 130, at any moment.

It takes no import but the standard library's, so that it is in place before anything that takes time is imported.
"""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

__all__ = ["leave", "leave_at_once", "pipe_closed_quietly", "say_stopped"]


def leave_at_once(*signums: int) -> None:
    """From now on each of these signals ends the process, with a line and exit code 128 + its number.

    Nothing is raised: an exception in the middle of an import, or of a callback from C, may be turned into another
    error or be lost. A signal that was ignored stays so, as in the background of a script.
    """
    for signum in signums:
        if signal.getsignal(signum) != signal.SIG_IGN:
            signal.signal(signum, leave)


def leave(signum: int, frame: FrameType | None = None) -> None:
    """End the process now, by a signal's exit code."""
    say_stopped()
    os._exit(128 + signum)


def say_stopped() -> None:
    """A line on standard error, whatever else is being written there; on a terminal below what Ctrl-C shows."""
    with suppress(OSError):  # the terminal may be gone
        os.write(2, b"\nstopped\n" if os.isatty(2) else b"stopped\n")


def pipe_closed_quietly() -> None:
    """Write out standard output; where what reads it has seen enough, as `head` has, the rest is dropped in silence.

    Raises:
        SystemExit: it could not be written, as on a full disk.
    """
    if sys.stdout is None:  # closed by who started it
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            sys.exit(f"error: {error}")
