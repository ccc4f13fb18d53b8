"""From compute to downstream accuracy through the upstream error, and back from a target to its compute."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from .errors import warning_lines
from .fitting.fit import Fit
from .frontier import FrontierFit
from .inputs import check_num_draws, check_positive, generator, numbers
from .intervals.derived import independent_draws, widest
from .intervals.draws import BootstrapFit
from .notebook_view import NotebookView
from .prediction import Prediction, check_level
from .selection.worlds import first_fall
from .transfer import TransferFit

__all__ = ["Chain", "ComputeTarget", "chain"]

_TINY = np.finfo(float).tiny
_SAME = 1e-9  # difference of two upstream errors that is rounding
_SEARCHED = 1e6  # how far beyond the runs, to both sides, a target is looked for, as a factor
_NUM_SEARCHED = 2000  # values of compute, between which each draw is interpolated in log and log


@dataclass(frozen=True, repr=False)
class ComputeTarget:
    """The compute at which a downstream accuracy is reached. Made by `Chain.solve_for_compute`.

    Attributes:
        accuracy: the target.
        compute: of the central laws, in units of the frontier's x; inf where they never reach it.
        low, high: interval of the compute; inf where that share of the draws never reaches it, or not below `searched`.
        level: of the intervals.
        probability_never: share of the draws that saturate below the target, however much the compute; the ends of an
            interval may be of a little more of them, as those of the first law's intervals are (`bootstrap_fit`).
        saturation, saturation_interval: downstream accuracy at infinite compute.
        searched: the largest compute that was looked at.
    """

    accuracy: float
    compute: float
    low: float
    high: float
    level: float
    probability_never: float
    saturation: float
    saturation_interval: tuple[float, float]
    searched: float

    def __repr__(self) -> str:
        low, high = self.saturation_interval
        head = f"downstream accuracy {self.accuracy:g}: "
        saturates = f"it saturates at {self.saturation:.3f} ({self.level:.0%} interval {low:.3f} to {high:.3f})"
        if np.isinf(self.compute):
            return f"{head}never: {saturates}; below the target with probability {self._never}"
        span = f"({self.level:.0%} interval {self._end(self.low)} to {self._end(self.high)})"
        never = f"; never with probability {self._never}" if self.probability_never > 0 else ""
        return f"{head}compute {self.compute:.3g} {span}{never}; {saturates}"

    @property
    def _never(self) -> str:
        share = self.probability_never
        return "under 0.01" if share < 0.01 else "over 0.99" if share > 0.99 else f"{share:.2f}"

    def _end(self, value: float) -> str:
        if np.isfinite(value):
            return f"{value:.3g}"
        return "never" if self.probability_never > (1 - self.level) / 2 else f"beyond {self.searched:.0e}"


@dataclass(frozen=True, repr=False, eq=False)
class Chain(NotebookView):
    """Downstream accuracy of the best model of a compute, by two laws. Made by `chain`.

    Attributes:
        front: compute -> upstream error.
        trans: upstream -> downstream accuracy.
        front_draws, trans_draws: draws of both, equally many, those of the two independent of each other.
    """

    front: FrontierFit | Fit
    trans: TransferFit
    front_draws: BootstrapFit
    trans_draws: BootstrapFit

    @property
    def compute(self) -> np.ndarray:
        """Of all runs of the frontier, shape (n,)."""
        return self.front.x

    @property
    def has_shared_runs(self) -> bool:
        """Whether both laws were fitted to the same runs in the same order, as their upstream errors show."""
        errors = 1 - self.trans.upstream
        return self.front.y.shape == errors.shape and bool(np.allclose(self.front.y, errors, rtol=0, atol=_SAME))

    @overload
    def predict(self, compute: ArrayLike, level: None = None) -> np.ndarray: ...
    @overload
    def predict(self, compute: ArrayLike, level: float) -> Prediction: ...
    def predict(self, compute: ArrayLike, level: float | None = None) -> np.ndarray | Prediction:
        """Downstream accuracy of the best model of each compute, of any shape; with a `level` a `Prediction`.

        Raises:
            ValueError: a compute that is not positive.

        Warns:
            FitWarning: `extrapolation` more than a decade beyond the runs.
        """
        compute = check_positive("compute", numbers("compute", compute))
        with np.errstate(over="ignore"):  # far below the runs: an error of inf is cut at 1
            median = self._accuracy(self.front.predict(compute))
        if level is None:
            return median
        draws = 1 - self._errors(np.ravel(compute))
        low, high = (np.clip(end, 0, 1).reshape(median.shape) for end in self._quantiles(draws, level))
        return Prediction(compute, median, low, high, level, "confidence")

    @property
    def saturation(self) -> float:
        """Downstream accuracy at infinite compute: the transfer law at the frontier's irreducible error."""
        return float(self._accuracy(np.array([self._front_fit.limit]))[0])

    def saturation_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval of the saturation."""
        low, high = np.clip(self._quantiles(self._saturations, level), 0, 1)
        return float(low), float(high)

    def solve_for_compute(self, downstream_accuracy: float, level: float = 0.95) -> ComputeTarget:
        """The compute that reaches a downstream accuracy, or that it is never reached, with which probability.

        Raises:
            ValueError: an accuracy outside (0, 1), or a level.
        """
        is_number = np.ndim(downstream_accuracy) == 0 and np.asarray(downstream_accuracy).dtype.kind in "fiu"
        if not (is_number and 0 < downstream_accuracy < 1):
            raise ValueError(f"downstream_accuracy must be one number in (0, 1), got {downstream_accuracy!r}")
        check_level(level)
        error, bayes = 1 - float(downstream_accuracy), self.trans.upstream_bayes_error
        upstream = float(self.trans.fit.solve_for_x(error))
        central = self._front_fit.solve_for_x(upstream) if upstream > 0 and upstream >= bayes else np.inf
        grid = np.geomspace(self.compute.min() / _SEARCHED, _SEARCHED * self.compute.max(), _NUM_SEARCHED)
        logs = np.log(np.maximum(self._errors(grid), _TINY))
        low, high = self._quantiles(first_fall(logs, np.log(grid), np.log(error)), level)
        never = np.mean(self._saturations < downstream_accuracy)
        saturation = (self.saturation, self.saturation_interval(level))
        return ComputeTarget(
            float(downstream_accuracy),
            float(central),
            float(low),
            float(high),
            level,
            float(never),
            *saturation,
            grid[-1],
        )

    @property
    def _front_fit(self) -> Fit:
        return self.front if isinstance(self.front, Fit) else self.front.fit

    def _quantiles(self, draws: np.ndarray, level: float) -> np.ndarray:
        return widest([self.front_draws, self.trans_draws]).quantiles(draws, level)

    def _accuracy(self, upstream_error: np.ndarray) -> np.ndarray:
        return np.clip(1 - self.trans.fit.predict(self._possible(upstream_error)), 0, 1)

    def _possible(self, upstream_error: np.ndarray) -> np.ndarray:
        """No upstream error is above 1, or below the Bayes error; a law of it takes positive ones."""
        return np.clip(upstream_error, max(self.trans.upstream_bayes_error, _TINY), 1.0)

    def _errors(self, compute: np.ndarray) -> np.ndarray:
        """Each draw's downstream error at each compute, (num_draws, number of compute)."""
        with np.errstate(over="ignore"):  # far below the runs: an error of inf is cut at 1
            upstream = self.front_draws.values(compute)
        return self.trans_draws.values_at_own(self._possible(upstream))

    @cached_property
    def _saturations(self) -> np.ndarray:
        """Each draw's downstream accuracy at infinite compute, (num_draws,)."""
        return 1 - self.trans_draws.values_at_own(self._possible(self.front_draws.limits[:, None]))[:, 0]

    def __repr__(self) -> str:
        return self.summary()

    def summary(self, level: float = 0.95) -> str:
        """Both laws, and the accuracy of the best model at the largest compute, at ten times that, and in the end."""
        largest = float(self.compute.max())
        low, high = self.saturation_interval(level)
        lines = [f"compute -> upstream -> downstream; {len(self.front_draws.theta)} draws"]
        for name, fit in (("upstream error", self._front_fit), ("downstream error", self.trans.fit)):
            values = ", ".join(f"{param} = {value:.4g}" for param, value in fit.params.items())
            lines.append(f"  {name}: {fit.law.formula}, {values}")
        for factor in (1, 10):
            band = self.predict(factor * largest, level)
            ends = f"{level:.0%} interval {band.low:.4f} to {band.high:.4f}"
            lines.append(f"  accuracy at compute {factor * largest:.3g}: {band.median:.4f}, {ends}")
        lines.append(f"  saturation {self.saturation:.4f}, {level:.0%} interval {low:.4f} to {high:.4f}")
        return "\n".join(lines + self._notes())

    def _notes(self) -> list[str]:
        return warning_lines((*self.front.warnings, *self.trans.warnings))


def chain(
    front: FrontierFit | Fit,
    trans: TransferFit,
    *,
    num_draws: int = 2000,
    rng: np.random.Generator | None = None,
) -> Chain:
    """Join a law of compute and a law of transfer, the uncertainty of both carried through.

    The prediction is of the best model of a compute, well tuned and of the right size: a run off the frontier falls
    below. Draws of the two laws are taken for independent. Where both were fitted to the same 200 runs, nominal 95 %
    intervals of downstream accuracy at ten times the largest compute covered .975 (two stochastic frontiers) and .94
    (laws on Pareto and hull points) of 200 simulations (`tests/scaling/test_chain.py`).

    Args:
        front: from `fit_frontier` (or `fit_law`) of upstream errors, fractions, against compute.
        trans: from `fit_transfer`, of the same upstream error.
        num_draws: of a `Fit`, which has none yet.
        rng: source of the draws; None is `numpy.random.default_rng(0)`.

    Raises:
        ValueError: errors of `front` above 1, or a law that does not fall with compute.
        TypeError: results of other functions.

    >>> from scaling import fit_frontier, fit_transfer
    >>> compute, upstream = np.geomspace(1e15, 1e18, 20), np.linspace(0.1, 0.6, 11)
    >>> front = fit_frontier(compute, 0.4 * (compute / 1e15) ** -0.3 + 0.1, num_draws=50)
    >>> trans = fit_transfer(upstream, 1 - (0.7 * (1 - upstream) ** 2.5 + 0.1), num_draws=50)
    >>> both = chain(front, trans)
    >>> float(both.predict(1e18).round(4)), round(both.saturation, 4)
    (0.8939, 0.8978)
    >>> print(both.solve_for_compute(0.95))  # doctest: +ELLIPSIS
    downstream accuracy 0.95: never: it saturates at 0.898 ...; below the target with probability over 0.99
    """
    if not isinstance(front, FrontierFit | Fit) or not isinstance(trans, TransferFit):
        kinds = f"{type(front).__name__} and {type(trans).__name__}"
        raise TypeError(f"chain takes a result of fit_frontier (or fit_law) and one of fit_transfer, got {kinds}")
    check_num_draws(num_draws)
    law = front.law if isinstance(front, Fit) else front.fit.law
    if law.increasing or law.num_inputs != 1 or law.link is not None:
        raise ValueError(f"the law of upstream error against compute must fall with it, got {law.name!r}")
    if front.y.max() > 1:
        raise ValueError(f"upstream errors must be fractions as in the transfer law, the largest is {front.y.max():g}")
    draws = independent_draws(front, trans, num_draws=num_draws, rng=generator(rng))
    return Chain(front, trans, *draws)
