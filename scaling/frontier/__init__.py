"""The compute frontier of runs: its law, and what it says of families, sizes and data."""

from .fit import FrontierFit, fit_frontier
from .optimal import OptimalAllocation, optimal_allocation

__all__ = ["FrontierFit", "OptimalAllocation", "fit_frontier", "optimal_allocation"]
