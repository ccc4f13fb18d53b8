"""What a trained model is asked beside its errors: the table of measurements.

Each is a file of this folder with one function `measure(subject)`, which yields rows of `scaling`'s measurements, and
one line of `MEASUREMENTS`. Reading the table takes no torch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .attention_distance import why_not as no_attention
from .reasons import no_activations, no_blocks, no_upstream_classes

if TYPE_CHECKING:
    from ..specs.config import MeasureConfig, RunConfig

__all__ = ["MEASUREMENTS", "Measurement", "resolve_measurements"]


@dataclass(frozen=True)
class Measurement:
    """One row of the table.

    Attributes:
        rows: the names of its rows.
        source: whose quantity it is.
        why_not: of a run's config, why it cannot be had, in words that follow "model ... "; None where it can.
    """

    rows: tuple[str, ...]
    source: str
    why_not: Callable[["RunConfig"], str | None] = lambda config: None


def _no_label_sets(config: "RunConfig") -> str | None:
    return None if config.measure.label_sets else "measure.label_sets gives no valid labels of its test images"


MEASUREMENTS = {
    "weight_norms": Measurement(
        ("weight_norm", "weight_norm_body", "distance_to_init"),
        "Abnar et al. 2021 (arXiv 2110.02095), Figures 10, 11, 40",
    ),
    "margins": Measurement(
        ("head_margin", "pre_logits_margin"),
        "Abnar et al. 2021 (arXiv 2110.02095), Figures 10, 11, 41, 42; Jiang et al. 2018 (arXiv 1810.00113), eq. 3",
        no_upstream_classes,
    ),
    "active_neurons": Measurement(
        ("active_share",),
        "Chen, Hsieh and Gong 2022 (arXiv 2106.01548), section 4.4; Li et al. 2022 (arXiv 2210.06313)",
        no_activations,
    ),
    "curvature": Measurement(
        ("hessian_top_eigenvalue", "hessian_residual", "sharpness"),
        "Chen, Hsieh and Gong 2022 (arXiv 2106.01548), Table 1; Foret et al. 2021 (arXiv 2010.01412)",
        no_upstream_classes,
    ),
    "cka": Measurement(
        ("cka",),
        "Kornblith et al. 2019 (arXiv 1905.00414); Raghu et al. 2021 (arXiv 2108.08810), Figure 1",
        no_blocks,
    ),
    "attention_distance": Measurement(
        ("attention_distance",), "Dosovitskiy et al. 2020 (arXiv 2010.11929), Figures 7, 11", no_attention
    ),
    "half_precision": Measurement(
        ("feature_cosine_mean", "feature_cosine_min"), "a check that features survive bfloat16 and float16"
    ),
    "multi_label": Measurement(
        ("multi_label_error", "multi_label_left_out"), "Beyer et al. 2020 (arXiv 2006.07159)", _no_label_sets
    ),
    "corruptions": Measurement(
        ("corruption_error", "corruption_error_mean"),
        "Hendrycks and Dietterich 2019 (arXiv 1903.12261); Chen et al. 2021 (arXiv 2106.01548), Table 2",
        no_upstream_classes,
    ),
    "adversarial": Measurement(
        ("fgsm_error", "pgd_error"),
        "Goodfellow et al. 2014 (arXiv 1412.6572); Madry et al. 2018 (arXiv 1706.06083)",
        no_upstream_classes,
    ),
    "loss_landscape": Measurement(
        ("loss",),
        "Li et al. 2018 (arXiv 1712.09913), section 4; Chen et al. 2021 (arXiv 2106.01548), Figure 1",
        no_upstream_classes,
    ),
}
"""The measurements by name, as `measure.names` of a spec has them."""


def resolve_measurements(asked: "MeasureConfig", config: "RunConfig") -> "MeasureConfig":
    """What is asked of a run, "all" replaced by what it can give, in the order of the table.

    Raises:
        ValueError: a measurement by name that the run cannot give: the fact; or an option that it cannot use.
    """
    if not asked.names:
        return type(asked)()
    from .options import check_read, resolve_options

    check_read(asked)

    config = config.model_copy(update={"measure": asked})
    is_asked = set(MEASUREMENTS if "all" in asked.names else asked.names)
    reasons = {name: measurement.why_not(config) for name, measurement in MEASUREMENTS.items() if name in is_asked}
    for name in asked.names:
        if name != "all" and reasons[name]:
            raise ValueError(
                f"measure.names: {config.model.family} {config.model.variant} has no {name}: {reasons[name]}"
            )
    names = tuple(name for name in MEASUREMENTS if name in is_asked and not reasons[name])
    return resolve_options(config.model_copy(update={"measure": asked.model_copy(update={"names": names})}))
