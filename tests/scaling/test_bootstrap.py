import numpy as np
import pytest

from scaling import FitError, FitWarning, bootstrap_fit, fit_law
from scaling.bootstrap import case_weights

C = np.geomspace(1e18, 1e21, 20)
E = (0.5 * (C / 1e18) ** -0.25 + 0.1) * np.exp(0.02 * np.random.default_rng(0).standard_normal(20))
FIT = fit_law("saturating_power", C, E)


def test_every_draw_is_the_fit_to_its_points():
    """Weights equal repeated rows; the batch finds what a fit alone finds."""
    rng = np.random.default_rng(1)
    boot = bootstrap_fit(FIT, num_draws=25, method="case", rng=rng)
    weights = case_weights(20, 25, np.random.default_rng(1))
    for theta, counts in zip(boot.theta, weights, strict=True):
        rows = np.repeat(np.arange(20), counts)
        alone = fit_law("saturating_power", C[rows], E[rows], bounds={"c": (0, np.inf)})
        ours = FIT.law.in_units(theta, FIT.x_unit, FIT.y_unit)
        assert ours[1:] == pytest.approx(list(alone.params.values())[1:], rel=1e-7, abs=1e-9)


def test_the_seed_decides_the_draws():
    intervals = [bootstrap_fit(FIT, num_draws=50, rng=np.random.default_rng(seed)).interval("b") for seed in (3, 3, 4)]
    assert intervals[0] == intervals[1] != intervals[2]


def test_groups_are_drawn_together():
    groups = np.repeat(np.arange(5), 4)
    weights = case_weights(20, 10, np.random.default_rng(0), groups)
    assert np.all(weights.reshape(10, 5, 4) == weights.reshape(10, 5, 4)[:, :, :1])
    assert np.all(weights.sum(axis=1) == 20)


def test_single_points_as_groups_are_no_groups_in_law():
    plain = bootstrap_fit(FIT, num_draws=400, method="case")
    grouped = bootstrap_fit(FIT, num_draws=400, groups=np.arange(20))
    assert grouped.interval("b") == pytest.approx(plain.interval("b"), rel=1e-12)


def test_prediction_bands_are_wider_and_nested():
    boot = bootstrap_fit(FIT, num_draws=300)
    narrow, wide = boot.predict([1e22], level=0.5), boot.predict([1e22], level=0.95)
    new_run = boot.predict([1e22], level=0.95, kind="prediction")
    assert new_run.low < wide.low < narrow.low < narrow.median < narrow.high < wide.high < new_run.high


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")  # of extrapolation
def test_bands_of_an_error_rate_stay_positive():
    rng = np.random.default_rng(0)
    y = (2 * (C / 1e18) ** -0.6) * np.exp(0.5 * rng.standard_normal(20))
    boot = bootstrap_fit(fit_law("power", C, y), num_draws=300)
    assert np.all(boot.predict(np.geomspace(1e18, 1e25, 9), kind="prediction").low > 0)


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_draws_with_too_few_distinct_points_are_counted():
    fit = fit_law("saturating_power", C[::6], E[::6])
    with pytest.warns(FitWarning, match="bootstrap draws had too few distinct points"):
        boot = bootstrap_fit(fit, num_draws=200, method="case")
    assert boot.num_failed > 10
    assert len(boot.theta) == 200 - boot.num_failed


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"num_draws": 0}, "num_draws must be a whole number of at least 1"),
        ({"groups": [1, 2]}, r"groups must have one label a point, shape \(20,\), got \(2,\)"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_fit(FIT, **call)


def test_bad_names_and_levels():
    boot = bootstrap_fit(FIT, num_draws=20)
    with pytest.raises(ValueError, match=r"has the parameters .* got 'z'"):
        boot.interval("z")
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        boot.interval("a", level=95)


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_no_draw_can_be_fitted():
    fit = fit_law("power", C[[0, 19]], E[[0, 19]])
    with pytest.raises(FitError, match="no bootstrap draw"):
        bootstrap_fit(fit, num_draws=1, method="case", rng=np.random.default_rng(3))


def test_prediction_bands_lie_on_the_side_of_the_scatter():
    """Runs lie above their law by an excess: so does the band of a new run."""
    rng = np.random.default_rng(0)
    x = np.geomspace(1e18, 1e21, 200)
    y = (0.5 * (x / 1e18) ** -0.25 + 0.1) * np.exp(rng.exponential(0.3, 200))
    fit = fit_law("saturating_power", x, y)
    band = bootstrap_fit(fit, num_draws=1000).predict([3e19], level=0.9, kind="prediction")
    low, high = np.log(band.low[0] / band.median[0]), np.log(band.high[0] / band.median[0])
    assert [low, high] == pytest.approx(np.quantile(fit.residuals, [0.05, 0.95]), abs=0.08)
    assert high > 1.5 * -low


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_a_draw_needs_as_many_points_as_parameters_also_where_one_is_at_its_bound():
    x = np.geomspace(1, 1e3, 4)
    fit = fit_law("saturating_power", x, 0.5 * x**-0.3)
    assert fit.num_free == 2
    boot = bootstrap_fit(fit, num_draws=300, method="case")
    two_points = (case_weights(4, 300, np.random.default_rng(0)) > 0).sum(axis=1) < 3
    assert boot.num_failed == two_points.sum() > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
@pytest.mark.parametrize(("n", "noise"), [(8, 0.01), (8, 0.03), (20, 0.02)])
def test_coverage_at_ten_times_the_largest_compute(n, noise):
    """95 % intervals of E = .5 (C/1e18)^-.25 + .1 at 1e22 from points over 1e18..1e21: the README's figures.

    2,000 simulations of the delta method (standard error .005), 500 of the case bootstrap (.01).
    """
    truth, x, rng = 0.5 * 1e4**-0.25 + 0.1, np.geomspace(1e18, 1e21, n), np.random.default_rng(0)
    covered = {"delta": [], "bootstrap": []}
    for i in range(2000):
        y = (0.5 * (x / 1e18) ** -0.25 + 0.1) * np.exp(noise * rng.standard_normal(n))
        fit = fit_law("saturating_power", x, y)
        bands = {"delta": fit.predict([1e22], level=0.95)}
        if i < 500:
            bands["bootstrap"] = bootstrap_fit(fit, num_draws=400, rng=rng).predict([1e22], level=0.95)
        for name, band in bands.items():
            covered[name].append(bool(band.low[0] <= truth <= band.high[0]))
    shares = {name: float(np.mean(values)) for name, values in covered.items()}
    print(f"n = {n}, noise {noise}: {shares}")
    assert 0.93 <= shares["delta"] <= 0.97
    assert 0.87 <= shares["bootstrap"] <= 0.97
