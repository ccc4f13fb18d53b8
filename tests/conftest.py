import os
from pathlib import Path

# Before numpy and torch are imported, and for the processes that tests start: on models of 8 pixels two threads wait
# for each other most of the time, and a test of training takes twenty times the CPU time.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pandas as pd
import pytest

# Of files that start whole sweeps, which take both cores, only two at a time: each of these lists is one process's, in
# which a file's tests also share what takes seconds to make (a finished sweep, a Ray cluster).
TOGETHER = {
    "whole sweeps": ("chaos", "fashion_mnist", "planted_faults"),
    "shorter sweeps": ("cli", "repeatable", "run", "two_runners"),
}
GROUPS = {f"test_{name}.py": group for group, names in TOGETHER.items() for name in names} | {
    "engines": "shorter sweeps"
}

PUBLISHED = Path(__file__).parents[1] / "data" / "published"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With `--dist loadfile`, each file's tests in one process, and those of `TOGETHER` in the same."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            if not file.startswith("tests/sweeps/"):
                return file
            return next((GROUPS[part] for part in Path(file).parts if part in GROUPS), file)

    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture
def published():
    """Reads a table of figures printed in a paper."""
    return lambda name: pd.read_csv(PUBLISHED / name)


@pytest.fixture(scope="session")
def data_folder():
    """Of the data sets that are not committed; the test is skipped where there is none."""
    if "SCALING_DATA_DIR" not in os.environ:
        pytest.skip("SCALING_DATA_DIR, the folder of data sets that are not committed, is not set")
    return Path(os.environ["SCALING_DATA_DIR"])


@pytest.fixture(scope="session", autouse=True)
def decoded_images(tmp_path_factory):
    """Decoded images are cached in a folder of the tests' own, once for all of them."""
    folder = tmp_path_factory.mktemp("decoded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SWEEPS_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture
def chinchilla(data_folder):
    """234 points read off Figure 4 of Hoffmann et al. 2022: columns N, D, C and loss."""
    return pd.read_csv(data_folder / "chinchilla_points" / "df.csv")


@pytest.fixture
def one_thread():
    """As in a sweep on the CPU: the number of threads changes the last bits, and the speed."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
