"""Figures of results. A plot draws a result and fits nothing; each returns the Axes it drew on."""

from .frontier import plot_frontier
from .head_sweeps import plot_head_sweep, plot_wd_against_rank
from .layers import plot_best_layers, plot_layers
from .ranks import plot_rank_matrix
from .sufficiency import plot_same_curve, plot_sufficiency
from .transfer import plot_transfer
from .trends import plot_trends

__all__ = [
    "plot_best_layers",
    "plot_frontier",
    "plot_head_sweep",
    "plot_layers",
    "plot_rank_matrix",
    "plot_same_curve",
    "plot_sufficiency",
    "plot_transfer",
    "plot_trends",
    "plot_wd_against_rank",
]
