"""Downstream from upstream accuracy: the law of the hull, and what else two accuracies of many models say."""

from .fit import HULL_POINTS, TransferFit, fit_transfer

__all__ = ["HULL_POINTS", "TransferFit", "fit_transfer"]
