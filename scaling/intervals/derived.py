"""Intervals of anything that is computed from fits: the x that reaches a target, a ratio of two laws' compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ..fitting.fit import Fit
from ..inputs import generator
from ..prediction import check_level
from .bootstrap import bootstrap_fit
from .draws import BootstrapFit

__all__ = ["derived_interval", "independent_draws", "widest"]


class _HasDraws(Protocol):
    @property
    def bootstrap(self) -> BootstrapFit: ...


def derived_interval(
    function: Callable[..., np.ndarray],
    *fits: Fit | BootstrapFit | _HasDraws,
    level: float = 0.95,
    num_draws: int = 2000,
    rng: np.random.Generator | None = None,
) -> tuple[float, float]:
    """Percentile interval of a quantity computed from one or several independent fits.

    Args:
        function: takes a `BootstrapFit` for each fit and returns one number a draw, shape (num_draws,); of a draw it
            has `params` (a dict of arrays), `values(x)` and `solve_for_x(y)`, both of shape (num_draws, size).
        fits: results of `fit_law` (drawn anew by `bootstrap_fit`), `bootstrap_fit`, `fit_frontier`, `fit_transfer`.
        level: probability of the interval, such as 0.95.
        num_draws, rng: of the fits that have no draws yet. Percentiles are expanded as those of the fit with the fewest
            degrees of freedom.

    Returns:
        (low, high); inf where a share of the draws never reaches the target.

    Raises:
        ValueError: the function does not return one number a draw, or a nan.

    The compute that reaches an error of .2, and how many times more of it the second law needs:

    >>> from scaling import fit_law
    >>> x = np.geomspace(1, 1e4, 12)
    >>> noise = np.exp(0.01 * np.random.default_rng(0).standard_normal(12))
    >>> first = fit_law("saturating_power", x, (0.8 * x**-0.3 + 0.05) * noise)
    >>> second = fit_law("saturating_power", x, (0.9 * x**-0.3 + 0.05) * noise[::-1])
    >>> low, high = derived_interval(lambda a: a.solve_for_x(0.2)[:, 0], first)
    >>> low < (0.15 / 0.8) ** (-1 / 0.3) < high
    True
    >>> low, high = derived_interval(lambda a, b: (b.solve_for_x(0.2) / a.solve_for_x(0.2))[:, 0], first, second)
    >>> low < (9 / 8) ** (1 / 0.3) < high
    True
    """
    check_level(level)
    draws = independent_draws(*fits, num_draws=num_draws, rng=generator(rng))
    size = len(draws[0].theta)
    values = np.asarray(function(*draws), dtype=float)
    if values.shape != (size,):
        raise ValueError(f"the function must return one number a draw, shape ({size},), got {values.shape}")
    if np.isnan(values).any():
        raise ValueError(f"the function returned nan for {np.isnan(values).sum()} of {size} draws")
    low, high = widest(draws).quantiles(values, level)
    return float(low), float(high)


def independent_draws(*fits: Any, num_draws: int, rng: np.random.Generator) -> list[BootstrapFit]:
    """Equally many draws of each fit, those of two fits independent of each other; of one given twice, the same."""
    # Draws of two results may come of the same seed: in an order of its own each is independent of the others.
    known = {id(fit): _draws_of(fit, num_draws, rng) for fit in fits}
    size = min(len(draw.theta) for draw in known.values())
    known = {key: draw.take(rng.permutation(len(draw.theta))[:size]) for key, draw in known.items()}
    return [known[id(fit)] for fit in fits]


def widest(draws: Sequence[BootstrapFit]) -> BootstrapFit:
    """Of several fits' draws those whose percentiles are expanded most: by the fewest degrees of freedom."""
    expanded = [draw for draw in draws if draw.is_expanded]
    return min(expanded, key=lambda draw: draw.fit.degrees_of_freedom, default=draws[0])


def _draws_of(fit: Any, num_draws: int, rng: np.random.Generator) -> BootstrapFit:
    if isinstance(fit, Fit):
        return bootstrap_fit(fit, num_draws=num_draws, rng=rng)
    draws = fit if isinstance(fit, BootstrapFit) else getattr(fit, "bootstrap", None)
    if not isinstance(draws, BootstrapFit):
        kind = type(fit).__name__
        raise TypeError(f"fits must come of fit_law, bootstrap_fit, fit_frontier or fit_transfer, got a {kind}")
    return draws
