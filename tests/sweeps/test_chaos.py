"""A real sweep that is killed with -9 at random moments, with files damaged between, ends as if nothing had been.

A blow costs the start of two processes with torch, some 8 s on two cores. Of 200 blows: `python -m tests.sweeps.chaos`.
"""

from pathlib import Path

import pytest

from .chaos import Chaos, differences, left_overs

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the workers in /proc")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    chaos = Chaos(tmp_path_factory.mktemp("undisturbed"))
    try:
        chaos.finish(1)
    finally:
        chaos.stop()
    return chaos.paths.folder


_NUM_BLOWS = 20


def test_killed_again_and_again_it_ends_as_if_nothing_had_been(undisturbed, tmp_path):
    chaos = Chaos(tmp_path, seed=_NUM_BLOWS)
    try:
        for _ in range(_NUM_BLOWS):
            chaos.blow()
        chaos.finish()
    finally:
        chaos.stop()
    assert list(differences(chaos.paths.folder, undisturbed, chaos.plan)) == [], chaos.told
    assert left_overs(chaos.paths.folder) == [], chaos.told
