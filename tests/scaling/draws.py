"""Random true laws and points at which the data show what each law is made of, for the study of recovery.

Every draw is made in units of the data: the range of log x is `spread`, its lower end 0. Exponents and plateaus lie in
the ranges that papers have printed: a fall by 10 % to a factor 1e4 over the data, an irreducible error of a tenth to
three times the reducible error at the largest x (Zhai 2021: .03 to .14 beside .03 to .6), shifts and breaks inside the
data.
"""

from dataclasses import dataclass

import numpy as np

from scaling.laws import Law, find_law

__all__ = ["DrawnTruth", "draw_truth"]


@dataclass(frozen=True)
class DrawnTruth:
    """A law with its parameters, noise-free points of it, and an x at ten times the largest (or a tenth of the least,
    for a law that is read towards small x)."""

    law: Law
    theta: np.ndarray
    x: np.ndarray
    beyond: np.ndarray

    @property
    def y(self) -> np.ndarray:
        return self.law.value(self.theta, self.x)

    @property
    def is_well_measured(self) -> bool:
        """At least 12 points over at least 2 decades (of each input); lines and the law of transfer have accuracies."""
        columns = np.atleast_2d(self.x.T)
        return len(self.x) >= 12 and (self.law.increasing or bool(np.all(np.ptp(np.log10(columns), axis=1) >= 2)))


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """Log-uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _points(rng: np.random.Generator, num_params: int) -> np.ndarray:
    """log x from 0 to 1 to 6 decades: even, or uniformly drawn with both ends kept."""
    n = int(rng.integers(max(6, num_params + 2), 61))
    spread = rng.uniform(1, 6) * np.log(10)
    if rng.random() < 0.5:
        return np.linspace(0, spread, n)
    return np.sort(np.concatenate([[0.0, spread], rng.uniform(0, spread, n - 2)]))


def _fall(rng: np.random.Generator, spread: float) -> float:
    """An exponent of .05 to 1.5 by which the law falls by at least 10 % over the data."""
    return _between(rng, max(0.05, 0.1 / spread), 1.5)


def _plateau(rng: np.random.Generator, last: float) -> float:
    """An irreducible error of a tenth to three times the reducible error at the largest x."""
    return last * _between(rng, 0.1, 3.0)


def _power(rng: np.random.Generator, log_x: np.ndarray) -> list[float]:
    return [1.0, _fall(rng, np.ptp(log_x))]


def _saturating(rng: np.random.Generator, log_x: np.ndarray) -> list[float]:
    b = _fall(rng, np.ptp(log_x))
    return [1.0, b, _plateau(rng, np.exp(-b * log_x[-1]))]


def _shift(rng: np.random.Generator, log_x: np.ndarray) -> float:
    """Between a third of the least x and the middle of the data in log x."""
    return float(np.exp(rng.uniform(-np.log(3), np.ptp(log_x) / 2)))


def _shifted(rng: np.random.Generator, log_x: np.ndarray) -> list[float]:
    return [1.0, _fall(rng, np.ptp(log_x)), _shift(rng, log_x)]


def _double_saturating(rng: np.random.Generator, log_x: np.ndarray) -> list[float]:
    b, d = _fall(rng, np.ptp(log_x)), _shift(rng, log_x)
    a = (1 + d) ** b
    return [a, b, _plateau(rng, a * (np.exp(log_x[-1]) + d) ** -b), d]


def _reciprocal(rng: np.random.Generator, log_x: np.ndarray) -> list[float]:
    """The plateau is reached between the middle of the data and three times the largest x."""
    reached = rng.uniform(np.ptp(log_x) / 2, np.ptp(log_x) + np.log(3))
    return [1.0, _fall(rng, np.ptp(log_x)), float(np.exp(-reached))]


def _sigmoidal(rng: np.random.Generator, log_x: np.ndarray) -> list[float]:
    """The middle of the fall lies in the middle half of the data and both plateaus show: b = 4 to 16 over the range."""
    spread = np.ptp(log_x)
    b, middle, alpha = rng.uniform(4, 16) / spread, rng.uniform(0.25, 0.75) * spread, _between(rng, 0.1, 2.0)
    c = _between(rng, 0.05, 0.5)
    return [float(np.exp(b * middle - (alpha - 1) * np.log(1 - c))), b, c, alpha, 1.0]


def _broken(rng: np.random.Generator, log_x: np.ndarray) -> list[float]:
    """The break lies in the middle half, spans .1 to .6 of the data, and changes the fall by a factor e or more."""
    spread = np.ptp(log_x)
    before, change = rng.uniform(0, 2) / spread, rng.uniform(1, 6) / spread
    if rng.random() < 0.3 and before > 0.5 / spread:
        before, change = before + change, -change
    d, f = float(np.exp(rng.uniform(0.25, 0.75) * spread)), rng.uniform(0.025, 0.15) * spread
    last = np.exp(-before * spread - change * f * np.logaddexp(0, (spread - np.log(d)) / f))
    return [1.0, before, _plateau(rng, last), d, change, f]


def _additive(rng: np.random.Generator, x: np.ndarray) -> list[float]:
    spreads = np.ptp(x, axis=0)
    alpha, beta = _fall(rng, spreads[0]), _fall(rng, spreads[1])
    a, b = 1.0, _between(rng, 0.2, 5.0)
    last = a * np.exp(-alpha * spreads[0]) + b * np.exp(-beta * spreads[1])
    return [_plateau(rng, last), a, b, alpha, beta]


_POWERS = {
    "power": _power,
    "saturating_power": _saturating,
    "shifted_power": _shifted,
    "reciprocal_shift_power": _reciprocal,
    "double_saturating_power": _double_saturating,
    "sigmoidal_power": _sigmoidal,
    "broken_power": _broken,
}


def draw_truth(name: str, rng: np.random.Generator) -> DrawnTruth:
    """A random law of that kind, in random units of x (1e-15 to 1e25) and of y (.01 to 100)."""
    law = find_law(name)
    if law.increasing:
        return _accuracies(law, rng)
    log_x = _points(rng, len(law.params))
    if name not in {*_POWERS, "additive"}:
        return _near_its_example(law, rng)
    if name == "additive":
        log_x = np.column_stack([log_x, rng.permutation(_points_like(rng, log_x))])
    theta = np.array(_additive(rng, log_x) if name == "additive" else _POWERS[name](rng, log_x))
    x_unit, y_unit = 10.0 ** rng.integers(-15, 25), 10.0 ** rng.uniform(-2, 2)
    x = np.exp(log_x) * x_unit
    beyond = 10 * np.max(x, axis=0, keepdims=True)
    return DrawnTruth(law, law.in_units(theta, x_unit, y_unit), x, beyond)


def _near_its_example(law: Law, rng: np.random.Generator) -> DrawnTruth:
    """Of a law that has no ranges here: each parameter up to a quarter more or less, x from 1 to 1,000 of some unit."""
    theta = np.array(law.example) * rng.uniform(0.8, 1.25, len(law.params))
    x_unit, y_unit = 10.0 ** rng.integers(-15, 25), 10.0 ** rng.uniform(-2, 2)
    x = np.geomspace(1, 1e3, int(rng.integers(12, 61))) * x_unit
    return DrawnTruth(law, law.in_units(theta, x_unit, y_unit), x, 10 * x[-1:])


def _points_like(rng: np.random.Generator, log_x: np.ndarray) -> np.ndarray:
    return np.linspace(0, rng.uniform(1, 6) * np.log(10), len(log_x))


def _accuracies(law: Law, rng: np.random.Generator) -> DrawnTruth:
    """Accuracies of .05 to .95 for a line; errors of .05 to .9 for the law of transfer, whose printed exponents are
    .6 to 10 and whose k is near 1 - e_ir."""
    n = int(rng.integers(6, 61))
    x = np.sort(rng.uniform(0.05, 0.95, n))
    if law.link is not None:
        lowest = 0.0 if law.name == "log_linear" else -1.0  # -log(1 - y) is positive
        return DrawnTruth(law, np.array([rng.uniform(0.4, 1.6), rng.uniform(lowest, 1)]), x, np.array([0.97]))
    e_ir = rng.uniform(0.01, 0.4)
    theta = np.array([(1 - e_ir) * rng.uniform(0.5, 1), _between(rng, 0.5, 8), e_ir])
    return DrawnTruth(law, theta, x, x[:1] / 10)
