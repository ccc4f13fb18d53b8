"""Approach 3 of Hoffmann et al. 2022 (arXiv 2203.15556): L = E + A N^-alpha + B D^-beta by L-BFGS from a grid."""

from collections.abc import Mapping
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from ..inputs import check_number, numbers
from ..laws.additive import log_optimum
from .result import PublishedFit, check_pairs, least_of_grid

__all__ = ["BESIROGLU_2024", "HOFFMANN_2022", "HOFFMANN_2022_ROUNDED", "compute_optimal_params", "hoffmann2022"]

HOFFMANN_2022 = {
    "E": float(np.exp(0.5267228)), "A": float(np.exp(6.0073404)), "B": float(np.exp(6.0179186)),
    "alpha": 0.33917084, "beta": 0.2849083,
}  # fmt: skip
"""Unrounded, from the TeX source of the paper: ln A, ln B, ln E, alpha, beta.

The rounded ones are 0.016 nats off at the size of Chinchilla.
"""

HOFFMANN_2022_ROUNDED = {"E": 1.69, "A": 406.4, "B": 410.7, "alpha": 0.34, "beta": 0.28}
"""As the paper prints them, Eq. 10."""

BESIROGLU_2024 = {"E": 1.8169, "A": 482.01, "B": 2085.43, "alpha": 0.34781, "beta": 0.36585}
"""Besiroglu et al. 2024 (arXiv 2404.10102): the same law refitted to the points read off the paper's Figure 4."""

# The grid of the paper, section D.3: ln A, ln B, ln E, alpha, beta.
_GRID = (
    np.arange(0.0, 30.0, 5.0), np.arange(0.0, 30.0, 5.0), np.arange(-1.0, 1.5, 0.5), np.arange(0.0, 2.5, 0.5),
    np.arange(0.0, 2.5, 0.5),
)  # fmt: skip
_REDUCTIONS = ("sum", "mean")
_FLOPS_PER_PARAM_AND_TOKEN = 6  # C = 6 N D


def hoffmann2022(
    x: ArrayLike,
    y: ArrayLike,
    *,
    delta: float = 1e-3,
    reduction: str = "sum",
    num_starts: int | None = None,
) -> PublishedFit:
    """Approach 3: Huber loss of log L against the log-sum-exp of (ln A - alpha ln N, ln B - beta ln D, ln E).

    On the 234 points read off the paper's Figure 4 the full grid takes a minute, and the best 10 starts reach the same
    minimum in a second (one BLAS thread: L-BFGS's small matrices are ten times slower with more).
    `fit_law("additive", x, y, objective="log_huber")` has the same objective and needs no starts.

    Args:
        x: parameters N and training tokens (or images) D; positive, shape (n, 2).
        y: final loss in nats; positive, shape (n,).
        delta: threshold of the Huber loss on log L.
        reduction: "sum" over points, or "mean": then the slopes are so small that L-BFGS, at its default tolerances,
            stops far from the minimum. It reproduces that.
        num_starts: only so many starts, those with the least objective and no two of them the same; None: all 4,500.

    Raises:
        ValueError: shapes, a row that is not positive and finite, or an unknown reduction.
        FitError: fewer than 5 points, or all N or all D equal.
    """
    from scipy.optimize import minimize

    x, y = check_pairs("hoffmann2022", x, y, min_points=5)
    if reduction not in _REDUCTIONS:
        raise ValueError(f"reduction must be one of {_REDUCTIONS}, got {reduction!r}")
    check_number("delta", delta, positive=True)
    log_x, log_y = np.log(x), np.log(y)
    share = 1.0 if reduction == "sum" else 1 / y.size
    starts = _starts(log_x, log_y, delta, num_starts)
    found = [minimize(_objective, start, (log_x, log_y, delta, share), method="L-BFGS-B", jac=True) for start in starts]
    best = min(found, key=lambda result: result.fun)
    log_a, log_b, log_e, alpha, beta = (float(value) for value in best.x)
    return PublishedFit(
        "hoffmann2022", "additive",
        {"E": float(np.exp(log_e)), "A": float(np.exp(log_a)), "B": float(np.exp(log_b)), "alpha": alpha, "beta": beta},
        float(best.fun), int(best.nit), len(starts), bool(best.success),
        note=f"L-BFGS at its default tolerances from a fixed grid of starts, objective: {reduction} over points",
        source="Hoffmann et al. 2022 (arXiv 2203.15556), approach 3, section D.3",
    )  # fmt: skip


def compute_optimal_params(params: Mapping[str, float], compute: ArrayLike) -> np.ndarray:
    """The number of parameters N that gives the least loss at so many FLOPs C = 6 N D: N = G (C / 6)^a.

    a = beta / (alpha + beta) and G = (alpha A / (beta B))^(1 / (alpha + beta)); D follows as C / (6 N).

    Args:
        params: of the law `additive`.
        compute: training FLOPs, any shape.

    Source: Hoffmann et al. 2022, Eq. 4.

    >>> float(compute_optimal_params(HOFFMANN_2022, 5.88e23).round(-9))  # the compute of Chinchilla
    41000000000.0
    """
    (log_n, _), _ = log_optimum(params, np.log(numbers("compute", compute) / _FLOPS_PER_PARAM_AND_TOKEN))
    return np.exp(log_n)


def _starts(log_x: np.ndarray, log_y: np.ndarray, delta: float, num_starts: int | None) -> np.ndarray:
    """Points of the grid, shape (num_starts, 5): all, or those with the least objective."""

    def objective(grid: np.ndarray) -> np.ndarray:
        return _huber(_log_sum_exp(grid, log_x)[0] - log_y, delta).sum(axis=1)

    return least_of_grid(np.array(list(product(*_GRID))), objective, num_starts)


def _objective(
    theta: np.ndarray, log_x: np.ndarray, log_y: np.ndarray, delta: float, share: float
) -> tuple[float, np.ndarray]:
    """The objective and its slope at theta = (ln A, ln B, ln E, alpha, beta)."""
    log_fitted, parts = _log_sum_exp(theta[None], log_x)
    residual = log_fitted[0] - log_y
    pull = np.clip(residual, -delta, delta) * parts[:, 0]  # (3, n): of ln A, ln B, ln E
    slope = np.array([*pull.sum(axis=1), -(pull[0] @ log_x[:, 0]), -(pull[1] @ log_x[:, 1])])
    return float(_huber(residual, delta).sum() * share), slope * share


def _log_sum_exp(theta: np.ndarray, log_x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log L at theta (g, 5), shape (g, n), and what share of L each of its three terms is, shape (3, g, n)."""
    log_a, log_b, log_e, alpha, beta = theta.T[..., None]
    terms = np.stack(
        [log_a - alpha * log_x[:, 0], log_b - beta * log_x[:, 1], np.broadcast_to(log_e, (len(theta), len(log_x)))]
    )
    top = terms.max(axis=0)
    shares = np.exp(terms - top)
    total = shares.sum(axis=0)
    return top + np.log(total), shares / total


def _huber(residual: np.ndarray, delta: float) -> np.ndarray:
    size = np.abs(residual)
    return np.where(size <= delta, residual**2 / 2, delta * (size - delta / 2))
