"""Downstream from upstream accuracy: the law of the hull, and what else two accuracies of many models say."""

from .fit import TransferFit, fit_transfer
from .mixtures import Mixture, mix_classifiers
from .selection import ANCHORS, HULL_POINTS

__all__ = ["ANCHORS", "HULL_POINTS", "Mixture", "TransferFit", "fit_transfer", "mix_classifiers"]
