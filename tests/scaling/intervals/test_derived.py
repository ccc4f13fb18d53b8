import numpy as np
import pytest

from scaling import bootstrap_fit, derived_interval, fit_frontier, fit_law

X = np.geomspace(1, 1e4, 12)


def law(a, seed):
    noise = np.exp(0.01 * np.random.default_rng(seed).standard_normal(X.size))
    return fit_law("saturating_power", X, (a * X**-0.3 + 0.05) * noise)


def test_the_x_that_reaches_a_target():
    low, high = derived_interval(lambda fit: fit.solve_for_x(0.2)[:, 0], law(0.8, 0))
    truth = (0.15 / 0.8) ** (-1 / 0.3)
    assert low < truth < high
    assert high / low < 1.5


def test_the_ratio_of_two_laws_compute_at_equal_error():
    low, high = derived_interval(
        lambda one, two: (two.solve_for_x(0.2) / one.solve_for_x(0.2))[:, 0], law(0.8, 1), law(0.9, 2)
    )
    assert low < (0.9 / 0.8) ** (1 / 0.3) < high


def test_a_target_that_some_draws_never_reach_has_an_open_end():
    low, high = derived_interval(lambda fit: fit.solve_for_x(0.051)[:, 0], law(0.8, 0))
    assert low > X[-1]
    assert high == np.inf


def test_a_parameter_is_its_bootstrap_interval():
    fit = law(0.8, 3)
    boot = bootstrap_fit(fit, num_draws=300)
    assert derived_interval(lambda draws: draws.params["b"], boot, level=0.9) == boot.interval("b", 0.9)


def test_a_frontier_brings_its_own_draws():
    front = fit_frontier(X, 0.8 * X**-0.3 + 0.05, intervals="case_bootstrap", num_draws=50)
    low, high = derived_interval(lambda draws: draws.values([10.0])[:, 0], front)
    assert low == pytest.approx(high) == pytest.approx(0.8 * 10**-0.3 + 0.05)


def test_bad_functions_are_named():
    fit = law(0.8, 0)
    with pytest.raises(ValueError, match=r"one number a draw, shape \(50,\), got \(50, 1\)"):
        derived_interval(lambda draws: draws.values([1.0]), fit, num_draws=50)
    with pytest.raises(ValueError, match="returned nan for 50 of 50 draws"):
        derived_interval(lambda draws: draws.params["b"] * np.nan, fit, num_draws=50)


def test_two_results_of_one_seed_are_drawn_independently_and_their_order_does_not_matter():
    one, two = bootstrap_fit(law(0.8, 1)), bootstrap_fit(law(0.8, 2))
    low, high = derived_interval(lambda a, b: a.params["b"] - b.params["b"], one, two)
    apart = [np.std(boot.params["b"]) for boot in (one, two)]
    # Widths of a difference of independent draws add in squares; Student's quantile of 9 degrees of freedom is 2.26.
    assert (high - low) / 2 == pytest.approx(2.26 * np.hypot(*apart), rel=0.1)
    swapped = derived_interval(lambda b, a: a.params["b"] - b.params["b"], two, one)
    assert swapped == pytest.approx((low, high), abs=0.1 * (high - low))
    assert derived_interval(lambda a, b: a.params["b"] - b.params["b"], one, one) == (0.0, 0.0)
