"""Points, truths and reports that several test files share."""

import numpy as np
import pytest

# Two public reports of "optimal parameters not found".
SHALLOW_X = [0.015, 0.025, 0.035, 0.045, 0.055, 0.065, 0.075, 0.085, 0.095, 0.125, 0.175, 0.225, 0.275]
SHALLOW_Y = [
    5.62837, 4.62408, 3.73666, 3.06682, 2.57519, 2.08152, 1.71527, 1.46858, 1.25019, 0.801783, 0.433724, 0.260123,
    0.193962,
]  # fmt: skip
STEEP_X = [1000, 3250, 5500, 10000, 32500, 55000, 77500, 100000, 200000]
STEEP_Y = [1100, 500, 288, 200, 113, 67, 52, 44, 5]

C = np.geomspace(1e18, 1e21, 8)
AT_10X = 1e22
FREE = {"c": (-np.inf, np.inf)}
QUIET = pytest.mark.filterwarnings("ignore::scaling.FitWarning")


def truth(x):
    return 0.5 * (np.asarray(x) / 1e18) ** -0.25 + 0.1


E = truth(C)


def noisy(seed, noise=0.01, x=C):
    return truth(x) * np.exp(noise * np.random.default_rng(seed).standard_normal(np.size(x)))


def off(fit, at=AT_10X):
    """Relative error of the extrapolation."""
    return float(fit.predict(at)) / truth(at) - 1
