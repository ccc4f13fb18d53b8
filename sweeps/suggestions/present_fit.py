"""What records say of a law now: the runs that it is fitted to, draws of it, and how far a run falls from it."""

import warnings
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from scaling import LAWS, FitError, FitWarning, bootstrap_fit, fit_frontier, fit_law, read_records
from scaling.selection.usable import UsableRuns, trainings, usable_runs

if TYPE_CHECKING:
    from scaling.intervals.draws import BootstrapFit

__all__ = ["SELECTIONS", "PresentFit", "fit_present", "held_runs", "read_runs"]

SELECTIONS = ("all", "pareto", "convex_hull", "stochastic")
_SAME_X = 1e-9  # relative, of the x of two seeds of one cell
_FEWEST_FREE = 1


@dataclass(frozen=True, eq=False)
class PresentFit:
    """A law of a positive error, fitted.

    Attributes:
        x, y: of all runs, shape (n,).
        draws: of the law, what its uncertainty is read off.
        selection: of `SELECTIONS`.
        noise_std: standard deviation of the log error of a new run about the law.
        degrees_of_freedom: of the noise.
        warnings: of the fit and its draws.
    """

    x: np.ndarray
    y: np.ndarray
    draws: "BootstrapFit"
    selection: str
    noise_std: float
    degrees_of_freedom: float
    warnings: tuple[FitWarning, ...]

    def noise_at(self, x: np.ndarray) -> np.ndarray:
        """`noise_std` of a run at each x; where runs of that x are there (seeds), their scatter has a say.

        The two variances are averaged with their degrees of freedom for weights. Not on a frontier, whose runs of one
        x are of different shapes.
        """
        variance = np.full(x.size, self.noise_std**2)
        if self.selection == "all":
            for place, value in enumerate(x):
                logs = np.log(self.y[np.isclose(self.x, value, rtol=_SAME_X, atol=0)])
                if logs.size > 1:
                    total = self.degrees_of_freedom * self.noise_std**2 + np.sum((logs - logs.mean()) ** 2)
                    variance[place] = total / (self.degrees_of_freedom + logs.size - 1)
        return np.sqrt(variance)


def read_runs(source: str | PathLike[str] | pd.DataFrame, x: str, y: str, where: str | None = None) -> UsableRuns:
    """Records of finished runs that have both columns.

    Raises:
        ValueError: no records, no such column, or no run is left.
    """
    return usable_runs(read_records(source, where=where), x, y)


def held_runs(source: str | PathLike[str] | pd.DataFrame) -> set[str]:
    """Ids of all runs that there are records of, whatever became of them."""
    return set(read_records(source, weights=None, wide=False)["run_id"])


def fit_present(
    runs: pd.DataFrame, x: str, y: str, *, law: str = "saturating_power", selection: str = "stochastic",
    num_draws: int = 1000, seed: int = 0,
) -> PresentFit:  # fmt: skip
    """Fit a law to runs and draw it again.

    Branches of one trunk are drawn together. The noise of a new run is the root mean square of the runs' log errors
    about the law, over n less the parameters; on a frontier of the poor runs too, as a new one may be no better.

    Raises:
        ValueError: no such law or selection, or one that does not fall with x.
        FitError: too few runs.
    """
    _check(law, selection)
    rng = np.random.default_rng(seed)
    at, error = (runs[name].to_numpy(dtype=float) for name in (x, y))
    groups = trainings(runs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # they are in the result
        if selection == "all":
            fit = fit_law(law, at, error)
            if fit.degrees_of_freedom < _FEWEST_FREE:
                raise FitError(
                    f"{at.size} runs and {fit.num_free} parameters of {law!r} leave nothing to tell noise by"
                )
            draws = bootstrap_fit(fit, num_draws=num_draws, groups=groups, rng=rng)
            found = (*fit.warnings, *draws.warnings)
        else:
            options = {"groups": None if selection == "stochastic" else groups, "num_draws": num_draws, "rng": rng}
            front = fit_frontier(at, error, law=law, selection=selection, **options)
            draws, found = front.bootstrap, front.warnings
        residuals = np.log(error / draws.fit.predict(at))
    free = max(at.size - len(draws.fit.law.params), _FEWEST_FREE)
    noise = float(np.sqrt(np.sum(residuals**2) / free))
    return PresentFit(at, error, draws, selection, noise, free, found)


def _check(law: str, selection: str) -> None:
    falling = [name for name, each in LAWS.items() if not each.increasing and each.num_inputs == 1 and not each.link]
    if law not in falling and not law.startswith("broken_power_"):
        raise ValueError(f"law must be one that falls with x, of {', '.join(falling)}, got {law!r}")
    if selection not in SELECTIONS:
        raise ValueError(f"select must be one of {', '.join(SELECTIONS)}, got {selection!r}")
