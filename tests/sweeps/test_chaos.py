"""A real sweep that is killed with -9 at random moments, with files damaged between, ends as if nothing had been.

A blow costs the start of three processes with torch, some 10 s on two cores. Eight hold every kind of blow and of
damage, for both are drawn without repeats. Of 200 blows: `python -m tests.sweeps.chaos`.
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


@pytest.mark.parametrize("num_blows", [8, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_again_and_again_it_ends_as_if_nothing_had_been(undisturbed, tmp_path, num_blows):
    chaos = Chaos(tmp_path, seed=num_blows)
    try:
        for _ in range(num_blows):
            chaos.blow()
        chaos.finish()
    finally:
        chaos.stop()
    assert list(differences(chaos.paths.folder, undisturbed, chaos.plan)) == [], chaos.told
    assert left_overs(chaos.paths.folder) == [], chaos.told
