"""Compare laws by what they say of points that they were not fitted to."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FitError, FitWarning
from ..fitting.fit import Fit
from ..fitting.fit_law import quiet_fit
from ..inputs import check_positive, paired
from ..laws import LAWS, Law, find_law
from .holdout import Holdout, Window, find_windows

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BASELINES", "check_laws", "compare_laws", "positive_points"]

_NUM_LAST = 5  # points whose mean is a baseline
_OBJECTIVES = ("log_least_squares", "least_squares")  # the criteria need a likelihood of y


def compare_laws(
    x: ArrayLike,
    y: ArrayLike,
    laws: Sequence[str | Law] | None = None,
    holdout: Holdout = "above_share",
    objective: str = "log_least_squares",
) -> pd.DataFrame:
    """One row a law: its error on held-out points, and the criteria of its fit to all of them.

    Args:
        x: positive values, shape (n,): a cost, or for `transfer` and the lines the upstream error.
        y: errors (or losses), positive, shape (n,).
        laws: names or laws of one input; None takes every law of the table that falls with x. The lines are fitted
            to the accuracies 1 - x and 1 - y and scored on the errors, so that they compare with `transfer`.
        holdout: "above_share" (x above half its largest), "largest" (the 3 largest x), "rolling" (cut-offs at 1/8,
            1/4 and 1/2 of the largest x, each scored up to twice as far), "above_accuracy" (1 - x above .5), each
            also as (name, value), such as ("largest", 5); or a list of `scaling.ensemble.holdout.Window`.
        objective: "log_least_squares" or "least_squares".

    Returns:
        Rows sorted by held-out error, best first:

        - `law`, and `is_baseline` for what needs no fit: the last value and the mean of the last five;
        - `heldout_log_rmse`: root mean square of log prediction - log y, windows weighted equally; nan where a
          window cannot be fitted;
        - `fitted_log_rmse, aicc, bic, num_params, warnings` (kinds): of the fit to all points; the criteria are nan
          for a baseline, which has no likelihood. The criteria of a line are of the accuracies 1 - y;
        - `failure`: why there is no fit; empty where there is one.

    Raises:
        ValueError: x or y not positive, of two shapes, an unknown law, hold-out or objective.
        FitError: no window has points to fit and points to score.

    Source: the score of Alabdulmohsin et al. 2022 (arXiv 2209.06640); no-fit baselines after Choshen et al. 2024.

    >>> x = np.geomspace(1e18, 1e21, 12)
    >>> table = compare_laws(x, 0.5 * (x / 1e18) ** -0.25 + 0.1, laws=["power", "saturating_power"])
    >>> list(table.law)
    ['saturating_power', 'power', 'last_value', 'mean_of_last_5']
    """
    import pandas as pd

    x, y = positive_points(x, y)
    if objective not in _OBJECTIVES:
        raise ValueError(f"objective must be one of {_OBJECTIVES}, which have a likelihood, got {objective!r}")
    windows = find_windows(x, holdout)
    rows = [_law_row(law, x, y, windows, objective) for law in check_laws(laws)]
    rows += [_baseline_row(name, x, y, windows) for name in BASELINES]
    table = pd.DataFrame(rows)
    return table.sort_values("heldout_log_rmse", kind="stable", na_position="last", ignore_index=True)


def positive_points(x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Positive float64 arrays of one shape (n,).

    Raises:
        ValueError: they are not.
    """
    x, y = paired(x, y)
    if x.size == 0:
        raise ValueError("x and y must not be empty")
    return check_positive("x", x), check_positive("y", y)


def check_laws(laws: Sequence[str | Law] | None) -> list[Law]:
    """Laws of one input, each once.

    Raises:
        ValueError: none, one that is unknown, has two inputs, or occurs twice.
    """
    if laws is None:
        return [law for law in LAWS.values() if law.num_inputs == 1 and not law.increasing]
    if isinstance(laws, str) or not isinstance(laws, Iterable) or not (laws := list(laws)):
        raise ValueError(f"laws must be a list of at least one law, got {laws!r}")
    found = [find_law(law) for law in laws]
    names = [law.name for law in found]
    if len(set(names)) < len(names):
        raise ValueError(f"each of laws must occur once, got {names}")
    for law in found:
        if law.num_inputs != 1:
            raise ValueError(f"laws must have one input, got {law.name!r} of {law.num_inputs}")
    return found


def fit_quietly(law: Law, x: np.ndarray, y: np.ndarray, objective: str) -> Fit:
    """A fit whose warnings are only in it; a line is fitted to the accuracies 1 - x and 1 - y, on its own axes."""
    if law.link is None:
        return quiet_fit(law, x, y, objective)
    if max(x.max(), y.max()) > 1:
        raise FitError(f"{law.name} is a line between accuracies: x and y must be errors of at most 1, not costs")
    return quiet_fit(law, 1 - x, 1 - y)


def predict_quietly(fit: Fit, x: np.ndarray) -> np.ndarray:
    """Errors at x, however far; shape of x."""
    with warnings.catch_warnings(action="ignore", category=FitWarning):
        return fit.predict(x) if fit.law.link is None else 1 - fit.predict(1 - x)


def log_rmse(predicted: np.ndarray, y: np.ndarray) -> float:
    """Root mean square of log predicted - log y; inf where a prediction is 0."""
    with np.errstate(divide="ignore"):
        return float(np.sqrt(np.mean((np.log(predicted) - np.log(y)) ** 2)))


# Rows ---------------------------------------------------------------------------------------------------------


def _law_row(law: Law, x: np.ndarray, y: np.ndarray, windows: list[Window], objective: str) -> dict[str, Any]:
    failures = []
    try:
        row = _fitted_columns(fit_quietly(law, x, y, objective))
    except FitError as error:
        row = {"fitted_log_rmse": np.nan, "aicc": np.nan, "bic": np.nan, "num_params": len(law.params), "warnings": ()}
        failures.append(str(error))
    try:
        heldout = _over_windows([_score(law, x, y, window, objective) for window in windows])
    except FitError as error:
        heldout = np.nan
        failures.append(f"held out: {error}")
    head = {"law": law.name, "is_baseline": False, "heldout_log_rmse": heldout}
    return head | row | {"failure": "; ".join(failures)}


def _fitted_columns(fit: Fit) -> dict[str, Any]:
    x, y = (fit.x, fit.y) if fit.law.link is None else (1 - fit.x, 1 - fit.y)
    return {
        "fitted_log_rmse": log_rmse(predict_quietly(fit, x), y),
        "aicc": fit.aicc,
        "bic": fit.bic,
        "num_params": len(fit.law.params),
        "warnings": tuple(warning.kind for warning in fit.warnings),
    }


def _score(law: Law, x: np.ndarray, y: np.ndarray, window: Window, objective: str) -> float:
    fit = fit_quietly(law, x[window.fitted], y[window.fitted], objective)
    return log_rmse(predict_quietly(fit, x[window.scored]), y[window.scored])


def _over_windows(errors: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def _last_value(y: np.ndarray, distance: np.ndarray) -> float:
    return float(np.mean(y[distance == distance.min()]))


def _mean_of_last(y: np.ndarray, distance: np.ndarray) -> float:
    return float(np.mean(y[np.lexsort((y, distance))[:_NUM_LAST]]))


# What needs no fit, of the fitted y and their distances from the scored points: one constant.
BASELINES = {"last_value": _last_value, f"mean_of_last_{_NUM_LAST}": _mean_of_last}


def _baseline_row(name: str, x: np.ndarray, y: np.ndarray, windows: list[Window]) -> dict[str, Any]:
    errors = []
    for window in windows:
        distance = np.abs(np.log(x[window.fitted]) - np.log(x[window.scored]).mean())
        constant = BASELINES[name](y[window.fitted], distance)
        errors.append(log_rmse(np.full(window.scored.sum(), constant), y[window.scored]))
    return {
        "law": name, "is_baseline": True, "heldout_log_rmse": _over_windows(errors), "fitted_log_rmse": np.nan,
        "aicc": np.nan, "bic": np.nan, "num_params": 0, "warnings": (), "failure": "",
    }  # fmt: skip
