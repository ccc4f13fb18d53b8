"""A law as the lower edge of all runs: a stochastic frontier, whose intervals cover.

log y = log f(x; theta) + noise + excess (`excess.py`). The shape of the bad runs must not matter: a threshold curve is
a low quantile of all runs, and of a run above it only that it lies above is used. The posterior is drawn by
importance sampling (`importance.py`).

Prior: flat in the logarithm of the amplitude, in the other parameters of the law within their bounds, in the noise, in
the logarithm of the excess scale and in the excess shape; times 1 / (1 + (noise / scale)^2). Without that factor
the posterior has no finite mass where the excess vanishes and all scatter is noise; with it, noise far above the excess
is possible but not assumed.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..errors import FitError, FitWarning
from ..fitting.fit import Fit
from ..fitting.fit_law import quiet_fit
from ..inputs import check_number, check_positive
from ..intervals.draws import BootstrapFit
from ..laws import Law, find_law
from .draw_warnings import outside_own_draws, rough_ends
from .hulls import pareto_frontier
from .importance import WeightedDraws, sample_density
from .lack_of_fit import LEAST_P_VALUE, LEAST_SHAPE_P_VALUE, gain_p_value, thin, worst_part
from .posterior import SCALE_BOUNDS, Posterior
from .untold_offset import untold_offset

__all__ = ["RICHER", "StochasticFrontier", "central_curve", "fit_stochastic_frontier"]

_RUNS_PER_PARAMETER = 4  # the least: of 12 runs for three parameters, five lie below the threshold
_CURVE_POINTS = 40
_EXTRAPOLATED = 10.0  # how far beyond the largest x the central law is matched, as a factor
_LEAST_START = 1e-3  # of the excess scale, and so of the proposal's width
_NEAR_FRONTIER = 0.25  # of the mean excess: how near a run counts as near, if that is above two noise deviations

# Laws with one parameter more, which hold the law at its value 0.
RICHER = {"saturating_power": "double_saturating_power", "shifted_power": "double_saturating_power"}
_SHAPE_DRAWS = 1000  # of a richer law's posterior, of which the highest density is looked at


@dataclass(frozen=True, repr=False, eq=False)
class StochasticFrontier:
    """What the posterior says beside the law. Made by `fit_stochastic_frontier`.

    Attributes:
        fit: the law through the median of the posterior's curves, on the Pareto frontier's points; its own standard
            errors and objective say nothing.
        draws: the posterior, in the form of a bootstrap.
        noise, scale, shape: draws of the noise, and of scale and shape of the excess, in log y; shape (num_draws,).
        threshold: the threshold curve at each run, in units of y, shape (n,).
        near: indices of the runs near the frontier, x ascending.
        num_effective: how many independent draws the posterior's are worth.
        warnings: what a reader must know.
    """

    fit: Fit
    draws: BootstrapFit
    noise: np.ndarray
    scale: np.ndarray
    shape: np.ndarray
    threshold: np.ndarray
    near: np.ndarray
    num_effective: float
    warnings: tuple[FitWarning, ...]

    @property
    def mean_excess(self) -> float:
        """Of log y above the frontier, as the runs below the threshold show it: the median over the draws."""
        return float(np.median(self.scale * self.shape))

    def __repr__(self) -> str:
        return "\n".join(["stochastic frontier", *self.summary_lines()])

    def summary_lines(self) -> list[str]:
        """Noise and excess, for summaries."""
        low, high = np.quantile(self.noise, [0.025, 0.975])
        return [
            f"  noise {np.median(self.noise):.3g} in log y (95% interval {low:.2g} to {high:.2g}),"
            f" mean excess {self.mean_excess:.3g} in log y",
            f"  {self.near.size} runs near the frontier, {self.num_effective:.0f} effective draws",
        ]


def fit_stochastic_frontier(
    x: np.ndarray,
    y: np.ndarray,
    law: str | Law,
    *,
    noise_std: float | None = None,
    num_draws: int = 1000,
    rng: np.random.Generator,
) -> StochasticFrontier:
    """Fit a law to the lower edge of runs.

    Args:
        x, y: all runs, positive, shape (n,).
        law: any law of one variable that is positive.
        noise_std: standard deviation of log y between replicate seeds, where it is known.
        num_draws: of the posterior that are kept.

    Its warnings (not issued): `few_effective_draws`, `under_one_decade`, and `poor_fit` where the runs contradict noise
    and excess in a third of x, so that the edge may pass far below some of them, or where a law with one parameter more
    (`RICHER`) fits far better, so that this one has the wrong shape and must not be extrapolated; `not_identified`
    where parameters of the median curve lie outside their own intervals: the runs tell the curve, but not these; of
    `transfer` also where they do not tell e_ir.

    Raises:
        ValueError: bad input.
        FitError: too few runs, or no trend.
    """
    law = find_law(law)
    _check_law(law, noise_std)
    x, y = check_positive("x", x), check_positive("y", y)
    _check_runs(law, x, y)
    posterior, first, weighted = _sample(law, x, y, noise_std, rng)
    coordinates = weighted.resample(num_draws, rng)
    theta, noise, scale, shape = posterior.parts(coordinates.T)
    fit = _central_fit(posterior, theta.T, first, x)
    in_fit_units = law.in_units(theta.T, posterior.x_unit / fit.x_unit, posterior.y_unit / fit.y_unit)
    residuals = np.log(y / central_curve(fit, x))
    draws = BootstrapFit(fit, in_fit_units, rng.choice(residuals, size=num_draws), 0)
    threshold = np.exp(posterior.threshold) * posterior.y_unit
    poor = _poor_fit(draws, x, y, threshold, noise, scale, shape)
    is_exact = _is_exact(fit, x, y, threshold)
    if law.name == "transfer" and not is_exact:
        poor += untold_offset(posterior, coordinates, x, y)
    if law.name in RICHER and not is_exact:
        poor += _wrong_shape(fit, x, y, noise_std, float(np.max(posterior.log_density(coordinates))), rng)
    return StochasticFrontier(
        fit=fit,
        draws=draws,
        noise=noise,
        scale=scale,
        shape=shape,
        threshold=threshold,
        near=_near(x, residuals, max(2 * np.median(noise), _NEAR_FRONTIER * np.median(scale * shape))),
        num_effective=weighted.num_effective,
        warnings=tuple(
            rough_ends(law, x, weighted.num_effective) + poor + ([] if is_exact else outside_own_draws(draws))
        ),
    )


def _sample(
    law: Law, x: np.ndarray, y: np.ndarray, noise_std: float | None, rng: np.random.Generator
) -> tuple[Posterior, Fit, WeightedDraws]:
    posterior = Posterior.of(law, x, y, noise_std)
    first = _first_fit(law, x, y)
    start = _start(posterior, first, x, y)
    return posterior, first, sample_density(posterior.log_density, *start, posterior.lower, posterior.upper, rng)


def central_curve(fit: Fit, x: np.ndarray) -> np.ndarray:
    """The law of a fit at x (n,), without the warning of an extrapolation: some runs lie beyond the frontier's."""
    return fit.law.value(fit.theta, x / fit.x_unit) * fit.y_unit


def _near(x: np.ndarray, residuals: np.ndarray, limit: float) -> np.ndarray:
    near = np.flatnonzero(residuals <= limit)
    return near[np.argsort(x[near], kind="stable")]


# Start and centre ---------------------------------------------------------------------------------------------


def _start(posterior: Posterior, first: Fit, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance to start from: the first fit, half the excess as its standard error."""
    law = posterior.law
    theta = law.in_units(first.theta, first.x_unit / posterior.x_unit, first.y_unit / posterior.y_unit)
    value = law.value(theta, posterior.x)
    height = np.minimum(np.log(y / posterior.y_unit), posterior.threshold)  # of the runs, those above the threshold cut
    scale = 2 * float(np.mean(height - np.log(law.value(theta, x / posterior.x_unit))))
    scale = float(np.clip(scale, _LEAST_START, 1.0))
    slope = law.jacobian(theta, posterior.x) / value[:, None]
    spread = np.maximum(0.3 * np.abs(theta), 0.05)
    mean = theta.copy()
    if posterior.log_amplitude:
        with np.errstate(divide="ignore"):  # a first fit without an amplitude starts at the lower bound
            mean[0], spread[0], slope[:, 0] = np.log(theta[0]), 0.2, slope[:, 0] * theta[0]
    information = slope.T @ slope / (0.5 * scale) ** 2 + np.diag(spread**-2.0)
    rest = {"noise": (np.log(scale / 4), 1.0), "scale": (np.log(scale), 0.4), "shape": (1.5, 0.4)}
    if posterior.noise_std is not None:
        del rest["noise"]
    middles, spreads = np.array(list(rest.values())).T
    covariance = np.diag(np.concatenate([np.zeros(theta.size), spreads**2]))
    covariance[: theta.size, : theta.size] = 2 * np.linalg.inv(information)
    return np.clip(np.concatenate([mean, middles]), posterior.lower, posterior.upper), covariance


def _first_fit(law: Law, x: np.ndarray, y: np.ndarray) -> Fit:
    """The law on the Pareto frontier, or on all runs where that is too short."""
    frontier = pareto_frontier(-x if law.increasing else x, y)
    if frontier.size == 1:
        end = "largest" if law.increasing else "least"
        raise FitError(f"the run of the {end} x has the least y of all: is y an error, of which lower is better?")
    fit = _quiet_fit(law, x[frontier], y[frontier]) or _quiet_fit(law, x, y)
    if fit is None:
        raise FitError(f"no start found for a stochastic frontier of {law.name!r}: the runs may show no trend")
    return fit


def _quiet_fit(law: Law, x: np.ndarray, y: np.ndarray) -> Fit | None:
    try:
        return quiet_fit(law, x, y)
    except FitError:
        return None


def _central_fit(posterior: Posterior, theta: np.ndarray, first: Fit, x: np.ndarray) -> Fit:
    """The first fit with the parameters of the posterior's middle: those of the law through the median of its curves.

    The curves are matched over the runs and where the law is read off beyond them. Where no law is found so (several
    parts can be in the place of one), the middle is the draw whose curve is nearest.
    """
    law, units = posterior.law, (posterior.x_unit, posterior.y_unit)
    low, high = (1 / _EXTRAPOLATED, 1) if law.increasing else (1, _EXTRAPOLATED)
    grid = np.geomspace(low * x.min(), high * x.max(), _CURVE_POINTS) / posterior.x_unit
    curves = law.value(theta, grid)
    middle = np.median(curves, axis=0)
    fit = _quiet_fit(law, grid, middle)
    if fit is not None:
        central = law.in_units(fit.theta, fit.x_unit, fit.y_unit)
    else:
        central = theta[np.argmin(np.sum(np.log(curves / middle) ** 2, axis=1))]
    in_fit_units = law.in_units(central, units[0] / first.x_unit, units[1] / first.y_unit)
    return replace(first, theta=in_fit_units, warnings=())


# Checks -------------------------------------------------------------------------------------------------------


def _check_law(law: Law, noise_std: float | None) -> None:
    if law.num_inputs != 1 or law.link is not None:
        raise ValueError(f"selection='stochastic' takes a law of one variable and positive values, got {law.name!r}")
    if noise_std is not None:
        check_number("noise_std", noise_std, positive=True, what=", a standard deviation of log y")


def _check_runs(law: Law, x: np.ndarray, y: np.ndarray) -> None:
    least = _RUNS_PER_PARAMETER * len(law.params)
    if x.size < least:
        raise FitError(
            f"a stochastic frontier of {law.name!r} needs at least {least} runs, got {x.size}: take pareto, or fit all"
        )
    if np.ptp(np.log(x)) == 0:
        raise FitError(f"all x are equal ({x[0]:g}): they say nothing of how y changes with x")
    if np.ptp(y) == 0:
        raise FitError(f"all y are equal ({y[0]:g}): no law can be told from a constant")


def _poor_fit(
    draws: BootstrapFit, x: np.ndarray, y: np.ndarray, threshold: np.ndarray, *excess: np.ndarray
) -> list[FitWarning]:
    """Noise and excess (three arrays of draws) that the runs of a third of x contradict."""
    rows, few = thin(x, len(draws.theta))
    if _is_exact(draws.fit, x, y, threshold):
        return []
    log_law = np.log(draws.take(np.arange(len(draws.theta))[few]).values(x[rows]))
    p_value, text = worst_part(x[rows], np.log(y[rows]), np.log(threshold[rows]), log_law, *(e[few] for e in excess))
    if p_value >= LEAST_P_VALUE:
        return []
    of = "upstream error" if draws.fit.law.increasing else "x"
    return [FitWarning("poor_fit", f"{text} (thirds of the runs by {of}; p = {p_value:.1g})")]


def _is_exact(fit: Fit, x: np.ndarray, y: np.ndarray, threshold: np.ndarray) -> bool:
    """Points with less scatter than the least excess of the model."""
    scatter = np.log(y / central_curve(fit, x))[y <= threshold]
    return bool(scatter.size and np.std(scatter) < SCALE_BOUNDS[0])


def _wrong_shape(
    fit: Fit, x: np.ndarray, y: np.ndarray, noise_std: float | None, highest: float, rng: np.random.Generator
) -> list[FitWarning]:
    """A law with one parameter more whose posterior density is far above that of this one (`highest`)."""
    richer, source = find_law(RICHER[fit.law.name]), rng.spawn(1)[0]  # `rng` goes on as without this test
    try:
        posterior, first, weighted = _sample(richer, x, y, noise_std, source)
    except FitError:
        return []
    coordinates = weighted.resample(_SHAPE_DRAWS, source)
    p_value = gain_p_value(float(np.max(posterior.log_density(coordinates))) - highest)
    if p_value >= LEAST_SHAPE_P_VALUE:
        return []
    other, end = _central_fit(posterior, posterior.parts(coordinates.T)[0].T, first, x), np.array([x.max()])
    ours, theirs = float(central_curve(fit, end)[0]), float(central_curve(other, end)[0])
    message = (
        f"{richer.name} fits the runs far better (p = {p_value:.1g}) and says {theirs:.3g} at the largest x, where"
        f" {fit.law.name} says {ours:.3g}: do not extrapolate this law"
    )
    return [FitWarning("poor_fit", message)]
