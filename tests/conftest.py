from pathlib import Path

import pandas as pd
import pytest

PUBLISHED = Path(__file__).parents[1] / "data" / "published"


@pytest.fixture
def published():
    """Reads a table of figures printed in a paper."""
    return lambda name: pd.read_csv(PUBLISHED / name)
