"""Being told to stop: by SIGTERM, SIGINT (Ctrl-C) or SIGHUP (the terminal is gone).

A runner is interrupted at once: its state is its folder. A worker notes the signal and leaves between two steps, when
its state is whole and saved.
"""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

__all__ = ["Interrupted", "check_stop", "interrupted_by_signals", "note_signals", "noted_signals"]

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_noted: list[int] = []


class Interrupted(BaseException):
    """Told to stop. No `Exception`, so that nothing which keeps other runs going takes it for a fault of one run."""

    def __init__(self, signum: int):
        super().__init__(signal.Signals(signum).name)
        self.exit_code = 128 + signum


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Within it each of the signals raises `Interrupted`, wherever the main thread is."""

    def interrupt(signum: int, frame: FrameType | None) -> None:
        raise Interrupted(signum)

    before = {signum: signal.signal(signum, interrupt) for signum in _SIGNALS}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def note_signals() -> None:
    """From now on the signals are noted, for `check_stop` to act on; Ctrl-C is left to the runner, which sends one."""
    for signum in _SIGNALS:
        signal.signal(signum, signal.SIG_IGN if signum == signal.SIGINT else lambda found, frame: _noted.append(found))


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
