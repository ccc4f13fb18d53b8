"""The compute frontier of runs: its law, and what it says of families, sizes and data."""

from .bottlenecks import Bottlenecks, bottlenecks
from .equal_error import CostRatio, cost_ratio
from .fit import FrontierFit, fit_frontier

__all__ = ["Bottlenecks", "CostRatio", "FrontierFit", "bottlenecks", "cost_ratio", "fit_frontier"]
