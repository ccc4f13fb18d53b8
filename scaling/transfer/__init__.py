"""Downstream from upstream accuracy: the law of the hull, and what else two accuracies of many models say."""

from .best_models import RULES, BestModels, Rule, compare_best_models, predict_best_models
from .centred_logits import centred_logits, correlate_centred_logits
from .eval_images import accuracy_interval
from .fit import HULL_POINTS, TransferFit, fit_transfer
from .lines import AXIS_SCALINGS, AccuracyLine, compare_scalings, fit_line
from .robustness import Robustness, accuracy_difference, effective_robustness

__all__ = [
    "AXIS_SCALINGS",
    "HULL_POINTS",
    "RULES",
    "AccuracyLine",
    "BestModels",
    "Robustness",
    "Rule",
    "TransferFit",
    "accuracy_difference",
    "accuracy_interval",
    "centred_logits",
    "compare_best_models",
    "compare_scalings",
    "correlate_centred_logits",
    "effective_robustness",
    "fit_line",
    "fit_transfer",
    "predict_best_models",
]
