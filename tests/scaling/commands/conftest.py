import pytest

from ..few_draws import few_draws
from .calls import made_runs

__all__ = ["few_draws", "path", "runs"]


@pytest.fixture(scope="session")
def runs():
    return made_runs()


@pytest.fixture(scope="session")
def path(runs, tmp_path_factory):
    """The runs as a parquet file, which keeps every bit."""
    path = tmp_path_factory.mktemp("runs") / "runs.parquet"
    runs.to_parquet(path)
    return path
