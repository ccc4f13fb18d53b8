"""What the tests of reports share."""

import pytest

from ..few_draws import few_draws

__all__ = ["few_draws", "undrawn"]


@pytest.fixture
def undrawn(monkeypatch):
    """Figures are made and not written, which takes half of a small report's time."""
    monkeypatch.setattr("scaling.page.picture._svg", lambda figure: b"<svg xmlns='http://www.w3.org/2000/svg'/>")
