"""Failures that keep coming back: after several trainings with the same error a sweep stops, not after a night."""

import re
from collections import Counter

__all__ = ["RepeatedFailures"]

_MOST = 5


class RepeatedFailures:
    """Counts trainings that failed with the same error, and those that died or lacked memory one after the other."""

    def __init__(self) -> None:
        self._failed: Counter[str] = Counter()
        self._oom = 0
        self._died: Counter[str] = Counter()

    def add(self, status: str, error: str) -> str | None:
        """Take in a training that ended with that status; says why the sweep should stop, once it should.

        A larger model may well lack memory; it is five in succession that no other training interrupts which stop it.
        """
        self._died.clear()
        if status == "oom":
            self._oom += 1
            return f"{_MOST} trainings in succession ran out of memory" if self._oom == _MOST else None
        if status != "failed":
            self._oom = 0
            return None
        self._failed[masked(error)] += 1
        same = self._failed[masked(error)]
        return f"{_MOST} trainings failed with the same error: {error}" if same == _MOST else None

    def add_death(self, why: str, num_slots: int) -> str | None:
        """Take in a training whose worker died, which is to be given once more; says why the sweep should stop.

        With a machine all that it runs dies at once: so many are no sign that the next one would die.
        """
        self._died[masked(why)] += 1
        same = self._died[masked(why)]
        return f"the workers of {same} trainings in succession died: {why}" if same >= _MOST + num_slots else None


def masked(error: str) -> str:
    """Without what differs between runs: numbers and paths.

    >>> masked("OSError: no /data/a_1.npy of 30 images at 0x7f3a")
    'OSError: no PATH of N images at N'
    """
    return re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?(e[+-]?\d+)?", "N", re.sub(r"(?<!\w)/[\w./@+-]+", "PATH", error))
