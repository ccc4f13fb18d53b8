"""The Ray engine on a local cluster of two nodes, one of which is killed."""

import os
import signal

import pytest

from sweeps.engines import EngineOptions, Resources, make_engine

from . import functions
from .conftest import STORE_BYTES

ray = pytest.importorskip("ray")


def test_jobs_of_a_node_that_is_killed_die_and_the_others_are_done(cluster, tmp_path):
    """And are done when they are given once more. The engine connects by itself, and the runner keeps its signals."""
    node = cluster.add_node(num_cpus=1, object_store_memory=STORE_BYTES)
    handler = signal.signal(signal.SIGTERM, on_signal)
    try:
        engine = make_engine("ray", EngineOptions(tmp_path, address=cluster.address))
        assert engine.num_slots == 3
        begun, ends = 0, {}
        for event in engine.run(functions.wait_for, [(str(tmp_path), "go", i) for i in range(5)]):
            if event.kind == "progress":
                begun += 1
                if begun == 3:  # both nodes are full
                    cluster.remove_node(node, allow_graceful=False)
                continue
            assert event.job not in ends
            ends[event.job] = event
            if event.kind == "died":
                (tmp_path / "go").touch()
        assert sorted(ends) == list(range(5))
        (died,) = [job for job, event in ends.items() if event.kind == "died"]
        assert ends[died].value.startswith("NodeDiedError: Task failed because the node")
        again = engine.run(functions.wait_for, [(str(tmp_path), "go", died)])
        assert [(e.kind, e.value) for e in again if e.kind != "progress"] == [("done", died)]
        assert signal.getsignal(signal.SIGTERM) is on_signal
    finally:
        signal.signal(signal.SIGTERM, handler)
        cluster.wait_for_nodes()  # until what is gone counts no more: the tests after it ask how many CPUs there are
    assert "RAY_USAGE_STATS_ENABLED" not in os.environ


def on_signal(signum, frame):
    raise AssertionError


def test_workers_are_kept_alive(make):
    events = make("ray", slots=1).run(functions.describe_worker, [()] * 6)
    assert len({event.value["pid"] for event in events}) == 1


def test_cpus_by_name_are_slots(make):
    assert make("ray", slots=None, devices=["cpu"]).num_slots == 1
    assert make("ray", slots=None, devices=["cpu"] * 9).num_slots == 2  # there is no more room


def test_what_a_cluster_cannot_give(make):
    with pytest.raises(ValueError, match=r"engine: no node of the Ray cluster has the 3 CPUs that a run takes"):
        make("ray", resources=Resources(threads=3))
    with pytest.raises(ValueError, match=r"devices: Ray hands out GPUs itself.*got \['cuda:1'\]"):
        make("ray", devices=["cuda:1"])


def test_jobs_are_given_gpus_of_their_own_or_shares_of_one(cluster, make, tmp_path):
    """Of a node that says it has two."""
    node = cluster.add_node(num_cpus=3, num_gpus=2, object_store_memory=STORE_BYTES)
    try:
        (event,) = make("ray", slots=None, resources=Resources(devices=2)).run(functions.describe_worker, [()])
        assert event.value["devices"] == ["cuda:0", "cuda:1"]
        assert sorted(event.value["gpus"].split(",")) == ["0", "1"]
        assert make("ray", slots=None).num_slots == 2
        engine = make("ray", slots=None, slots_per_device=2)
        assert engine.num_slots == 3  # by its CPUs
        events = list(engine.run(functions.meet, [(str(tmp_path), 3, i) for i in range(3)]))
        assert sorted(e.value[0] for e in events) in (["0", "0", "1"], ["0", "1", "1"])
        assert {tuple(e.value[1]) for e in events} == {("cuda:0",)}
        assert make("ray", slots=None, devices=["cpu"]).num_slots == 1
        with pytest.raises(ValueError, match="slots_per_device: Ray shares no devices among jobs that take several"):
            make("ray", resources=Resources(devices=2), slots_per_device=2)
    finally:
        cluster.remove_node(node)
        cluster.wait_for_nodes()
