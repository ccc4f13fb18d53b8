"""How the error of a transfer law depends on how many models it was fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..attempt import attempt, table_lines
from ..errors import FitError
from ..inputs import check_accuracies, generator
from ..intervals.draw_fits import solve_rows
from .fit import fit_to_selection
from .selection import TransferSelection, check_anchors
from .windows import FITS, HeldOut, Window, check_fits, check_windows, find_held_out, selection_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SampleSizes", "compare_sample_sizes"]

_ERRORS = ("fitting", "hull", "best", "all")
_SIZES = range(100, 1001, 100)
_NOTES = ["warnings", "reason"]


@dataclass(frozen=True, repr=False, eq=False)
class SampleSizes:
    """Errors of fits to samples of the models. Made by `compare_sample_sizes`.

    Attributes:
        table: mean and standard deviation over the trials; see `compare_sample_sizes`.
        trials: a row for each trial: fit, num_models, trial, error, mse, mae; one without a fit is not there.
        num_pool: models that the samples are drawn from.
    """

    table: pd.DataFrame
    trials: pd.DataFrame
    num_pool: int

    def summary(self) -> str:
        """The table."""
        return table_lines(self.table, "fit", "num_models")

    def __repr__(self) -> str:
        return self.summary()


def compare_sample_sizes(
    upstream_accuracy: ArrayLike,
    downstream_accuracy: ArrayLike,
    *,
    sizes: Sequence[int] | None = None,
    num_trials: int = 10,
    fits: Sequence[str] = ("vertices", "all"),
    fit_window: Window = (0.0, 0.45),
    held_out: Window = (0.45, 0.50),
    objective: str = "least_squares",
    anchors: str | Sequence[str] = "none",
    chance: tuple[float, float] | None = None,
    tolerance: float = 0.005,
    rng: np.random.Generator | None = None,
) -> SampleSizes:
    """Fit Eq. 1 to samples of the models in a window, of several sizes, and compare with what is held out.

    Each sample is drawn uniformly, without replacement, from the models up to the fit window's end, and its hull is its
    own; what is held out stays the same.

    Args:
        upstream_accuracy, downstream_accuracy: fractions, shape (n,); upstream below 1.
        sizes: numbers of models; None: 100, 200 to 1000 as far as there are models, and all.
        num_trials: samples of each size; the paper has 10.
        fits: what the law is fitted to, as in `compare_windows`, but "stochastic".
        fit_window, held_out: upstream accuracies (from, to].
        objective, anchors, chance, tolerance: as in `fit_transfer`.

    Returns:
        In its `table`, a row for each fit, size and error: `fit, num_models`, `error` ("fitting": to the points fitted;
        "hull", "best", "all": to what is held out, see `HeldOut`), `mse, mse_std, mae, mae_std`: mean squared and mean
        absolute difference in accuracy, as mean and standard deviation over the trials that have a fit, nan where none
        has; `num_trials`, and of them `num_failed` without a fit; `warnings` of the fit to all models, kinds,
        comma-separated; `reason`: why there is no mean, empty where there is one.

        The standard deviation is that of samples of one pool, which share the more models the larger they are: beyond
        half the pool it is much less than that of new models, and at all of them it is 0.

    Raises:
        ValueError: bad input; a size above the number of models up to the window's end.
        FitError: all models together have no fit of any kind.

    Source: Abnar et al. 2021 (arXiv 2110.02095), Figures 5 and 22 to 27; their axis says neither squared nor absolute.

    >>> upstream = np.linspace(0.1, 0.5, 161)
    >>> found = compare_sample_sizes(upstream, 1 - (0.7 * (1 - upstream) ** 2.5 + 0.1), sizes=[20, 140], fits=["all"])
    >>> found.table.query("error == 'all'").mae.round(9).tolist()
    [0.0, 0.0]
    """
    upstream, downstream = check_accuracies(upstream_accuracy, downstream_accuracy)
    fits = check_fits(fits, [name for name in FITS if name != "stochastic"])
    fit_window, held_out = check_windows(fit_window, [held_out])
    target = find_held_out(upstream, downstream, held_out)
    candidates = upstream <= fit_window[1]
    us, error = upstream[candidates], 1 - downstream[candidates]
    rng = generator(rng)
    sizes = _check_sizes(sizes, num_trials, us.size)
    counts = np.concatenate([_draw(us.size, size, num_trials, rng) for size in sizes])
    ends = check_anchors(anchors, chance, fit_window)
    rows = []
    for name in fits:
        how = TransferSelection(**selection_of(name), tolerance=tolerance, start=fit_window[0])
        if how.selection == "convex_hull":
            how = replace(how, anchors=ends[0], chance=ends[1])
        errors, kinds, reason = attempt(partial(_errors_of_trials, how, us, error, counts, target, objective))
        failed = np.full((2, len(counts)), np.nan)
        rows += [
            {"fit": name, "num_models": size, "trial": trial, "error": of, "mse": mse[row], "mae": mae[row],
             "warnings": kinds, "reason": reason}
            for of, (mse, mae) in (errors or dict.fromkeys(_ERRORS, failed)).items()
            for row, (size, trial) in enumerate(product(sizes, range(num_trials)))
        ]  # fmt: skip
    reasons = {row["fit"]: row["reason"] for row in rows}
    if all(reasons.values()):
        raise FitError("; ".join(f"{name}: {reason}" for name, reason in reasons.items()))
    return _summarise(rows, num_trials, us.size)


def _check_sizes(sizes: Sequence[int] | None, num_trials: int, num_models: int) -> list[int]:
    if not isinstance(num_trials, int | np.integer) or num_trials < 2:
        raise ValueError(f"num_trials must be a whole number, at least 2 for a standard deviation, got {num_trials!r}")
    if sizes is None:
        return [*(size for size in _SIZES if size < num_models), num_models]
    if not isinstance(sizes, Sequence | np.ndarray) or not all(isinstance(size, int | np.integer) for size in sizes):
        raise ValueError(f"sizes must be a list of whole numbers, one or more, got {sizes!r}")
    if len(sizes) == 0:
        raise ValueError(f"sizes must be a list of whole numbers, one or more, got {sizes!r}")
    for size in sizes:
        if not 3 <= size <= num_models:
            raise ValueError(f"sizes must lie between 3 and the {num_models} models up to the window's end, got {size}")
    return sorted(set(sizes))


def _draw(num_models: int, size: int, num_trials: int, rng: np.random.Generator) -> np.ndarray:
    """1 for the models of each sample, shape (num_trials, num_models)."""
    counts = np.zeros((num_trials, num_models), dtype=np.int64)
    counts[:, :size] = 1
    return rng.permuted(counts, axis=1)


def _errors_of_trials(
    how: TransferSelection, us: np.ndarray, error: np.ndarray, counts: np.ndarray, target: HeldOut, objective: str
) -> dict[str, tuple[np.ndarray, np.ndarray]]:  # fmt: skip
    """Mean squared and mean absolute error of each trial, shape (num_trials,); nan where it has no fit."""
    fit = fit_to_selection(us, error, how, objective)[0]
    points_us, points_error, weights = how.law_points(us, error, counts)
    points_error = np.broadcast_to(points_error, weights.shape)
    theta = np.full((len(counts), len(fit.theta)), np.nan)
    solved, rows = solve_rows(fit, (1 - points_us) / fit.x_unit, points_error / fit.y_unit, weights)
    theta[rows] = solved

    def differences(us: np.ndarray, error: np.ndarray) -> np.ndarray:
        return np.clip(fit.law.value(theta, (1 - us) / fit.x_unit) * fit.y_unit, 0, 1) - error

    found = {"fitting": _means(differences(points_us, points_error), weights)}
    for of, (at, ds) in target.items():
        found[of] = _means(differences(at, 1 - ds), np.ones(at.size))
    return found


def _means(difference: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    total = np.broadcast_to(weights, difference.shape).sum(axis=1)
    return (difference**2 * weights).sum(axis=1) / total, (np.abs(difference) * weights).sum(axis=1) / total


def _summarise(rows: list[dict[str, Any]], num_trials: int, num_pool: int) -> SampleSizes:
    import pandas as pd

    trials = pd.DataFrame(rows)
    groups = trials.groupby(["fit", "num_models", "error", *_NOTES], sort=False)
    parts = {"mse": ("mse", "mean"), "mse_std": ("mse", "std"), "mae": ("mae", "mean"), "mae_std": ("mae", "std")}
    table = groups.agg(**parts, num_trials=("mse", "size"), num_failed=("mse", "count")).reset_index()
    table["num_failed"] = num_trials - table["num_failed"]
    table.loc[table["mse"].isna() & (table["reason"] == ""), "reason"] = "no trial has a fit: take larger sizes"
    table = table[[*(column for column in table if column not in _NOTES), *_NOTES]]
    return SampleSizes(table, trials.dropna(ignore_index=True).drop(columns=_NOTES), num_pool)
