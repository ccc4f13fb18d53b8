"""The posterior of a stochastic frontier: of its law, its noise and its excess, given all runs."""

from dataclasses import dataclass

import numpy as np

from ..laws import Law
from .excess import MAX_SHAPE, log_density, log_survival
from .threshold import threshold_curve

__all__ = ["SCALE_BOUNDS", "Posterior"]

_NUM_NODES = 24  # that stand for the runs above the threshold: both curves are straight between neighbours
_NOISE_BOUNDS = (1e-6, 1.0)  # in log y: below the rounding of an error rate, and beyond any seed
_BLOCK = 8192  # numbers in one array: blocks that stay in the processor's cache are three times as fast
_FAR = 1e3  # bound, in scaled units, of a parameter that has none
_FAR_LOG = 100.0  # likewise of the logarithm of the amplitude
SCALE_BOUNDS = (1e-4, 10.0)


@dataclass(frozen=True)
class Posterior:
    """Of (theta, log noise, log scale, shape), in scaled units: x and y over their geometric means.

    The amplitude stands as its logarithm; a known noise is left out.

    Attributes:
        x, log_y: the runs below the threshold.
        nodes, log_threshold, counts: what stands for the runs above: x, the threshold there, how many.
        threshold: at every run, shape (n,).
        lower, upper: bounds of all coordinates.
    """

    law: Law
    x: np.ndarray
    log_y: np.ndarray
    nodes: np.ndarray
    log_threshold: np.ndarray
    counts: np.ndarray
    threshold: np.ndarray
    x_unit: float
    y_unit: float
    noise_std: float | None
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, law: Law, x: np.ndarray, y: np.ndarray, noise_std: float | None) -> "Posterior":
        x_unit, y_unit = (float(np.exp(np.mean(np.log(v)))) for v in (x, y))
        log_x, log_y = np.log(x / x_unit), np.log(y / y_unit)
        threshold = threshold_curve(log_x, log_y)
        below = log_y <= threshold
        nodes, log_threshold, counts = _merge(log_x[~below], threshold[~below], _NUM_NODES)
        return cls(
            law, np.exp(log_x[below]), log_y[below], np.exp(nodes), log_threshold, counts, threshold,
            x_unit, y_unit, noise_std, *_bounds(law, y_unit, noise_std),
        )  # fmt: skip

    @property
    def log_amplitude(self) -> bool:
        return self.law.lower[0] >= 0

    def parts(self, coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """theta (num_params, m), noise, scale and shape (m,) of coordinates (dimension, m)."""
        num_params = len(self.law.params)
        theta, rest = coordinates[:num_params].copy(), coordinates[num_params:]
        if self.log_amplitude:
            theta[0] = np.exp(theta[0])
        noise = np.full(theta.shape[1], self.noise_std) if self.noise_std is not None else np.exp(rest[0])
        return theta, noise, np.exp(rest[-2]), rest[-1]

    def log_density(self, coordinates: np.ndarray) -> np.ndarray:
        """Up to a constant, of coordinates (m, dimension): (m,)."""
        num_blocks = -(-len(coordinates) * (self.x.size + self.nodes.size) // _BLOCK)
        return np.concatenate([self._log_density(block) for block in np.array_split(coordinates, num_blocks)])

    def _log_density(self, coordinates: np.ndarray) -> np.ndarray:
        theta, *rest = self.parts(coordinates.T)
        noise, scale, shape = (part[:, None] for part in rest)
        with np.errstate(all="ignore"):  # where the law is not defined the density is 0
            law = np.log(self.law.value(theta.T, np.concatenate([self.x, self.nodes])))
            total = log_density(self.log_y - law[:, : self.x.size], noise, scale, shape).sum(axis=1)
            total += log_survival(self.log_threshold - law[:, self.x.size :], noise, scale, shape) @ self.counts
        if self.noise_std is None:
            total += np.log(noise[:, 0])  # flat in the noise, whose logarithm is the coordinate
        total -= np.log1p((noise / scale)[:, 0] ** 2)
        return np.where(np.isnan(total), -np.inf, total)


def _merge(log_x: np.ndarray, height: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means of points in equal bins of log x, and their numbers: sums of a smooth function from few evaluations."""
    if log_x.size <= num_nodes:
        return log_x, height, np.ones(log_x.size)
    place = np.minimum((log_x - log_x.min()) / np.ptp(log_x) * num_nodes, num_nodes - 1).astype(int)
    counts = np.bincount(place, minlength=num_nodes)
    full = counts > 0
    mean_x, mean_height = (np.bincount(place, v, num_nodes)[full] / counts[full] for v in (log_x, height))
    return mean_x, mean_height, counts[full].astype(float)


def _bounds(law: Law, y_unit: float, noise_std: float | None) -> tuple[np.ndarray, np.ndarray]:
    to_scaled = law.in_units(np.ones(len(law.params)), 1.0, y_unit)
    with np.errstate(invalid="ignore", divide="ignore"):
        lower, upper = np.maximum(law.lower / to_scaled, -_FAR), np.minimum(law.upper / to_scaled, _FAR)
        if law.lower[0] >= 0:
            lower[0], upper[0] = -_FAR_LOG, min(_FAR_LOG, np.log(law.upper[0] / to_scaled[0]))
    excess = [np.log(SCALE_BOUNDS), (1.0, MAX_SHAPE)]
    rest = np.array(excess if noise_std is not None else [np.log(_NOISE_BOUNDS), *excess])
    return np.concatenate([lower, rest[:, 0]]), np.concatenate([upper, rest[:, 1]])
