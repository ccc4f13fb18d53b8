"""The compute frontier of runs: its law, and what it says of families, sizes and data."""

from .fit import FrontierFit, fit_frontier

__all__ = ["FrontierFit", "fit_frontier"]
