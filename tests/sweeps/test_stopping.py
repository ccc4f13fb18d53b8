"""Being told to stop."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from sweeps.stopping import Interrupted, held_signals, interrupted_by_signals


@pytest.fixture(autouse=True)
def heeded_signals():
    """As in a terminal: in the background of a script, or under nohup, some are ignored."""
    defaults = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {signum: signal.signal(signum, handler) for signum, handler in defaults.items()}
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_each_signal_interrupts_and_its_handler_comes_back(signum):
    before = signal.getsignal(signum)
    with pytest.raises(Interrupted) as told, interrupted_by_signals():
        os.kill(os.getpid(), signum)
    assert told.value.exit_code == 128 + signum
    assert signal.getsignal(signum) == before


def test_an_error_that_the_interruption_made_is_an_interruption():
    """As of an import that ends half way."""

    def half_import():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except Interrupted:
            raise ImportError from None

    with pytest.raises(Interrupted), interrupted_by_signals():
        half_import()


def test_another_error_stays_what_it_is():
    with pytest.raises(ImportError), interrupted_by_signals():
        raise ImportError


def test_an_ignored_signal_stays_ignored():
    """As SIGHUP under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupted_by_signals():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_held_signals_come_afterwards():
    reached = []

    def go_on():
        os.kill(os.getpid(), signal.SIGTERM)
        reached.append(True)

    with pytest.raises(Interrupted), interrupted_by_signals(), held_signals():
        go_on()
    assert reached


def test_held_signals_that_another_thread_takes_come_afterwards():
    reached, end, before = [], threading.Event(), signal.getsignal(signal.SIGTERM)
    other = threading.Thread(target=end.wait)  # which blocks none of them, as a library's threads

    def go_on():
        signal.pthread_kill(other.ident, signal.SIGTERM)
        time.sleep(0.2)  # it has been taken
        reached.append(True)

    other.start()
    try:
        with pytest.raises(Interrupted), interrupted_by_signals(), held_signals():
            go_on()
    finally:
        end.set()
        other.join()
    assert reached
    assert signal.getsignal(signal.SIGTERM) == before


def test_the_message_is_written_when_the_signal_comes():
    code = (
        "import os, signal\nfrom sweeps.stopping import *\n"
        "try:\n  with interrupted_by_signals('stopping'): os.kill(os.getpid(), signal.SIGHUP)\n"
        "except Interrupted as told: raise SystemExit(told.exit_code)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (129, "stopping")
