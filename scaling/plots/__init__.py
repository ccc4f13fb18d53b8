"""Figures of results. A plot draws a result and fits nothing; each returns the Axes it drew on."""

from .frontier import plot_frontier
from .optimal import plot_isoflop, plot_optimal
from .shapes import plot_shapes
from .transfer import plot_transfer

__all__ = ["plot_frontier", "plot_isoflop", "plot_optimal", "plot_shapes", "plot_transfer"]
