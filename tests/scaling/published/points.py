"""Points that every published estimator is tried on."""

import numpy as np

from scaling.published import HOFFMANN_2022, PUBLISHED_ESTIMATORS
from scaling.published.result import law_value

RNG = np.random.default_rng(0)
X = np.geomspace(1e4, 1e9, 12)
Y = 3 * X**-0.2 + 0.1
PAIRS = np.stack([10 ** RNG.uniform(7, 10, 20), 10 ** RNG.uniform(9, 12, 20)], axis=1)
LOSSES = law_value("additive", HOFFMANN_2022, PAIRS)
CURVES = sorted(set(PUBLISHED_ESTIMATORS) - {"hoffmann2022"})
FAST = {
    "hoffmann2022": {"num_starts": 3},
    "alabdulmohsin2022_m2": {"max_rounds": 2},
    "alabdulmohsin2022_m4": {"max_rounds": 2},
    "bnsl": {"x_unit": 1e4},
    "nezhurina2025": {"num_starts": 3},
}


def points(name):
    return (PAIRS, LOSSES) if name == "hoffmann2022" else (X, Y)
