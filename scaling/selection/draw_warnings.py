"""What the draws of a posterior say of themselves."""

import numpy as np

from ..errors import FitWarning
from ..intervals.draws import BootstrapFit
from ..laws import Law

__all__ = ["outside_own_draws", "rough_ends"]

_FEW_EFFECTIVE = 100.0  # effective draws below which the ends of an interval deserve a warning


def rough_ends(law: Law, x: np.ndarray, num_effective: float) -> list[FitWarning]:
    """Few draws, or a narrow range of x."""
    found = []
    if num_effective < _FEW_EFFECTIVE:
        message = f"the posterior's draws are worth {num_effective:.0f} independent ones: its ends are rough"
        found.append(FitWarning("few_effective_draws", message))
    decades = np.ptp(np.log10(x))
    if decades < 1 and not law.increasing:
        found.append(FitWarning("under_one_decade", f"x spans {decades:.2f} decades, less than one"))
    return found


def outside_own_draws(draws: BootstrapFit) -> list[FitWarning]:
    """Parameters of the median curve that its own draws exclude: many laws are one curve over these runs."""
    outside = [name for name, value in draws.fit.params.items() if not _is_inside(value, draws.interval(name))]
    if not outside:
        return []
    message = f"{', '.join(outside)} of the median curve outside the 95% interval of the draws: read the curve alone"
    return [FitWarning("not_identified", message)]


def _is_inside(value: float, ends: tuple[float, float]) -> bool:
    return ends[0] <= value <= ends[1]
