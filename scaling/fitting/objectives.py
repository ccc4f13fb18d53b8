"""The table of objectives. To add one, write a subclass of `Objective` in a file of this folder and add it here."""

from dataclasses import replace

from ..inputs import check_number
from .objective import IDENTITY, LOG, Objective

__all__ = ["OBJECTIVES", "find_objective"]

LOG_HUBER_DELTA = 1e-3  # Hoffmann et al. 2022 (arXiv 2203.15556), approach 3: Huber loss on log L

OBJECTIVES = {
    objective.name: objective
    for objective in (
        Objective("least_squares", IDENTITY),
        Objective("log_least_squares", LOG),
        Objective("huber", IDENTITY, delta=LOG_HUBER_DELTA),
        Objective("log_huber", LOG, delta=LOG_HUBER_DELTA),
        Objective("binomial", IDENTITY),
    )
}
"""The objectives of `fit_law` by name; the default is "log_least_squares"."""


def find_objective(name: str, delta: float | None = None) -> Objective:
    """The objective of that name, with another `delta` (its unit is the residual's) where one is given.

    Raises:
        ValueError: no objective has that name; a delta for one without, or one that is not positive.

    >>> find_objective("log_huber").delta
    0.001
    """
    if not isinstance(name, str) or name not in OBJECTIVES:
        raise ValueError(f"objective must be one of {sorted(OBJECTIVES)}, got {name!r}")
    objective = OBJECTIVES[name]
    if delta is None:
        return objective
    if objective.delta is None:
        raise ValueError(f"delta goes with a Huber objective, got {name!r} with delta={delta!r}")
    check_number("delta", delta, positive=True)
    return replace(objective, delta=delta)
