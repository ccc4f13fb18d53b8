"""Which cells to train next: those that narrow a prediction of a law the most for what they cost.

The draws of the present fit say how the law's value at each cell and at the target vary together. In log error both are
taken for jointly normal, so that a cell that is yet to be trained, with noise s, takes Cov(target, cell)^2 / (Var(cell)
+ s^2) off the variance of the prediction, whatever it will turn out to be: Bayesian c-optimal design (Chaloner and
Verdinelli 1995, Statistical Science 10, section 2.2), with the draws for the prior. Each choice is made given those
before it.
"""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scaling import FitError, FitWarning

if TYPE_CHECKING:
    from scaling.intervals.draws import BootstrapFit

__all__ = ["Pick", "Suggestions", "choose", "suggest"]

# Cells are added one by one by their reduction over FLOPs to one of these powers, and the best of the sets is kept:
# by the reduction alone (0) one cell eats the budget, per FLOP (1) the count is used up on the cheapest cells. The
# better of these two has a guarantee where gains diminish (Leskovec et al. 2007, KDD, section 3). Without the powers
# between them the width left is 1.0 to 1.5 times as large in simulated worlds, with 0.5 alone 1.0 to 1.3 times.
_POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
_LEAST = 1e-3  # of the present variance: a cell that takes off less is not worth a row
_FEWEST_DRAWS = 50  # a covariance of fewer says nothing


@dataclass(frozen=True)
class Pick:
    """A cell to train.

    Attributes:
        cell: its row among the candidates.
        flops: what it costs.
        reduction: what it takes off the variance of the log of the prediction, after the picks before it, as a share
            of the present variance.
        low, high: expected interval of the prediction after it and those before it.
    """

    cell: int
    flops: float
    reduction: float
    low: float
    high: float

    @property
    def reduction_per_flop(self) -> float:
        return self.reduction / self.flops


@dataclass(frozen=True)
class Suggestions:
    """The best cells for a budget, the most reduction per FLOP first.

    Attributes:
        target: the x of the prediction.
        value, low, high: the prediction there with its present interval at `level`.
        picks: none where no cell that the budget allows tells anything.
    """

    target: float
    value: float
    low: float
    high: float
    level: float
    picks: tuple[Pick, ...]

    @property
    def flops(self) -> float:
        """Of all picks."""
        return sum(pick.flops for pick in self.picks)

    @property
    def width_left(self) -> float:
        """Expected width of the interval in log error after all picks, as a share of the present one."""
        return float(np.sqrt(max(0.0, 1 - sum(pick.reduction for pick in self.picks))))


def suggest(
    draws: "BootstrapFit", target: float, x: np.ndarray, flops: np.ndarray, noise_std: np.ndarray, *,
    budget: float, count: int = 10, level: float = 0.95,
) -> Suggestions:  # fmt: skip
    """The cells whose outcomes would most narrow the law's interval at a target.

    Against the same compute on a plain grid, in simulated worlds of five laws, the interval is narrower by a tenth to a
    third (`tests/benchmarks/suggest_simulation.py`); on a frontier of runs with an excess it is not.

    Args:
        draws: of the present fit of a positive error, from `bootstrap_fit` or of a frontier.
        target: the x of the prediction.
        x, flops: of the candidates, positive, shape (n,).
        noise_std: standard deviation of the log error of a cell about the law, shape (n,).
        budget: FLOPs of all picks together.
        count: the most picks; a cell may be picked several times, which means other seeds of it.
        level: of the intervals.

    Raises:
        FitError: too few draws have a positive finite error at the target and the cells.

    >>> from scaling import bootstrap_fit, fit_law
    >>> x = np.geomspace(1e13, 1e15, 9)
    >>> noise = np.exp(0.03 * np.random.default_rng(0).standard_normal(9))
    >>> draws = bootstrap_fit(fit_law("power", x, 0.5 * (x / 1e13) ** -0.2 * noise), num_draws=500)
    >>> found = suggest(draws, 1e17, x, flops=x, noise_std=np.full(9, 0.03), budget=1e15)
    >>> found.picks[0].cell, found.picks[-1].cell, found.width_left < 0.9
    (0, 7, True)
    """
    logs = _log_values(draws, np.append(x, target))
    covariance = np.atleast_2d(np.cov(logs, rowvar=False))
    chosen = choose(covariance, noise_std**2, flops, budget, count)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FitWarning, message=".*decades beyond")  # as every target is
        band = draws.predict(np.array([target]), level)
    value, low, high = (float(end[0]) for end in band)
    shares = _reductions(covariance, noise_std**2, chosen) / covariance[-1, -1]
    picks, left = [], 1.0
    for cell, share in zip(chosen, shares, strict=True):
        left -= share
        ends = (float(value * (end / value) ** np.sqrt(max(left, 0.0))) for end in (low, high))
        picks.append(Pick(cell, float(flops[cell]), float(share), *ends))
    return Suggestions(float(target), value, low, high, level, tuple(picks))


def choose(covariance: np.ndarray, noise: np.ndarray, flops: np.ndarray, budget: float, count: int) -> list[int]:
    """The cells, the most reduction per FLOP first, each given those before it.

    Args:
        covariance: of the cells' values and, in the last row and column, the target's, shape (n + 1, n + 1).
        noise: variance of a new outcome about the cell's value, shape (n,).
        flops, budget, count: as in `suggest`.
    """
    if not flops.size:
        return []
    sets = [_greedy(covariance, noise, flops, budget, count, power) for power in _POWERS]
    best = max(sets, key=lambda chosen: _reductions(covariance, noise, chosen).sum())
    return _ranked(covariance, noise, flops, best)


def _greedy(
    covariance: np.ndarray, noise: np.ndarray, flops: np.ndarray, budget: float, count: int, power: float
) -> list[int]:
    chosen: list[int] = []
    least, cost = _LEAST * covariance[-1, -1], (flops / flops.max()) ** power
    while len(chosen) < count:
        gains = np.where(flops <= budget, _gains(covariance, noise), 0.0)
        cell = int(np.argmax(np.where(gains > least, gains / cost, 0.0)))
        if not gains[cell] > least:
            break
        chosen.append(cell)
        covariance, budget = _given(covariance, noise, cell), budget - flops[cell]
    return chosen


def _ranked(covariance: np.ndarray, noise: np.ndarray, flops: np.ndarray, chosen: list[int]) -> list[int]:
    """The same cells, each the one with the most reduction per FLOP that is left."""
    left, order = list(chosen), []
    while left:
        gains = _gains(covariance, noise) / flops
        cell = max(left, key=lambda row: gains[row])
        left.remove(cell)
        order.append(cell)
        covariance = _given(covariance, noise, cell)
    return order


def _reductions(covariance: np.ndarray, noise: np.ndarray, chosen: list[int]) -> np.ndarray:
    """What each cell takes off the target's variance after those before it."""
    found = []
    for cell in chosen:
        found.append(_gains(covariance, noise)[cell])
        covariance = _given(covariance, noise, cell)
    return np.array(found)


def _gains(covariance: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """What each cell would take off the target's variance, shape (n,)."""
    total = np.diag(covariance)[:-1] + noise
    return np.divide(covariance[-1, :-1] ** 2, total, out=np.zeros_like(total), where=total > 0)


def _given(covariance: np.ndarray, noise: np.ndarray, cell: int) -> np.ndarray:
    """The covariance once a cell's outcome is known."""
    column = covariance[:, cell]
    return covariance - np.outer(column, column) / (column[cell] + noise[cell])


def _log_values(draws: "BootstrapFit", x: np.ndarray) -> np.ndarray:
    """Log of each draw's law at each x, without the draws that have none: (number of draws, number of x)."""
    with np.errstate(all="ignore"):
        logs = np.log(draws.values(x))
    logs = logs[np.isfinite(logs).all(axis=1)]
    if len(logs) < _FEWEST_DRAWS:
        raise FitError(
            f"only {len(logs)} draws of the fit have a positive error at the target, of {_FEWEST_DRAWS} needed"
        )
    return logs
