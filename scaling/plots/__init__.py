"""Figures of results. A plot draws a result and fits nothing; each returns the Axes it drew on."""

from .bottlenecks import plot_bottlenecks
from .equal_error import plot_cost_ratio
from .frontier import plot_frontier
from .transfer import plot_transfer

__all__ = ["plot_bottlenecks", "plot_cost_ratio", "plot_frontier", "plot_transfer"]
