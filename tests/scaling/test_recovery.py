"""What noise-free points of a law say of it: the law itself, or a warning that they do not tell it."""

import numpy as np
import pytest

from scaling import fit_law
from scaling.laws import find_law

# Laws whose optimum was once missed on their own noise-free points.
MISSED = [
    ("log_linear", (0.5, 0.1), np.linspace(0.1, 0.9, 9)),  # a law without nonlinear parameters
    ("logit_linear", (0.5, 0.1), np.linspace(0.1, 0.9, 9)),
    ("probit_linear", (0.5, 0.1), np.linspace(0.1, 0.9, 9)),
    ("broken_power", (0.74, 1.4, 0.02, 3, -1.1, 0.35), np.geomspace(0.1, 10, 12)),  # shallower after the break
    ("broken_power", (0.66, 0.23, 0.23, 7.5, -0.09, 0.7), np.geomspace(1e-3, 1e3, 20)),
    ("sigmoidal_power", (24.3493, 0.83, 0.15, 0.2, 1.85), np.geomspace(10**-2.786, 10**2.786, 7)),  # four on a plateau
]


@pytest.mark.parametrize(("name", "theta", "x"), MISSED)
def test_optimum_that_was_once_missed(name, theta, x):
    law = find_law(name)
    fit = fit_law(law, x, law.value(np.array(theta), x))
    # 1e-6: what a law must keep when it is read a decade beyond its points.
    assert list(fit.params.values()) == pytest.approx(theta, rel=1e-6)
