"""Approach 3 of Hoffmann et al. 2022 and its replication."""

import numpy as np
import pytest

from scaling import FitError
from scaling.published import (
    BESIROGLU_2024,
    HOFFMANN_2022,
    HOFFMANN_2022_ROUNDED,
    compute_optimal_params,
    hoffmann2022,
)
from scaling.published.result import law_value

from .points import LOSSES, PAIRS

# Sum of the Huber losses at the optimum on 234 points, and its place, from two independent codes. The minimum is so
# flat that L-BFGS at its default tolerances leaves A and B a part in 10,000 from it.
BEST = 0.00084009
BEST_PARAMS = {"E": 1.78389, "A": 442.2, "B": 1271.8, "alpha": 0.34263, "beta": 0.34200}


@pytest.fixture
def chinchilla_points(chinchilla):
    return chinchilla[["N", "D"]].to_numpy(float), chinchilla["loss"].to_numpy()


def test_the_sum_reaches_the_optimum(chinchilla_points):
    fit = hoffmann2022(*chinchilla_points, num_starts=10)
    assert fit.converged
    assert fit.objective_value == pytest.approx(BEST, abs=5e-9)  # rounding
    assert fit.params == pytest.approx(BEST_PARAMS, rel=2e-4)


@pytest.mark.slow
def test_the_full_grid_reaches_it_too(chinchilla_points):
    fit = hoffmann2022(*chinchilla_points)
    assert fit.num_starts == 4500
    assert fit.objective_value == pytest.approx(BEST, abs=5e-9)  # rounding
    assert fit.params == pytest.approx(BEST_PARAMS, rel=2e-4)


def test_the_mean_stops_far_from_it_and_calls_it_success(chinchilla_points):
    """The premature stop of Hoffmann's fit, found by Besiroglu et al. 2024."""
    x, y = chinchilla_points
    fit = hoffmann2022(x, y, num_starts=10, reduction="mean")
    assert fit.converged
    assert fit.objective_value * y.size > 1.005 * BEST
    assert fit.params["A"] > 1.1 * BEST_PARAMS["A"]
    assert fit.params["B"] < 0.8 * BEST_PARAMS["B"]


def test_points_that_share_one_d_are_refused():
    """Five points of one D tell nothing of beta."""
    one_d = np.stack([PAIRS[:5, 0], np.full(5, 1e10)], axis=1)
    with pytest.raises(FitError, match=r"all D are equal \(1e\+10\): 'hoffmann2022'"):
        hoffmann2022(one_d, LOSSES[:5])


def test_exact_losses_give_the_law_back():
    fit = hoffmann2022(PAIRS, LOSSES, num_starts=20)
    # L-BFGS stops where the objective falls by less than 2e-9: a residual of 1e-5 in log L.
    np.testing.assert_allclose(fit.predict(PAIRS), LOSSES, rtol=1e-4)


def test_the_slope_is_the_derivative_of_the_objective():
    from scipy.optimize import approx_fprime

    from scaling.published.hoffmann2022 import _objective

    theta, data = np.array([6.0, 7.0, 0.4, 0.3, 0.35]), (np.log(PAIRS), np.log(LOSSES), 0.05, 1.0)
    numeric = approx_fprime(theta, lambda t: _objective(t, *data)[0], 1e-7)
    np.testing.assert_allclose(_objective(theta, *data)[1], numeric, rtol=1e-4)  # a forward difference


@pytest.mark.parametrize(
    ("params", "loss"), [(HOFFMANN_2022, 1.9208), (HOFFMANN_2022_ROUNDED, 1.9366)], ids=["full", "rounded"]
)
def test_rounded_constants_are_off_at_the_size_of_chinchilla(params, loss):
    predicted = law_value("additive", params, np.array([[70e9, 1.4e12]]))[0]
    assert predicted == pytest.approx(loss, abs=5e-5)  # rounding


@pytest.mark.parametrize(
    ("params", "exponent"), [(HOFFMANN_2022, 0.457), (BESIROGLU_2024, 0.513)], ids=["2022", "2024"]
)
def test_the_exponent_of_the_best_model_size(params, exponent):
    """Hoffmann et al., Table 2: .46 (approach 3); Besiroglu et al.: .513."""
    small, large = compute_optimal_params(params, [1e20, 1e24])
    assert np.log(large / small) / np.log(1e4) == pytest.approx(exponent, abs=0.0005)  # rounding


def test_the_best_model_size_is_where_the_loss_is_least():
    compute = 5.76e23
    best = compute_optimal_params(HOFFMANN_2022, compute)
    sizes = best * np.array([0.99, 1.0, 1.01])
    losses = law_value("additive", HOFFMANN_2022, np.stack([sizes, compute / (6 * sizes)], axis=1))
    assert losses.argmin() == 1
    assert best == pytest.approx(40e9, rel=0.02)  # Table 3 of Hoffmann et al. 2022, approach 3: "40.0 Billion"


@pytest.mark.parametrize(
    ("options", "message"),
    [({"reduction": "max"}, "reduction must be one of .* got 'max'"), ({"delta": 0}, "delta must be positive"),
     ({"num_starts": 0}, "num_starts must be a whole number of at least 1, got 0")],
)  # fmt: skip
def test_hoffmann_refuses_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        hoffmann2022(PAIRS, LOSSES, **options)
