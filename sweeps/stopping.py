"""Being told to stop: by SIGTERM, SIGINT (Ctrl-C) or SIGHUP (the terminal is gone).

A runner is interrupted at once: its state is its folder. A worker notes the signal and leaves between two steps, when
its state is whole and saved.
"""

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from scaling.interrupts import leave

__all__ = [
    "Interrupted", "check_stop", "held_signals", "interrupted_by_signals", "leave_on_signals", "note_signals",
    "noted_signals",
]  # fmt: skip

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_noted: list[int] = []


class Interrupted(BaseException):
    """Told to stop. No `Exception`, so that nothing which keeps other runs going takes it for a fault of one run."""

    def __init__(self, signum: int):
        super().__init__(signal.Signals(signum).name)
        self.exit_code = 128 + signum


@contextmanager
def interrupted_by_signals(message: str = "") -> Iterator[None]:
    """Within it each of the signals raises `Interrupted` in the main thread; one that was ignored stays so.

    In the middle of an import it ends the process at once: raised there it would become another error or be lost.

    Leaving it by any other error once a signal has come is being interrupted too: a half-done import or a terminal that
    is gone raise what they like.

    Args:
        message: written to stderr when a signal comes.
    """
    told: list[int] = []

    def interrupt(signum: int, frame: FrameType | None) -> None:
        told.append(signum)
        with suppress(OSError):  # the terminal may be gone
            os.write(2, message.encode())
        if _is_importing(frame):
            leave(signum)
        raise Interrupted(signum)

    # As under `nohup`, or in the background of a script.
    heeded = [signum for signum in _SIGNALS if signal.getsignal(signum) != signal.SIG_IGN]
    before = {signum: signal.signal(signum, interrupt) for signum in heeded}
    try:
        yield
    except Interrupted:
        raise
    except BaseException:
        if told:
            raise Interrupted(told[0]) from None
        raise
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


@contextmanager
def held_signals() -> Iterator[None]:
    """The signals that come within it are acted on after it, and by processes started in it when they let them in.

    They are blocked for this thread; one that another thread of a library takes is put by, for Python acts on it here.
    """
    came: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()  # which alone may set handlers
    handlers = {signum: signal.getsignal(signum) for signum in _SIGNALS if is_main}
    put_by = [signum for signum, handler in handlers.items() if callable(handler)]
    for signum in put_by:
        signal.signal(signum, lambda found, frame: came.append(found))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for signum in put_by:
            signal.signal(signum, handlers[signum])
        for signum in came:
            signal.raise_signal(signum)


def leave_on_signals() -> None:
    """From now on the signals end this process at once; Ctrl-C is left to the runner, which sends one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for signum in _SIGNALS:
        if signal.getsignal(signum) != signal.SIG_IGN:
            signal.signal(signum, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def note_signals() -> None:
    """From now on the signals are noted, for `check_stop` to act on; Ctrl-C is left to the runner, which sends one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for signum in _SIGNALS:
        if signal.getsignal(signum) != signal.SIG_IGN:
            signal.signal(signum, lambda found, frame: _noted.append(found))


def check_stop() -> None:
    """Nothing, or `Interrupted` once a signal has been noted."""
    if _noted:
        raise Interrupted(_noted[0])


@contextmanager
def noted_signals(*more: int) -> Iterator[Sequence[int]]:
    """Within it the signals, Ctrl-C too, and these more are noted, for `check_stop` to act on; after it none of them.

    Gives those that were noted, as they come. For a worker process that is not ours alone, such as Ray's, which is told
    to stop by Ctrl-C and may be used again.
    """
    before = {signum: signal.signal(signum, lambda found, frame: _noted.append(found)) for signum in (*_SIGNALS, *more)}
    try:
        yield _noted
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
        _noted.clear()
