"""Figures of results. A plot draws a result and fits nothing; each returns the Axes it drew on."""

from .frontier import plot_frontier
from .hulls import plot_hull_gap, plot_hull_overlay
from .mixtures import plot_mixture
from .sample_size import plot_sample_sizes
from .transfer import plot_transfer
from .windows import plot_windows

__all__ = [
    "plot_frontier",
    "plot_hull_gap",
    "plot_hull_overlay",
    "plot_mixture",
    "plot_sample_sizes",
    "plot_transfer",
    "plot_windows",
]
