"""`sweeps status` and `sweeps collect` on thousands of runs; recorded figures are in results/."""

import pytest

from tests.sweeps.folders import Kind, ids, write_sweep

from .sweep_folder_speed import seconds_of


@pytest.mark.slow
@pytest.mark.parametrize("command", ["status", "collect"])
def test_5000_collected_runs_take_under_3_seconds(tmp_path, command):
    """CPU seconds, which other work on the machine disturbs little."""
    paths = write_sweep(tmp_path / "night", dict.fromkeys(ids(5000), Kind()))
    seconds_of("collect", paths)
    assert paths.table("records").exists()
    assert seconds_of(command, paths)[1] < 3


def test_the_benchmark_runs(tmp_path):
    paths = write_sweep(tmp_path / "night", dict.fromkeys(ids(20), Kind()))
    assert all(seconds > 0 for command in ("status", "collect") for seconds in seconds_of(command, paths))
    assert paths.table("measurements").exists()
