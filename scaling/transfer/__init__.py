"""Downstream from upstream accuracy: the law of the hull, and what else two accuracies of many models say."""

from .fit import TransferFit, fit_transfer
from .hull_distance import HullOverlay, hull_distance, overlay_hull
from .mixtures import Mixture, mix_classifiers
from .sample_size import SampleSizes, compare_sample_sizes
from .selection import ANCHORS, HULL_POINTS
from .windows import FITS, HeldOut, WindowComparison, compare_windows

__all__ = [
    "ANCHORS",
    "FITS",
    "HULL_POINTS",
    "HeldOut",
    "HullOverlay",
    "Mixture",
    "SampleSizes",
    "TransferFit",
    "WindowComparison",
    "compare_sample_sizes",
    "compare_windows",
    "fit_transfer",
    "hull_distance",
    "mix_classifiers",
    "overlay_hull",
]
