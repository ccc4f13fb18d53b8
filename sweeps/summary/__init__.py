"""What a sweep says: both laws fitted to its records, downstream accuracies predicted, as a text and two figures."""

from collections.abc import Collection, Sequence
from pathlib import Path

from ..paths import SweepPaths, write_text
from .figures import frontier_figure, transfer_figure
from .fits import Summary, summarise
from .text import summary_text

__all__ = ["Summary", "summarise", "write_summary"]

_DPI = 150


def write_summary(folder: Path, name: str, run_ids: Collection[str] | None = None, tuned: Sequence[str] = ()) -> str:
    """Fit, write `summary.txt`, `frontier.png` and `transfer.png` into the sweep's folder, and return the text.

    Args:
        folder, name, run_ids, tuned: as in `summarise`.
    """
    paths = SweepPaths(folder)
    summary = summarise(folder, name, run_ids, tuned)
    if any(frontier.fit for frontier in summary.frontiers):
        frontier_figure(summary).savefig(paths.figure("frontier"), dpi=_DPI)
    if any(task.fit for task in summary.tasks):
        transfer_figure(summary).savefig(paths.figure("transfer"), dpi=_DPI)
    text = summary_text(summary)
    write_text(paths.summary, text)
    return text
