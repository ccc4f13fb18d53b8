"""The Ray engine without a cluster that is there."""

import pytest

from sweeps.engines import EngineOptions, Resources, make_engine

from . import functions

ray = pytest.importorskip("ray")


@pytest.mark.slow
def test_a_cluster_of_our_own_is_started_and_stopped(tmp_path):
    """When jobs are given to it, so that engines for jobs that take more can be made beside it."""
    engine = make_engine("ray", EngineOptions(tmp_path, slots=3, devices=["cpu"]))
    assert make_engine("ray", EngineOptions(tmp_path, resources=Resources(99, 2), devices=["cpu"])).num_slots == 1
    assert engine.num_slots == 3
    assert not ray.is_initialized()
    assert [e.kind for e in engine.run(functions.add, [(1, 2)])] == ["progress", "done"]
    assert not ray.is_initialized()


def test_no_cluster_at_the_address(tmp_path):
    with pytest.raises(ValueError, match=r"address: no Ray cluster at '127.0.0.1:1': ConnectionRefusedError"):
        make_engine("ray", EngineOptions(tmp_path, address="127.0.0.1:1"))
