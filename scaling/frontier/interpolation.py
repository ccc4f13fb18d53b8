"""The cost at which a frontier of runs reaches an error, by interpolation in log cost between its runs."""

import numpy as np

__all__ = ["frontier_costs"]


def frontier_costs(
    x: np.ndarray, y: np.ndarray, frontiers: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Cost at which each frontier reaches each target: log cost is linear in y between neighbours, never beyond.

    Args:
        x: costs of runs, positive, shape (n,).
        y: their errors, (n,), or (num_frontiers, n) where each frontier has its own.
        frontiers: which runs are on each, as `drawn_selection` of "pareto" gives them, shape (num_frontiers, n).
        targets: errors, shape (t,).

    Returns:
        Least and largest log cost, both (num_frontiers, t). They are one where a frontier passes the target. A frontier
        that stays above it says only that the cost is above its last run's (to inf), one that starts below it that the
        cost is at most its first run's (from -inf).

    Source: equal-compute comparison of Figure 5 of Dosovitskiy et al. 2020 (arXiv 2010.11929), from its Table 6.

    >>> x, y = np.array([1.0, 100.0, 1e4]), np.array([0.5, 0.3, 0.2])
    >>> low, high = frontier_costs(x, y, np.ones((1, 3)), np.array([0.4, 0.1]))
    >>> np.exp(low).round(6), np.exp(high).round(6)
    (array([[   10., 10000.]]), array([[10., inf]]))
    """
    order = np.argsort(x, kind="stable")
    logs, on = np.log(x[order]), frontiers[:, order] > 0
    y = np.where(on, np.broadcast_to(y, on.shape)[:, order], np.inf)
    best = np.minimum.accumulate(y, axis=1)
    # The last frontier run up to each place; -1 where there is none yet.
    last = np.maximum.accumulate(np.where(on, np.arange(logs.size), -1), axis=1)
    low, high = np.empty((2, len(on), len(targets)))
    for column, target in enumerate(targets):
        low[:, column], high[:, column] = _costs_at(logs, y, best, last, target)
    return low, high


def _costs_at(
    logs: np.ndarray, y: np.ndarray, best: np.ndarray, last: np.ndarray, target: float
) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest log cost of one target, both (num_frontiers,)."""
    rows = np.arange(len(y))
    is_reached = best[:, -1] <= target
    right = np.argmax(best <= target, axis=1)  # the first run that reaches it
    left = np.where(right > 0, last[rows, np.maximum(right - 1, 0)], -1)  # the frontier run before
    is_exact = is_reached & (y[rows, right] == target)
    left = np.where(is_exact, right, left)
    is_told = is_reached & (left >= 0)
    fall = np.subtract(y[rows, left], y[rows, right], out=np.zeros(len(y)), where=is_told)
    share = np.divide(y[rows, left] - target, fall, out=np.ones(len(y)), where=fall > 0)
    cost = logs[left] + share * (logs[right] - logs[left])
    low = np.where(is_reached, np.where(is_told, cost, -np.inf), logs[last[:, -1]])
    high = np.where(is_reached, np.where(is_told, cost, logs[right]), np.inf)
    return low, high
