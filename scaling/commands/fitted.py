"""A fitted law with the kind of interval that was asked for: its parameters, predictions and targets as rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..fitting.fit import Fit
from ..fitting.grouped import GroupLaw
from ..intervals.bootstrap import bootstrap_fit
from ..intervals.derived import derived_interval
from ..intervals.draws import BootstrapFit
from ..intervals.profile import profile_interval
from ..plain import interval_or_none
from ..selection.usable import trainings

__all__ = ["INTERVALS", "FittedLaw", "decades_beyond", "fitted_law", "interval_columns", "never_reached"]

INTERVALS = ("delta", "residuals", "cases", "profile")


@dataclass(frozen=True)
class FittedLaw:
    """A law of one group of runs.

    Attributes:
        fit: from `fit_law`.
        kind: of the intervals, one of `INTERVALS`; of "profile" those of the parameters only.
        level: of the intervals.
        draws: of a bootstrap, None where it is not asked for.
        make_draws: makes those that the interval of a target is read off.
        x, y: the columns' names.
    """

    fit: Fit | GroupLaw
    kind: str
    level: float
    draws: BootstrapFit | None
    make_draws: Callable[[], BootstrapFit] | None
    x: str
    y: str

    def columns(self) -> dict[str, Any]:
        """Parameters with their intervals, and the scatter about the law."""
        row: dict[str, Any] = {}
        for name, value in self.fit.params.items():
            row |= {name: value} | interval_columns(name, interval_or_none(lambda name=name: self._interval(name)))
        return row | {"residual_std": float(self.fit.residual_std)}

    def _interval(self, name: str) -> tuple[float, float]:
        if isinstance(self.fit, Fit) and self.kind == "profile":
            return profile_interval(self.fit, name, self.level)
        if self.draws is not None and name not in self.draws.fit.at_bound:
            return self.draws.interval(name, self.level)
        return self.fit.interval(name, self.level)

    def predictions(self, at: Sequence[Any]) -> list[dict[str, Any]]:
        """A row an x: the law there, the interval of the curve and that of one new run."""
        return [self._prediction(x) for x in at]

    def _prediction(self, x: Any) -> dict[str, Any]:
        predict = (self.draws or self.fit).predict
        row = {"at": x if np.ndim(x) == 0 else ",".join(f"{value:.17g}" for value in x), "quantity": self.y}
        row |= {"median": float(self.fit.predict(np.asarray(x, dtype=float))), "low": None, "high": None}
        for name, kind in (("", "confidence"), ("prediction", "prediction")):
            ends = interval_or_none(lambda kind=kind: _ends(predict(np.asarray(x, dtype=float), self.level, kind)))
            row |= interval_columns(name, ends)
        is_line = self.fit.law.link is not None
        return row | {"decades_beyond": None if is_line else decades_beyond(x, self.fit.x)}

    def targets(self, targets: Sequence[float]) -> list[dict[str, Any]]:
        """A row an error: the x at which the law reaches it, inf where it never does."""
        return [self._target(target) for target in targets]

    def _target(self, target: float) -> dict[str, Any]:
        value = float(self._or_never(self.fit.solve_for_x(target)))
        ends = None
        if self.make_draws is not None:
            make = self.make_draws
            each = lambda draws: self._or_never(draws.solve_for_x(target)[:, 0])  # noqa: E731
            ends = interval_or_none(lambda: derived_interval(each, make(), level=self.level))
        beyond = decades_beyond(value, self.fit.x) if self.fit.law.link is None else None
        row = {"at": target, "quantity": self.x, "median": value, **interval_columns("", ends)}
        return row | {"prediction_low": None, "prediction_high": None, "decades_beyond": beyond}

    def _or_never(self, x: np.ndarray) -> np.ndarray:
        """inf where a target is never reached; of a law that grows with x that is 0."""
        return np.where(x == 0, np.inf, x) if self.fit.law.increasing else x


def fitted_law(
    fit: Fit | GroupLaw, kind: str, level: float, num_draws: int, rng: np.random.Generator, runs: pd.DataFrame,
    x: str, y: str,
) -> FittedLaw:  # fmt: skip
    """The law with what its intervals need.

    Raises:
        FitError: there is no bootstrap of it.
    """
    if isinstance(fit, GroupLaw):
        return FittedLaw(fit, kind, level, None, None, x, y)
    method, groups = "residual", None
    if kind == "cases":
        groups = trainings(runs)
        method = "case" if groups is None else "cluster"
    made: list[BootstrapFit] = []

    def make() -> BootstrapFit:
        if not made:
            made.append(bootstrap_fit(fit, num_draws=num_draws, method=method, groups=groups, rng=rng))
        return made[0]

    draws = make() if kind in ("residuals", "cases") else None
    return FittedLaw(fit, kind, level, draws, make, x, y)


def interval_columns(name: str, ends: Sequence[float] | None) -> dict[str, Any]:
    """
    >>> interval_columns("b", [0.2, 0.3]), interval_columns("", None)
    ({'b_low': 0.2, 'b_high': 0.3}, {'low': None, 'high': None})
    """
    low, high = ends or (None, None)
    return {f"{name}_low": low, f"{name}_high": high} if name else {"low": low, "high": high}


def decades_beyond(x: Any, known: np.ndarray) -> float:
    """How many factors of ten x lies outside the known ones, of several columns the most; 0 inside.

    >>> decades_beyond(1e4, np.array([1.0, 1e3])), decades_beyond(10, np.array([1.0, 1e3]))
    (1.0, 0.0)
    """
    known = np.atleast_2d(np.transpose(known))
    with np.errstate(divide="ignore"):
        far = np.maximum(np.asarray(x) / known.max(axis=1), known.min(axis=1) / np.asarray(x))
        return max(float(np.max(np.log10(far))), 0.0)


def never_reached(rows: Sequence[Mapping[str, Any]], x: str) -> bool:
    """Whether rows say at which x a target is reached, and none of them is."""
    reached = [row["median"] for row in rows if row["quantity"] == x]
    return bool(reached) and all(np.isinf(reached))


def _ends(band: Any) -> tuple[float, float]:
    return float(band.low), float(band.high)
