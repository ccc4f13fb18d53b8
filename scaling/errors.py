"""The one error and the one warning of a fit."""

import sys
import warnings
from collections.abc import Iterable
from typing import ClassVar

__all__ = ["FitError", "FitWarning", "first_line", "issue", "warning_lines"]


class FitError(ValueError):
    """A fit that cannot be had; the message says why."""


class FitWarning(UserWarning):
    """What a reader of a fit must know; `kind` is one of `FitWarning.KINDS`."""

    KINDS: ClassVar = {
        "at_bound": "a parameter sits at its bound: its interval is one-sided",
        "not_identified": "the data do not determine a parameter",
        "under_one_decade": "x spans less than one decade",
        "ridge": "the exponent is so small that the power law is a logarithm over these data",
        "few_points": "the fit has no degree of freedom left to estimate an error from",
        "extrapolation": "a prediction lies more than one decade beyond the data",
        "repeated_optimum": "several optima fit equally well and predict differently",
        "hidden_curvature": "the hull of this selection hides the curvature of the law",
        "few_effective_draws": "the draws of a posterior are worth few independent ones",
        "poor_fit": "the runs contradict the law, or the noise and excess of its stochastic frontier",
        "noisy_upstream": "noise of upstream accuracy alone would look like an effect of something else",
        "dropped_points": "points that have no finite value on the scale are left out",
        "repeated_x": "rows that share an x overwrite each other, as in the published procedure asked for",
        "failed_draws": "many bootstrap draws have no fit and are left out",
        "refused_budget": "an IsoFLOP budget has no minimum inside its model sizes and is left out",
        "uneven_compute": "compute is not the same multiple of parameters times images in all runs",
        "approaches_disagree": "two approaches to one quantity have intervals that do not overlap",
        "below_limit": "runs lie below the irreducible error of the law on their frontier",
        "no_law": "a group of runs has too few points for the law, or shows no trend",
        "unreached": "runs do not span an error that was asked for",
        "edge_of_range": "the best value of what was tuned lies at the end of those tried: a better one may lie beyond",
        "one_value": "a cell has one value of what is tuned, and nothing was chosen there",
        "unfinished_runs": "rows from inside a run, whose schedule had not ended, among rows of finished runs",
    }

    def __init__(self, kind: str, message: str):
        if kind not in self.KINDS:
            raise ValueError(f"kind of a FitWarning is one of {sorted(self.KINDS)}, got {kind!r}")
        super().__init__(kind, message)
        self.kind = kind

    def __str__(self) -> str:
        return self.args[1]


def first_line(error: Exception) -> str:
    """What an error says, or of one without a word its kind.

    >>> first_line(OSError()), first_line(ValueError("a\\nb"))
    ('OSError', 'a')
    """
    return (str(error).splitlines() or [type(error).__name__])[0]


def issue(*found: Warning) -> None:
    """Issue warnings at the line outside this package that led to them."""
    package, frame, level = __name__.partition(".")[0], sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    for warning in found:
        warnings.warn(warning, stacklevel=level)


def warning_lines(found: Iterable[FitWarning]) -> list[str]:
    """A line a warning, for summaries."""
    return [f"  warning ({warning.kind}): {warning}" for warning in found]
