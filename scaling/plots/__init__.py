"""Figures of results. A plot draws a result and fits nothing; each returns the Axes it drew on."""

from .best_models import plot_best_models
from .bottlenecks import plot_bottlenecks
from .by_layer import plot_attention_distance, plot_by_layer
from .chain import plot_chain
from .cka import plot_cka
from .equal_error import plot_cost_ratio
from .fit import plot_fit, plot_law_comparison
from .frontier import plot_frontier
from .head_sweeps import plot_head_sweep, plot_wd_against_rank
from .hulls import plot_hull_gap, plot_hull_overlay
from .landscape import plot_landscape
from .laws import plot_laws
from .layers import plot_best_layers, plot_layers
from .lines import plot_lines, plot_scalings
from .mixtures import plot_mixture
from .optimal import plot_isoflop, plot_optimal
from .paired import plot_paired_differences
from .perturbed import plot_adversarial, plot_corruptions
from .ranks import plot_choice_loss, plot_rank_matrix
from .robustness import plot_robustness
from .sample_size import plot_sample_sizes
from .settings import plot_against
from .shapes import plot_shapes
from .sufficiency import plot_same_curve, plot_sufficiency
from .tables import plot_audit, plot_factors, plot_rank_flips, plot_row_comparison
from .transfer import plot_transfer
from .trends import plot_trends
from .tuning import plot_tuning
from .windows import plot_windows

__all__ = [
    "plot_adversarial",
    "plot_against",
    "plot_attention_distance",
    "plot_audit",
    "plot_best_layers",
    "plot_best_models",
    "plot_bottlenecks",
    "plot_by_layer",
    "plot_chain",
    "plot_choice_loss",
    "plot_cka",
    "plot_corruptions",
    "plot_cost_ratio",
    "plot_factors",
    "plot_fit",
    "plot_frontier",
    "plot_head_sweep",
    "plot_hull_gap",
    "plot_hull_overlay",
    "plot_isoflop",
    "plot_landscape",
    "plot_law_comparison",
    "plot_laws",
    "plot_layers",
    "plot_lines",
    "plot_mixture",
    "plot_optimal",
    "plot_paired_differences",
    "plot_rank_flips",
    "plot_rank_matrix",
    "plot_robustness",
    "plot_row_comparison",
    "plot_same_curve",
    "plot_sample_sizes",
    "plot_scalings",
    "plot_shapes",
    "plot_sufficiency",
    "plot_transfer",
    "plot_trends",
    "plot_tuning",
    "plot_wd_against_rank",
    "plot_windows",
]
