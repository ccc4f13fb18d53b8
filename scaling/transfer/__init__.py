"""Downstream from upstream accuracy: the law of the hull, and what else two accuracies of many models say."""

from .best_models import RULES, BestModels, Rule, compare_best_models, predict_best_models
from .centred_logits import centred_logits, correlate_centred_logits
from .choice import ChoiceLoss, choice_loss
from .eval_images import accuracy_interval
from .fit import TransferFit, fit_transfer
from .head_sweeps import compare_coupling, head_optima, optimum_against_rank
from .hull_distance import HullOverlay, hull_distance, overlay_hull
from .label_overlap import flag_overlap, label_overlap, normalised_name
from .layers import LayerOverlay, best_layers, layer_accuracies, overlay_layers
from .lines import AXIS_SCALINGS, AccuracyLine, compare_scalings, fit_line
from .mixtures import Mixture, mix_classifiers
from .ranks import discordant_pairs, rank_correlations
from .robustness import Robustness, accuracy_difference, effective_robustness
from .same_curve import SameCurve, same_curve
from .sample_size import SampleSizes, compare_sample_sizes
from .selection import ANCHORS, HULL_POINTS
from .sufficiency import Sufficiency, sufficient_predictor
from .task_fits import fit_tasks
from .trends import param_trends, sign_exceptions, sign_shares
from .windows import FITS, HeldOut, WindowComparison, compare_windows

__all__ = [
    "ANCHORS",
    "AXIS_SCALINGS",
    "FITS",
    "HULL_POINTS",
    "RULES",
    "AccuracyLine",
    "BestModels",
    "ChoiceLoss",
    "HeldOut",
    "HullOverlay",
    "LayerOverlay",
    "Mixture",
    "Robustness",
    "Rule",
    "SameCurve",
    "SampleSizes",
    "Sufficiency",
    "TransferFit",
    "WindowComparison",
    "accuracy_difference",
    "accuracy_interval",
    "best_layers",
    "centred_logits",
    "choice_loss",
    "compare_best_models",
    "compare_coupling",
    "compare_sample_sizes",
    "compare_scalings",
    "compare_windows",
    "correlate_centred_logits",
    "discordant_pairs",
    "effective_robustness",
    "fit_line",
    "fit_tasks",
    "fit_transfer",
    "flag_overlap",
    "head_optima",
    "hull_distance",
    "label_overlap",
    "layer_accuracies",
    "mix_classifiers",
    "normalised_name",
    "optimum_against_rank",
    "overlay_hull",
    "overlay_layers",
    "param_trends",
    "predict_best_models",
    "rank_correlations",
    "same_curve",
    "sign_exceptions",
    "sign_shares",
    "sufficient_predictor",
]
