"""How model size and images seen grow with compute: the power laws that one approach finds, with draws of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import FitError, FitWarning
from ..fitting.fit import Fit
from ..frames import check_columns, check_frame, loss_column, positive_column
from ..groups import number_groups
from ..intervals.draws import failed_draws
from ..prediction import check_level
from ..quantiles import expanded_level, student_quantile

if TYPE_CHECKING:
    import pandas as pd

    from .isoflop import IsoflopBudgets

__all__ = ["AllocationFit", "PowerLine", "Runs", "power_line", "read_runs"]


@dataclass(frozen=True)
class Runs:
    """Columns of runs as float64, shape (n,): log compute, log parameters, log images, loss, and the run of each row.

    `group` numbers what a bootstrap draws together.
    """

    log_c: np.ndarray
    log_n: np.ndarray
    log_d: np.ndarray
    y: np.ndarray
    run: np.ndarray
    group: np.ndarray

    def take(self, rows: np.ndarray) -> Runs:
        return Runs(*(getattr(self, name)[rows] for name in ("log_c", "log_n", "log_d", "y", "run", "group")))

    def last_rows(self) -> np.ndarray:
        """Index of the last row of each run: the one with the most compute."""
        order = np.lexsort((self.log_c, self.run))
        is_last = np.append(np.diff(self.run[order]) > 0, True)
        return np.sort(order[is_last])


def read_runs(
    frame: pd.DataFrame, *, y: str, num_params: str, images_seen: str, compute: str | None, run: str,
    groups: str | None, flops_per_param_image: float | None,
) -> Runs:  # fmt: skip
    """The columns that an allocation needs, checked; compute is k N D where there is no column of it."""
    check_frame(frame)
    if frame.empty:
        raise ValueError("runs must have a row or more, got none")
    if not isinstance(run, str):
        raise ValueError(f"run must be the name of a column, got {run!r}")
    values = loss_column(frame, y)
    log_n, log_d = _log_column(frame, num_params), _log_column(frame, images_seen)
    if compute is not None:
        log_c = _log_column(frame, compute)
    elif flops_per_param_image is None:
        raise ValueError("compute=None needs flops_per_param_image=, such as 6 for language: compute is that times N D")
    else:
        log_c = np.log(flops_per_param_image) + log_n + log_d
    place = _labels(frame, run) if run in frame else np.arange(len(frame))
    group = place if groups is None else _labels(frame, groups)
    runs = Runs(log_c, log_n, log_d, values, place, group)
    _check_repeats(frame, runs, run)
    _check_one_size(frame, runs, run, num_params)
    return runs


def _log_column(frame: pd.DataFrame, name: str) -> np.ndarray:
    return np.log(positive_column(frame, name))


def _labels(frame: pd.DataFrame, name: str) -> np.ndarray:
    check_columns(frame, name)
    return number_groups(frame[name].to_numpy(dtype=object), len(frame))[1]


def _check_repeats(frame: pd.DataFrame, runs: Runs, run: str) -> None:
    """Two rows of one run at one compute, e.g. of two kinds of weights, are no training curve."""
    order = np.lexsort((runs.log_c, runs.run))
    same = (np.diff(runs.run[order]) == 0) & (np.diff(runs.log_c[order]) == 0)
    if same.any():
        first, second = order[:-1][same][0], order[1:][same][0]
        raise ValueError(
            f"a run must have one row at each compute; {run} {frame[run].iloc[first]!r} has rows {first} and {second}:"
            " keep one kind of weights"
        )


def _check_one_size(frame: pd.DataFrame, runs: Runs, run: str, num_params: str) -> None:
    order = np.lexsort((runs.log_n, runs.run))
    differ = (np.diff(runs.run[order]) == 0) & (np.diff(runs.log_n[order]) != 0)
    if differ.any():
        row = order[:-1][differ][0]
        num = np.unique(runs.log_n[runs.run == runs.run[row]]).size
        raise ValueError(f"a run has one {num_params}; {run} {frame[run].iloc[row]} has {num}")


@dataclass(frozen=True, repr=False, eq=False)
class PowerLine:
    """v = exp(log_value) (C / exp(pivot))^exponent.

    Attributes:
        pivot: log compute at which the value is held.
        log_value, exponent: of the fit.
        draws: of both, shape (num_draws, 2).
        degrees_of_freedom: of the residuals that the draws come of; intervals are expanded as Student's t is.
    """

    pivot: float
    log_value: float
    exponent: float
    draws: np.ndarray
    degrees_of_freedom: float = np.inf

    def predict(self, compute: np.ndarray) -> np.ndarray:
        return np.exp(self.log_value + self.exponent * (np.log(compute) - self.pivot))

    def interval(self, compute: np.ndarray, level: float) -> np.ndarray:
        """Low and high, shape (2, number of compute)."""
        distance = np.log(compute) - self.pivot
        return np.exp(self.quantiles(self.draws[:, :1] + self.draws[:, 1:] * distance, level))

    def exponent_interval(self, level: float) -> tuple[float, float]:
        low, high = self.quantiles(self.draws[:, 1], level)
        return float(low), float(high)

    def quantiles(self, draws: np.ndarray, level: float) -> np.ndarray:
        """Ends of the central interval of draws along axis 0, open where nothing tells how wide it is."""
        check_level(level)
        if self.degrees_of_freedom <= 0:
            return np.stack([np.full(draws.shape[1:], end) for end in (-np.inf, np.inf)])
        if np.isfinite(self.degrees_of_freedom):
            level = expanded_level(student_quantile(level, self.degrees_of_freedom))
        low = np.quantile(draws, (1 - level) / 2, axis=0, method="lower")
        return np.stack([low, np.quantile(draws, (1 + level) / 2, axis=0, method="higher")])


@dataclass(frozen=True, repr=False, eq=False)
class AllocationFit:
    """What one approach says. Held by `OptimalAllocation.fits`.

    Attributes:
        approach: "envelope", "isoflop" or "parametric".
        num_params, images_seen: their power laws of compute.
        points: what these were fitted to, a row each: compute_flops, num_params, images_seen, y; of "isoflop" one a
            budget, with `reason` where it was refused; of "parametric" the runs.
        warnings: what a reader must know.
        fit: the law, of "parametric".
        budgets: runs and parabolas, of "isoflop".
    """

    approach: str
    num_params: PowerLine
    images_seen: PowerLine
    points: pd.DataFrame
    warnings: tuple[FitWarning, ...] = ()
    fit: Fit | None = None
    budgets: IsoflopBudgets | None = None

    def sum_interval(self, level: float) -> tuple[float, float]:
        """Interval of the sum of both exponents: 1 where compute is a constant times N D."""
        exponents = self.num_params.draws[:, 1] + self.images_seen.draws[:, 1]
        low, high = self.num_params.quantiles(exponents, level)
        return float(low), float(high)

    def beyond_sizes(self, runs: Runs, compute: np.ndarray) -> list[str]:
        """Where the optimum at so much compute is below or above all sizes of the runs."""
        found = []
        smallest, largest = np.exp([runs.log_n.min(), runs.log_n.max()])
        for at, size in zip(compute, self.num_params.predict(compute), strict=True):
            text = f"optimum {size:.3g} at compute {at:.3g}, {{}} model tried"
            if size < smallest:
                found.append(text.format(f"below {smallest:.3g}, the smallest"))
            if size > largest:
                found.append(text.format(f"above {largest:.3g}, the largest"))
        return found


def power_line(
    log_c: np.ndarray, log_v: np.ndarray, weights: np.ndarray, drawn_v: np.ndarray, drawn_weights: np.ndarray,
    degrees_of_freedom: float = np.inf,
) -> tuple[PowerLine, tuple[FitWarning, ...]]:  # fmt: skip
    """A straight line in log-log through weighted points (n,), and through those of each draw (num_draws, n).

    Raises:
        FitError: the points, or those of every draw, lie at one compute.
    """
    pivot = float(np.average(log_c, weights=weights))
    line = _lines(log_c - pivot, log_v[None], weights[None])
    if not np.isfinite(line).all():
        raise FitError("all optima lie at one compute: there is no exponent")
    draws = _lines(log_c - pivot, drawn_v, drawn_weights)
    draws = draws[np.isfinite(draws).all(axis=1)]
    num_failed = len(drawn_weights) - len(draws)
    if len(draws) == 0:
        raise FitError("no bootstrap draw has optima at two values of compute: there is no interval of the exponent")
    found = failed_draws(num_failed, len(drawn_weights), "optima at fewer than two values of compute")
    return PowerLine(pivot, float(line[0, 0]), float(line[0, 1]), draws, degrees_of_freedom), found


def _lines(distance: np.ndarray, log_v: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Value at distance 0 and slope of each row's weighted line, shape (rows, 2); nan where it has none."""
    v = np.where(weights > 0, log_v, 0.0)  # an optimum that was refused may be nan
    weights = weights.astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = weights.sum(axis=1)
        mean_c, mean_v = weights @ distance / total, np.sum(weights * v, axis=1) / total
        apart = weights * (distance - mean_c[:, None])
        spread = np.sum(apart * (distance - mean_c[:, None]), axis=1)
        tiny = 1e-12 * total * np.max(np.abs(distance), initial=0.0) ** 2  # rounding of equal compute
        slope = np.where(spread > tiny, np.sum(apart * v, axis=1) / spread, np.nan)
        return np.stack([mean_v - slope * mean_c, slope], axis=1)
