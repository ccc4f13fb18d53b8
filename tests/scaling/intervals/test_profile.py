import numpy as np
import pytest

from scaling import FitError, FitWarning, fit_law, profile_interval

C = np.geomspace(1e18, 1e21, 10)


def noisy(seed=0, noise=0.01, c=0.1):
    return (0.5 * (C / 1e18) ** -0.25 + c) * np.exp(noise * np.random.default_rng(seed).standard_normal(C.size))


def test_a_linear_parameter_has_the_delta_interval():
    """For a law linear in the parameter, with the others fixed, profile and delta are one."""
    fit = fit_law("saturating_power", C, noisy(), objective="least_squares", fixed={"a": 15811.0, "b": 0.25})
    assert profile_interval(fit, "c") == pytest.approx(fit.interval("c"), rel=1e-7)


@pytest.mark.parametrize("objective", ["least_squares", "log_least_squares", "log_huber"])
@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_little_noise_makes_it_the_delta_interval(objective, name):
    # A delta far above the noise: within it a Huber objective is least squares, which the approximation is for.
    options = {"delta": 0.1} if objective == "log_huber" else {}
    fit = fit_law("saturating_power", C, noisy(noise=1e-4), objective=objective, **options)
    low, high = fit.interval(name)
    # The curvature left is of the size of the interval relative to the parameter.
    assert profile_interval(fit, name) == pytest.approx((low, high), abs=0.02 * (high - low))


def test_its_ends_are_where_the_objective_has_risen_by_the_f_quantile():
    from scipy.stats import f

    fit = fit_law("saturating_power", C, noisy())
    rise = fit.residual_std**2 * f.ppf(0.9, 1, 7) / 2
    for end in profile_interval(fit, "c", level=0.9):
        held = fit_law("saturating_power", C, noisy(), fixed={"c": end})
        assert held.objective_value - fit.objective_value == pytest.approx(rise, rel=1e-6)


def test_a_bound_ends_the_interval():
    with pytest.warns(FitWarning, match="c sits at its bound 0"):
        fit = fit_law("saturating_power", C, noisy(seed=2, c=0.0))
    low, high = profile_interval(fit, "c")
    assert low == 0
    assert 0 < high < 0.05


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_an_open_side_is_infinite():
    """Over a tenth of a decade with much noise nothing bounds the exponent from above."""
    x = np.geomspace(1, 1.3, 6)
    fit = fit_law("saturating_power", x, [0.52, 0.49, 0.53, 0.47, 0.51, 0.46])
    assert profile_interval(fit, "b")[1] == np.inf


@pytest.mark.parametrize("k", [1e-20, 1.0, 1e6])
def test_units_of_x_and_y_change_nothing_else(k):
    fit, same = fit_law("saturating_power", C, noisy()), fit_law("saturating_power", C * k, 100 * noisy())
    # The root is found to a billionth of its distance.
    assert profile_interval(same, "b") == pytest.approx(profile_interval(fit, "b"), rel=1e-7)
    assert np.array(profile_interval(same, "c")) / 100 == pytest.approx(profile_interval(fit, "c"), rel=1e-7)


def test_what_has_no_interval():
    fit = fit_law("saturating_power", C, noisy(), fixed={"c": 0.1})
    with pytest.raises(FitError, match=r"c is fixed at 0\.1"):
        profile_interval(fit, "c")
    with pytest.raises(ValueError, match="got 'z'"):
        profile_interval(fit, "z")
    with pytest.warns(FitWarning, match="no error estimate"):
        exact = fit_law("saturating_power", C[[0, 5, 9]], noisy()[[0, 5, 9]])
    with pytest.raises(FitError, match="no interval"):
        profile_interval(exact, "b")
