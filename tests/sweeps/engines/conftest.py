"""A Ray cluster that the tests of this folder share: its nodes and its workers take seconds to start."""

import pytest

from sweeps.engines import EngineOptions, Resources, make_engine

STORE_BYTES = 80 * 2**20  # near the least that Ray takes


def started(start, attempts=3):
    """Ray gives a node 30 seconds to start, which two busy cores may not be enough for."""
    for _ in range(attempts - 1):
        try:
            return start()
        except Exception as error:  # Ray raises nothing narrower
            if "timed out during startup" not in str(error):
                raise
    return start()


@pytest.fixture(scope="session")
def cluster():
    """One node of 2 CPUs."""
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        head = {"num_cpus": 2, "object_store_memory": STORE_BYTES, "include_dashboard": False}
        cluster = started(lambda: cluster_utils.Cluster(initialize_head=True, head_node_args=head))
    yield cluster
    cluster.shutdown()


@pytest.fixture(scope="module")
def connection(cluster):
    """To the cluster, kept from test to test, and its workers with it."""
    import ray

    ray.init(cluster.address, logging_level="ERROR")
    yield
    ray.shutdown()


@pytest.fixture
def make(request, tmp_path):
    """Makes an engine of that name, with two slots."""

    def make(name, **options):
        options = {"slots": 2, "resources": Resources()} | options
        if name == "ray":
            request.getfixturevalue("connection")
        if name == "slurm":
            pytest.importorskip("submitit")
            options = {"job_options": {"cluster": "local"}} | options
        return make_engine(name, EngineOptions(tmp_path, **options))

    return make
