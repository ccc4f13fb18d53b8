"""Approach 3: a law of model size and images seen, whose optimum at a compute is in closed form."""

from __future__ import annotations

import numpy as np

from ..errors import FitError, FitWarning
from ..fitting.fit_law import quiet_fit
from ..intervals.bootstrap import bootstrap_fit
from ..laws import find_law
from ..laws.additive import log_optimum
from .allocation import AllocationFit, PowerLine, Runs

__all__ = ["fit_parametric", "flops_constant"]

_UNEVEN = 2.0  # ratio of the largest to the least C / (N D) from which on k N D is no model of compute


def flops_constant(runs: Runs) -> float:
    """k of C = k N D: the geometric mean of C / (N D)."""
    return float(np.exp(np.mean(runs.log_c - runs.log_n - runs.log_d)))


def fit_parametric(
    runs: Runs, flops_per_param_image: float | None, objective: str, num_draws: int, rng: np.random.Generator,
    has_groups: bool,
) -> AllocationFit:  # fmt: skip
    """L = E + A N^-alpha + B D^-beta, least at C = k N D: N = G (C / k)^a, D = (C / k)^b / G.

    a = beta / (alpha + beta), b = 1 - a, G = (alpha A / (beta B))^(1 / (alpha + beta)).

    Raises:
        FitError: the law cannot be fitted, or has no optimum (a term that is 0).
    """
    import pandas as pd

    fit = quiet_fit(find_law("additive"), np.exp(np.stack([runs.log_n, runs.log_d], axis=1)), runs.y, objective)
    missing = [name for name in ("A", "B", "alpha", "beta") if not fit.params[name] > 0]
    if missing:
        raise FitError(f"the fitted law has no optimum: {' and '.join(missing)} is 0")
    boot = bootstrap_fit(fit, num_draws=num_draws, rng=rng, groups=runs.group if has_groups else None)
    log_k = np.log(flops_per_param_image or flops_constant(runs))
    pivot = float(np.mean(runs.log_c))
    log_n, exponent = log_optimum(boot.params, pivot - log_k)[0]
    boot = boot.keep(np.asarray(~np.isnan(log_n + exponent)))
    size, data = (_line(which, fit.params, boot.params, pivot, log_k, fit.degrees_of_freedom) for which in (0, 1))
    points = pd.DataFrame({
        "compute_flops": np.exp(runs.log_c), "num_params": np.exp(runs.log_n),
        "images_seen": np.exp(runs.log_d), "y": runs.y,
    })  # fmt: skip
    return AllocationFit("parametric", size, data, points, (*fit.warnings, *boot.warnings, *_uneven(runs)), fit=fit)


def _line(
    which: int, params: dict[str, float], draws: dict[str, np.ndarray], pivot: float, log_k: float, freedom: float
) -> PowerLine:
    value, exponent = log_optimum(params, pivot - log_k)[which]
    drawn = np.stack(log_optimum(draws, pivot - log_k)[which], axis=1)
    return PowerLine(pivot, float(value), float(exponent), drawn, freedom)


def _uneven(runs: Runs) -> tuple[FitWarning, ...]:
    ratio = float(np.exp(np.ptp(runs.log_c - runs.log_n - runs.log_d)))
    if ratio <= _UNEVEN:
        return ()
    text = f"compute per parameter and image differs {ratio:.3g}-fold between runs: k N D is a rough model of it"
    return (FitWarning("uneven_compute", text),)
