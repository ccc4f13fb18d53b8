"""A fixture for tests of what is said of laws, not of the laws."""

import pytest

__all__ = ["few_draws"]


@pytest.fixture(scope="package", autouse=True)
def few_draws():
    """How well the ends of an interval are known takes most of the time of a fit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scaling.selection.importance._ENOUGH", 110.0)  # just more than is warned of
        yield
