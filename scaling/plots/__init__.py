"""Figures of results. A plot draws a result and fits nothing; each returns the Axes it drew on."""

from .frontier import plot_frontier
from .tables import plot_audit, plot_factors, plot_rank_flips, plot_row_comparison
from .transfer import plot_transfer

__all__ = ["plot_audit", "plot_factors", "plot_frontier", "plot_rank_flips", "plot_row_comparison", "plot_transfer"]
