"""Draws of a fitted law, and the intervals that are read off them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError, FitWarning
from ..fitting.fit import Fit
from ..inputs import check_positive, numbers
from ..notebook_view import NotebookView
from ..prediction import Prediction, check_kind, check_level
from ..quantiles import expanded_level

__all__ = ["BootstrapFit", "failed_draws"]

_MANY_FAILED = 0.05  # share of draws without a fit from which on the intervals deserve a warning


@dataclass(frozen=True, repr=False, eq=False)
class BootstrapFit(NotebookView):
    """Draws of a fit. Made by `bootstrap_fit`, and carried by `FrontierFit` and `TransferFit`.

    Attributes:
        fit: the fit to all points.
        theta: parameters of each draw in scaled units, shape (num_draws, num_params).
        residual_draws: a residual for each draw, for prediction intervals, shape (num_draws,).
        num_failed: draws that have no fit (too few distinct points, or no minimum) and are left out.
        is_expanded: whether intervals are expanded from a normal to Student's quantile.
    """

    fit: Fit
    theta: np.ndarray
    residual_draws: np.ndarray
    num_failed: int
    is_expanded: bool = False

    @property
    def warnings(self) -> tuple[FitWarning, ...]:
        """That many draws failed, where they did."""
        return failed_draws(self.num_failed, len(self.theta) + self.num_failed)

    def take(self, rows: np.ndarray) -> BootstrapFit:
        """Those of the draws."""
        return replace(self, theta=self.theta[rows], residual_draws=self.residual_draws[rows])

    def keep(self, mask: np.ndarray) -> BootstrapFit:
        """Those of the draws; the others count as failed.

        Raises:
            FitError: none is left.
        """
        if not mask.any():
            raise FitError("no bootstrap draw has what is asked of the law, such as an optimum")
        return replace(self.take(np.flatnonzero(mask)), num_failed=self.num_failed + int((~mask).sum()))

    @cached_property
    def params(self) -> dict[str, np.ndarray]:
        """Each parameter's draws in the user's units, shape (num_draws,)."""
        with np.errstate(all="ignore"):
            values = self.fit.law.in_units(self.theta, self.fit.x_unit, self.fit.y_unit)
        return dict(zip(self.fit.law.params, values.T, strict=True))

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Percentile interval of a parameter.

        Raises:
            ValueError: the law has no such parameter, or the level is outside (0, 1).
        """
        self.fit.law.index(name)
        low, high = self.quantiles(self.params[name], level)
        return float(low), float(high)

    def values(self, x: ArrayLike) -> np.ndarray:
        """Each draw's law at x, shape (num_draws, number of x)."""
        scaled, _ = self.fit.scaled(check_positive("x", numbers("x", x)))
        return self._law(scaled) * self.fit.y_unit

    def values_at_own(self, x: np.ndarray) -> np.ndarray:
        """Each draw's law, of one variable, at values x of its own: both (num_draws, number of x)."""
        return self._law(check_positive("x", x) / self.fit.x_unit) * self.fit.y_unit

    def _law(self, scaled: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return self.fit.law.value(self.theta, scaled)

    @property
    def limits(self) -> np.ndarray:
        """What each draw's law falls to at infinite x, shape (num_draws,)."""
        return self.fit.law.limit(self.theta) * self.fit.y_unit

    def solve_for_x(self, y: ArrayLike) -> np.ndarray:
        """Each draw's x at which the law takes the value y, inf where it never does: shape (num_draws, number of y)."""
        return self.fit.law.inverse(self.theta, np.ravel(y) / self.fit.y_unit) * self.fit.x_unit

    def predict(self, x: ArrayLike, level: float = 0.95, kind: str = "confidence") -> Prediction:
        """The law at x with a percentile interval; `kind` "prediction" adds the scatter of one new point."""
        check_kind(kind)
        x = numbers("x", x)
        median = self.fit.predict(x)
        draws = self.values(x)
        if kind == "prediction":
            draws = self._add_residuals(draws)
        low, high = (bound.reshape(median.shape) for bound in self.quantiles(draws, level))
        return Prediction(x, *self.fit.cut(median, low, high), level, kind)

    def _add_residuals(self, draws: np.ndarray) -> np.ndarray:
        link, unit = self.fit.problem.link, self.fit.y_unit
        with np.errstate(all="ignore"):
            return link.backward(link.forward(draws / unit) + self.residual_draws[:, None]) * unit

    def __repr__(self) -> str:
        return "\n".join(
            [f"bootstrap of {len(self.theta)} draws, {self.num_failed} failed", *self.interval_lines(0.95)]
        )

    def interval_lines(self, level: float) -> list[str]:
        """An interval for each parameter, a line each, for summaries."""
        ends = {name: self.interval(name, level) for name in self.params}
        return [f"  {name:>6}: {level:.0%} interval {low:.4g} to {high:.4g}" for name, (low, high) in ends.items()]

    def quantiles(self, draws: np.ndarray, level: float) -> np.ndarray:
        """Lower and upper end of the central interval of draws along axis 0; an inf among them is a value."""
        check_level(level)
        level = expanded_level(self.fit.student_quantile(level)) if self.is_expanded else level
        ends = [(1 - level) / 2, (1 + level) / 2]
        if np.all(np.isfinite(draws)):
            return np.quantile(draws, ends, axis=0)
        return np.stack(
            [np.quantile(draws, end, axis=0, method=how) for end, how in zip(ends, ("lower", "higher"), strict=True)]
        )


def failed_draws(
    num_failed: int, total: int, why: str = "too few distinct points, or no optimum"
) -> tuple[FitWarning, ...]:
    """That many draws failed, where they did."""
    if num_failed <= _MANY_FAILED * total:
        return ()
    return (FitWarning("failed_draws", f"{num_failed} of {total} bootstrap draws had {why}"),)
