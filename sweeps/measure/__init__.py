"""What a trained model is asked beside its errors: the table of measurements.

Each is a file of this folder with one function `measure(subject)`, which yields rows of `scaling`'s measurements, and
one line of `MEASUREMENTS`. Reading the table takes no torch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..config import MeasureConfig, RunConfig

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


def _why_no_errors(config: "RunConfig") -> str | None:
    """A checkpoint may tell other classes apart than the upstream set's: then its upstream error is unknown too."""
    return None if config.model.trainable else "it is only evaluated, and may tell other classes apart"


MEASUREMENTS = {
    "weight_norms": Measurement(
        ("weight_norm", "distance_to_init"), "Abnar et al. 2021 (arXiv 2110.02095), Figures 10, 11, 40"
    ),
    "corruptions": Measurement(
        ("corruption_error", "corruption_error_mean"),
        "Hendrycks and Dietterich 2019 (arXiv 1903.12261); Chen et al. 2021 (arXiv 2106.01548), Table 2",
        _why_no_errors,
    ),
    "adversarial": Measurement(
        ("fgsm_error", "pgd_error"),
        "Goodfellow et al. 2014 (arXiv 1412.6572); Madry et al. 2018 (arXiv 1706.06083)",
        _why_no_errors,
    ),
    "loss_landscape": Measurement(
        ("loss",),
        "Li et al. 2018 (arXiv 1712.09913), section 4; Chen et al. 2021 (arXiv 2106.01548), Figure 1",
        _why_no_errors,
    ),
}


def resolve_measurements(asked: "MeasureConfig", config: "RunConfig") -> "MeasureConfig":
    """What is asked of a run, "all" replaced by what it can give, in the order of the table.

    Raises:
        ValueError: a measurement by name that the run cannot give: the fact.
    """
    reasons = {name: measurement.why_not(config) for name, measurement in MEASUREMENTS.items()}
    for name in asked.names:
        if name != "all" and reasons[name]:
            raise ValueError(
                f"measure.names: {config.model.family} {config.model.variant} has no {name}: {reasons[name]}"
            )
    is_asked = set(MEASUREMENTS if "all" in asked.names else asked.names)
    names = tuple(name for name in MEASUREMENTS if name in is_asked and not reasons[name])
    return asked.model_copy(update={"names": names})
