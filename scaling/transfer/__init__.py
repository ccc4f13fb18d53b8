"""Downstream from upstream accuracy: the law of the hull, and what else two accuracies of many models say."""

from .fit import HULL_POINTS, TransferFit, fit_transfer
from .head_sweeps import compare_coupling, head_optima, optimum_against_rank
from .label_overlap import flag_overlap, label_overlap, normalised_name
from .layers import LayerOverlay, best_layers, overlay_layers
from .ranks import choice_loss, discordant_pairs, rank_correlations
from .same_curve import SameCurve, same_curve
from .sufficiency import Sufficiency, sufficient_predictor
from .trends import fit_tasks, param_trends, sign_exceptions, sign_shares

__all__ = [
    "HULL_POINTS",
    "LayerOverlay",
    "SameCurve",
    "Sufficiency",
    "TransferFit",
    "best_layers",
    "choice_loss",
    "compare_coupling",
    "discordant_pairs",
    "fit_tasks",
    "fit_transfer",
    "flag_overlap",
    "head_optima",
    "label_overlap",
    "normalised_name",
    "optimum_against_rank",
    "overlay_layers",
    "param_trends",
    "rank_correlations",
    "same_curve",
    "sign_exceptions",
    "sign_shares",
    "sufficient_predictor",
]
