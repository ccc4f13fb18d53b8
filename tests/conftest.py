from pathlib import Path

import pandas as pd
import pytest

PUBLISHED = Path(__file__).parents[1] / "data" / "published"


@pytest.fixture
def published():
    """Reads a table of figures printed in a paper."""
    return lambda name: pd.read_csv(PUBLISHED / name)


@pytest.fixture
def one_thread():
    """As in a sweep on the CPU: the number of threads changes the last bits, and the speed."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
