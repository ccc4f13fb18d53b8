"""Figures of results. A plot draws a result and fits nothing; each returns the Axes it drew on."""

from .chain import plot_chain
from .frontier import plot_frontier
from .transfer import plot_transfer

__all__ = ["plot_chain", "plot_frontier", "plot_transfer"]
