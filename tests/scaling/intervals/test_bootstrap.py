import numpy as np
import pytest

from scaling import FitError, FitWarning, bootstrap_fit, fit_law
from scaling.intervals.bootstrap import case_weights

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
    with pytest.raises(FitError, match="no bootstrap"):
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


@pytest.mark.parametrize("law", ["saturating_power", "double_saturating_power", "additive"])
def test_residual_draws_of_exact_points_are_the_law(law):
    rng = np.random.default_rng(0)
    if law == "additive":
        x = 10 ** rng.uniform([7, 9], [10, 12], (30, 2))
        y = 1.8 + 480 * x[:, 0] ** -0.35 + 2000 * x[:, 1] ** -0.37
    else:
        x = np.geomspace(1, 1e5, 20)
        y = 0.6 * (x + (10 if law[0] == "d" else 0)) ** -0.3 + 0.1
    fit = fit_law(law, x, y)
    # Rounding of the points, 1e-16, over the law's condition number.
    for name, draws in bootstrap_fit(fit, num_draws=50).params.items():
        assert draws == pytest.approx(np.full(50, fit.params[name]), rel=1e-6)


def test_residual_draws_have_the_spread_of_the_delta_method():
    boot = bootstrap_fit(FIT, num_draws=4000)
    # 4,000 draws know a standard deviation to 1.1 %, and 20 points scatter by a few percent about normal theory.
    for name in ("b", "c"):
        assert np.std(boot.params[name]) == pytest.approx(FIT.standard_errors[name], rel=0.15)


def test_an_unknown_method_and_groups_without_need():
    with pytest.raises(ValueError, match=r"method must be one of .* got 'wild'"):
        bootstrap_fit(FIT, method="wild")
    with pytest.raises(ValueError, match="'cluster' with groups and only then"):
        bootstrap_fit(FIT, method="case", groups=np.arange(20))


def test_draws_of_a_binomial_fit_are_rates():
    x = np.geomspace(1, 1e3, 10)
    rates = np.random.default_rng(0).binomial(2000, 0.5 * x**-0.4 + 0.02) / 2000
    boot = bootstrap_fit(fit_law("saturating_power", x, rates, objective="binomial", num_eval=2000), num_draws=200)
    low, high = boot.interval("c")
    assert low < 0.02 < high
    band = boot.predict([1e4], kind="prediction")
    assert 0 <= band.low < band.median < band.high <= 1


@pytest.mark.parametrize("method", ["residual", "case"])
def test_counts_are_repeated_rows_in_the_draws_too(method):
    counts = np.tile([1, 2, 3, 1], 5)
    counted = bootstrap_fit(fit_law("saturating_power", C, E, counts=counts), num_draws=2000, method=method)
    repeated = fit_law("saturating_power", np.repeat(C, counts), np.repeat(E, counts))
    alone = bootstrap_fit(repeated, num_draws=2000, method=method)
    # 2,000 draws know an end to some percent of the width.
    width = np.ptp(alone.interval("b"))
    assert counted.interval("b") == pytest.approx(alone.interval("b"), abs=0.15 * width)


def test_fractional_counts_cannot_be_drawn():
    fit = fit_law("saturating_power", C, E, counts=np.linspace(0.5, 2, 20))
    with pytest.raises(ValueError, match=r"a bootstrap needs whole counts, got 0\.5"):
        bootstrap_fit(fit)


def test_points_without_a_group_are_on_their_own():
    groups = [None, None, np.nan, "a", "a", 1, "1"]
    weights = case_weights(7, 500, np.random.default_rng(0), groups)
    together = [(i, j) for i in range(7) for j in range(i) if np.all(weights[:, i] == weights[:, j])]
    assert together == [(4, 3)]


@pytest.mark.parametrize("law", ["log_linear", "logit_linear", "probit_linear"])
def test_lines_have_draws(law):
    x = np.linspace(0.1, 0.9, 20)
    y = np.clip(x**1.2 + 0.01 * np.random.default_rng(0).standard_normal(20), 0.01, 0.99)
    fit = fit_law(law, x, y)
    assert bootstrap_fit(fit, num_draws=500).interval("slope") == pytest.approx(fit.interval("slope"), abs=0.1)


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_draws_that_say_nothing_are_refused():
    with pytest.raises(FitError, match="3 points and 3 free parameters leave no residual"):
        bootstrap_fit(fit_law("saturating_power", C[::9], E[::9]))
    with pytest.raises(ValueError, match="groups must have two labels or more"):
        bootstrap_fit(FIT, groups=["a"] * 20)
