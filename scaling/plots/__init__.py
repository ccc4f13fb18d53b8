"""Figures of results. A plot draws a result and fits nothing; each returns the Axes it drew on."""

from .best_models import plot_best_models
from .frontier import plot_frontier
from .lines import plot_lines
from .robustness import plot_robustness
from .transfer import plot_transfer

__all__ = ["plot_best_models", "plot_frontier", "plot_lines", "plot_robustness", "plot_transfer"]
