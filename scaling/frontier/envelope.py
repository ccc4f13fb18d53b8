"""Approach 1: which run has the least loss at each compute, over training curves or over finished runs."""

from __future__ import annotations

import numpy as np

from ..errors import FitError
from ..intervals.bootstrap import case_weights
from .allocation import AllocationFit, Runs, power_line
from .curves import compute_grid, curve_on_grid

__all__ = ["fit_envelope"]

_MOST_CANDIDATES = 32  # a draw misses all of the best 32 curves once in e^32
_PART = 250  # draws at once: some 10 MB


def fit_envelope(
    runs: Runs, smoothing: float, tolerance: float, num_draws: int, rng: np.random.Generator
) -> AllocationFit:
    """Power laws through the best run at each compute.

    Where the smallest or the largest size is the best the optimum may lie beyond: these are left out.

    Args:
        smoothing: standard deviation, in log compute, of the kernel that smooths a training curve.
        tolerance: of finished runs, how much more compute a run may have that beats another at equal compute.

    Raises:
        FitError: fewer than three sizes, or no best run of a size between.
    """
    if np.unique(runs.log_n).size < 3:
        raise FitError("the envelope needs three model sizes: the optimum may lie beyond the smallest and largest")
    has_curves = np.bincount(runs.run).max() > 1
    if has_curves:
        return _of_curves(runs, smoothing, num_draws, rng)
    return _of_runs(runs, tolerance, num_draws, rng)


def _of_runs(runs: Runs, tolerance: float, num_draws: int, rng: np.random.Generator) -> AllocationFit:
    """Over the finished runs that none of up to a tolerance more compute beats; each draw of the runs takes its own."""
    counts = _all_and_draws(runs.group, num_draws, rng)
    weights = _frontier(runs.log_c, runs.y, counts > 0, tolerance)
    weights &= _is_between(runs.log_n, runs.log_n, counts > 0)
    log_n, log_d, y = (np.broadcast_to(values, counts.shape) for values in (runs.log_n, runs.log_d, runs.y))
    return _fitted(runs.log_c, log_n, log_d, y, weights)


def _frontier(log_c: np.ndarray, y: np.ndarray, drawn: np.ndarray, tolerance: float) -> np.ndarray:
    """The frontier of each row's drawn runs, shape (rows, n).

    Runs of one budget differ a little in compute: without a tolerance those of less are on the frontier, however bad.
    """
    order = np.lexsort((y, log_c))
    log_c, heights = log_c[order], np.where(drawn[:, order], y[order], np.inf)
    best = np.minimum.accumulate(np.pad(heights, ((0, 0), (1, 0)), constant_values=np.inf), axis=1)
    last = np.searchsorted(log_c, log_c + np.log1p(tolerance), side="right")
    kept = np.empty(drawn.shape, dtype=bool)
    kept[:, order] = (heights <= best[:, last]) & (heights < best[:, :-1])
    return kept


def _of_curves(runs: Runs, smoothing: float, num_draws: int, rng: np.random.Generator) -> AllocationFit:
    """At 1500 values of compute, over curves that are smoothed and interpolated; a draw is one of the curves."""
    grid = compute_grid(runs.log_c)
    rows = [np.flatnonzero(runs.run == number) for number in range(runs.run.max() + 1)]
    curves = [runs.take(own[np.argsort(runs.log_c[own])]) for own in rows]
    loss = np.stack([curve_on_grid(curve.log_c, _smoothed(curve.log_c, curve.y, smoothing), grid) for curve in curves])
    log_d = np.stack([curve_on_grid(curve.log_c, curve.log_d, grid) for curve in curves])
    log_n, group = (np.array([getattr(curve, name)[0] for curve in curves]) for name in ("log_n", "group"))
    counts = _all_and_draws(group, num_draws, rng)
    order, places = np.argsort(loss, axis=0)[:_MOST_CANDIDATES], np.arange(grid.size)
    parts = np.split(counts > 0, range(_PART, len(counts), _PART))
    best = np.concatenate([order[np.argmax(part[:, order], axis=1), places] for part in parts])
    drawn = np.take_along_axis(counts, best, axis=1) > 0
    lowest = loss[best, places]
    weights = drawn & np.isfinite(lowest) & _is_between(log_n[best], log_n, counts > 0)
    return _fitted(grid, log_n[best], log_d[best, places], lowest, weights.astype(int))


def _all_and_draws(group: np.ndarray, num_draws: int, rng: np.random.Generator) -> np.ndarray:
    """How often each run counts: once in row 0, in the others as drawn."""
    drawn = case_weights(group.size, num_draws, rng, group)
    return np.concatenate([np.ones((1, group.size), dtype=int), drawn])


def _is_between(best: np.ndarray, log_n: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Whether a size is neither the smallest nor the largest that was drawn; best (n,) or (num_draws, n)."""
    smallest = np.where(drawn, log_n, np.inf).min(axis=1, keepdims=True)
    largest = np.where(drawn, log_n, -np.inf).max(axis=1, keepdims=True)
    return (best > smallest) & (best < largest)


def _fitted(
    log_c: np.ndarray, log_n: np.ndarray, log_d: np.ndarray, y: np.ndarray, weights: np.ndarray
) -> AllocationFit:
    """Row 0 is the fit, the others are draws; all of shape (1 + num_draws, number of compute) but log_c."""
    import pandas as pd

    kept = weights[0] > 0
    if not kept.any():
        raise FitError("the best runs are of the smallest or the largest size: the optimum may lie beyond")
    size, failed = power_line(log_c, log_n[0], weights[0], log_n[1:], weights[1:])
    data, _ = power_line(log_c, log_d[0], weights[0], log_d[1:], weights[1:])
    order = np.flatnonzero(kept)[np.argsort(log_c[kept], kind="stable")]
    points = pd.DataFrame({
        "compute_flops": np.exp(log_c[order]), "num_params": np.exp(log_n[0, order]),
        "images_seen": np.exp(log_d[0, order]), "y": y[0, order],
    })  # fmt: skip
    return AllocationFit("envelope", size, data, points, failed)


def _smoothed(log_c: np.ndarray, y: np.ndarray, bandwidth: float) -> np.ndarray:
    """Local straight lines with a Gaussian kernel in log compute: unbiased at the ends of a curve, unlike a mean."""
    if bandwidth == 0 or y.size < 3:
        return y
    distance = log_c[None, :] - log_c[:, None]
    weight = np.exp(-0.5 * (distance / bandwidth) ** 2)
    s0, s1, s2 = weight.sum(axis=1), (weight * distance).sum(axis=1), (weight * distance**2).sum(axis=1)
    t0, t1 = weight @ y, (weight * distance) @ y
    spread = s0 * s2 - s1**2
    has_slope = spread > 1e-9 * (s0 * bandwidth) ** 2  # neighbours far beyond the kernel say nothing
    return np.where(has_slope, (s2 * t0 - s1 * t1) / np.where(has_slope, spread, 1.0), t0 / s0)
