"""The compute frontier of runs: its law, and what it says of families, sizes and data."""

from .bottlenecks import Bottlenecks, bottlenecks
from .cost_ratios import CostRatio
from .equal_error import cost_ratio
from .fit import FrontierFit, fit_frontier
from .next_shape import best_shapes, find_anchor, next_shape
from .optimal import HOFFMANN_2022_EXPONENTS, OptimalAllocation, optimal_allocation
from .shapes import SOVIT_EXPONENTS, ShapeFit, fit_shapes

__all__ = [
    "HOFFMANN_2022_EXPONENTS",
    "SOVIT_EXPONENTS",
    "Bottlenecks",
    "CostRatio",
    "FrontierFit",
    "OptimalAllocation",
    "ShapeFit",
    "best_shapes",
    "bottlenecks",
    "cost_ratio",
    "find_anchor",
    "fit_frontier",
    "fit_shapes",
    "next_shape",
    "optimal_allocation",
]
