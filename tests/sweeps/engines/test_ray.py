"""The Ray engine on a local cluster of two nodes, one of which is killed."""

import os
import signal

import pytest

from sweeps.engines import EngineOptions, Resources, make_engine

from . import functions
from .conftest import STORE_BYTES


def test_jobs_of_a_node_that_is_killed_die_and_the_others_are_done(cluster, make, tmp_path):
    node = cluster.add_node(num_cpus=2, object_store_memory=STORE_BYTES)
    engine = make("ray", slots=None)
    assert engine.num_slots == 6
    begun, killed, ends = 0, False, {}
    for event in engine.run(functions.wait_for, [(str(tmp_path), "go", i) for i in range(9)]):
        begun += event.kind == "progress"
        if begun == 6 and not killed:  # both nodes are full
            cluster.remove_node(node, allow_graceful=False)
            killed = True
        if event.kind != "progress":
            assert event.job not in ends
            ends[event.job] = event
        if len([e for e in ends.values() if e.kind == "died"]) == 2:
            (tmp_path / "go").touch()
    died = [job for job, event in ends.items() if event.kind == "died"]
    assert sorted(ends) == list(range(9))
    assert len(died) == 2
    assert all("NodeDied" in ends[job].value or "WorkerCrashed" in ends[job].value for job in died)
    again = make("ray").run(functions.wait_for, [(str(tmp_path), "go", job) for job in died])
    assert [e.kind for e in again if e.kind != "progress"] == ["done", "done"]


def test_workers_are_kept_alive(make):
    events = make("ray", slots=1).run(functions.describe_worker, [()] * 6)
    assert len({event.value["pid"] for event in events}) == 1


def test_the_runner_keeps_its_signals(make):
    def handler(signum, frame):
        raise AssertionError

    before = signal.signal(signal.SIGTERM, handler)
    try:
        list(make("ray").run(functions.add, [(1, 2)]))
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)
    assert "RAY_USAGE_STATS_ENABLED" not in os.environ


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resources": Resources(threads=5)}, r"engine: no node of the Ray cluster has the 5 CPUs that a run takes"),
        ({"devices": ["cuda:1"]}, r"devices: Ray hands out GPUs itself.*got \['cuda:1'\]"),
    ],
)
def test_what_a_cluster_cannot_give(make, options, message):
    ray = pytest.importorskip("ray")
    with pytest.raises(ValueError, match=message):
        make("ray", **options)
    assert not ray.is_initialized()


def test_cpus_by_name_are_slots(make):
    ray = pytest.importorskip("ray")
    assert make("ray", slots=None, devices=["cpu"] * 3).num_slots == 3
    ray.shutdown()


@pytest.mark.slow
def test_a_cluster_of_our_own_is_started_and_stopped(tmp_path):
    ray = pytest.importorskip("ray")
    engine = make_engine("ray", EngineOptions(tmp_path, slots=3))
    assert engine.num_slots == 3
    assert [e.kind for e in engine.run(functions.add, [(1, 2)])] == ["progress", "done"]
    assert not ray.is_initialized()
