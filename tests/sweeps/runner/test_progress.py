"""Where a bar is redrawn, and where lines are written."""

import io

import pytest
from rich.console import Console

from sweeps.runner.progress import SweepProgress, is_redrawn

BAR = "\x1b[?25l"  # hides the cursor while a bar is redrawn


@pytest.fixture(autouse=True)
def no_kernel(monkeypatch):
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)


@pytest.mark.parametrize(
    ("is_terminal", "term", "redrawn"), [(True, "xterm", True), (True, "dumb", False), (False, "xterm", False)]
)
def test_a_terminal_is_redrawn(is_terminal, term, redrawn):
    console = Console(file=io.StringIO(), force_terminal=is_terminal, _environ={"TERM": term})
    assert is_redrawn(console) == redrawn


@pytest.mark.parametrize("in_notebook", [False, True])
def test_in_a_notebook_there_are_lines_and_no_bar(monkeypatch, in_notebook):
    """Its commands have a pseudo-terminal, whose drawings it would keep one and all."""
    if in_notebook:
        monkeypatch.setenv("JPY_PARENT_PID", "1")
    out = io.StringIO()
    with SweepProgress(
        [], [], [], 0, 2, Console(file=out, force_terminal=True, _environ={"TERM": "xterm"})
    ) as progress:
        progress.tell("failed: vit")
    assert "failed: vit" in out.getvalue()
    assert (BAR in out.getvalue()) != in_notebook
