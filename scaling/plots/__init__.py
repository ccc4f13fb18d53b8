"""Figures of results. A plot draws a result and fits nothing; each returns the Axes it drew on."""

from .best_models import plot_best_models
from .bottlenecks import plot_bottlenecks
from .chain import plot_chain
from .equal_error import plot_cost_ratio
from .fit import plot_fit, plot_law_comparison
from .frontier import plot_frontier
from .lines import plot_lines
from .optimal import plot_isoflop, plot_optimal
from .robustness import plot_robustness
from .shapes import plot_shapes
from .tables import plot_audit, plot_factors, plot_rank_flips, plot_row_comparison
from .transfer import plot_transfer

__all__ = [
    "plot_audit",
    "plot_best_models",
    "plot_bottlenecks",
    "plot_chain",
    "plot_cost_ratio",
    "plot_factors",
    "plot_fit",
    "plot_frontier",
    "plot_isoflop",
    "plot_law_comparison",
    "plot_lines",
    "plot_optimal",
    "plot_rank_flips",
    "plot_robustness",
    "plot_row_comparison",
    "plot_shapes",
    "plot_transfer",
]
