from functools import partial

import numpy as np
import pytest

from scaling import FitError, FitWarning, convex_hull, fit_frontier, fit_law, pareto_frontier
from scaling.selection.rules import drawn_selection, select


def runs(n=120, seed=0):
    """Runs above a true frontier by an exponential excess."""
    rng = np.random.default_rng(seed)
    x = 10 ** rng.uniform(18, 22, n)
    return x, (0.5 * (x / 1e18) ** -0.25 + 0.1) * np.exp(rng.exponential(0.1, n))


@pytest.mark.parametrize("selection", ["all", "pareto", "convex_hull"])
def test_an_exact_power_law_below_other_runs_is_recovered(selection):
    x = np.geomspace(1e18, 1e22, 15)
    y = 0.5 * (x / 1e18) ** -0.25 + 0.1
    if selection != "all":
        x, y = np.tile(x, 3), np.concatenate([y, 1.3 * y, np.full(15, 0.7)])
    front = fit_frontier(x, y, selection=selection, num_draws=50)
    assert front.selected.size == 15
    assert front.params == pytest.approx({"a": 15811.388, "b": 0.25, "c": 0.1}, rel=1e-6)


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")  # of extrapolation
def test_fitting_all_points_instead_of_the_frontier_is_far_off():
    x, y = runs()
    front = fit_frontier(x, y, num_draws=20).predict([1e23])[0]
    everything = fit_frontier(x, y, selection="all", num_draws=20).predict([1e23])[0]
    truth = 0.5 * 1e5**-0.25 + 0.1
    assert abs(front - truth) < abs(everything - truth)


@pytest.mark.parametrize(
    ("selection", "tolerance"), [("all", 0), ("pareto", 0), ("convex_hull", 0), ("convex_hull", 0.01)]
)
def test_the_selection_of_a_draw_is_that_of_its_points_alone(selection, tolerance):
    x, y = runs(40)
    counts = np.random.default_rng(1).multinomial(40, np.full(40, 1 / 40), size=30)
    weights = drawn_selection(x, y, counts, selection, tolerance)
    for count, weight in zip(counts, weights, strict=True):
        rows = np.flatnonzero(count)
        alone = rows[select(x[rows], y[rows], selection, tolerance)]
        assert sorted(alone) == np.flatnonzero(weight).tolist()


def test_hull_selection_ends_at_the_best_run():
    x, y = np.array([1.0, 2, 4, 8]), np.array([0.5, 0.3, 0.2, 0.4])
    assert select(x, y, "convex_hull").tolist() == [0, 1, 2]
    assert convex_hull(x, y, side="lower").tolist() == [0, 1, 2, 3]
    assert select(x, y, "pareto").tolist() == pareto_frontier(x, y).tolist()


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")  # of extrapolation
def test_bands_of_fractions_stay_in_0_and_1_and_losses_are_let_be():
    x, y = runs()
    band = fit_frontier(x, y, num_draws=50).predict([1e10], level=0.95)
    assert band.high <= 1
    losses = fit_frontier(x, 10 * y, num_draws=50).predict([1e10], level=0.95)
    assert losses.high > 1


def test_summary_has_an_interval_for_each_parameter():
    x, y = runs()
    text = fit_frontier(x, y, num_draws=50).summary()
    assert text.count("95% interval") == 3
    assert "pareto of 120 runs" in text


def test_a_frontier_of_one_point_has_its_reason():
    with pytest.raises(FitError, match=r"the pareto of 3 runs has 1 points, too few for .*is y an error"):
        fit_frontier([1, 2, 3], [0.1, 0.2, 0.3])


def test_unknown_selection():
    with pytest.raises(ValueError, match=r"selection must be one of .*, got 'best'"):
        fit_frontier([1, 2, 3], [0.3, 0.2, 0.1], selection="best")


@pytest.mark.parametrize("selection", ["all", "pareto"])
def test_bad_rows_are_named_as_the_caller_counts_them(selection):
    with pytest.raises(ValueError, match=r"not so in rows \[2\]"):
        fit_frontier([3, 2, 1, 5], [0.3, 0.2, np.nan, 0.1], selection=selection)
    with pytest.raises(ValueError, match="equally long"):
        fit_frontier([3, 2, 1, 5], [0.3, 0.2], selection=selection)


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")  # of extrapolation
def test_the_central_value_is_the_same_with_and_without_a_level():
    front = fit_frontier(*runs(), num_draws=50)
    at = [1e10, 1e17, 1e20]
    assert front.predict(at).tolist() == front.predict(at, level=0.95).median.tolist()


def test_the_selection_of_a_world_is_that_of_its_own_errors():
    """Ties in x as well: the selection of each row alone."""
    rng = np.random.default_rng(0)
    x = np.repeat(10 ** rng.uniform(18, 22, 20), 2)
    ys = np.round(rng.uniform(0.1, 0.9, (30, 40)), 2)
    for selection, tolerance in (("pareto", 0), ("convex_hull", 0), ("convex_hull", 0.05)):
        weights = drawn_selection(x, ys, np.ones(ys.shape, dtype=int), selection, tolerance)
        for y, weight in zip(ys, weights, strict=True):
            assert sorted(select(x, y, selection, tolerance)) == np.flatnonzero(weight).tolist()


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")  # of extrapolation
@pytest.mark.parametrize("selection", ["pareto", "convex_hull"])
def test_the_interval_of_a_world_takes_the_bias_off(selection):
    """The law on frontier points lies above the truth, as does the middle of a case bootstrap; a world's does not."""
    truth = 0.5 * 1e5**-0.25 + 0.1
    middles = {"simulated_world": [], "case_bootstrap": []}
    for seed in range(6):
        x, y = runs(200, seed)
        for intervals, found in middles.items():
            front = fit_frontier(x, y, selection=selection, intervals=intervals, num_draws=200)
            band = front.predict([1e23], 0.5)
            found.append((band.low[0] + band.high[0]) / 2)
            assert front.intervals == intervals
    bias = {name: np.mean(values) - truth for name, values in middles.items()}
    assert abs(bias["simulated_world"]) < 0.5 * bias["case_bootstrap"]


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")  # of extrapolation
def test_draws_of_a_world_keep_the_bounds_of_the_law():
    x, y = runs(60)
    front = fit_frontier(x, y, law="saturating_power", num_draws=300)
    assert min(values.min() for values in front.bootstrap.params.values()) >= 0
    assert front.bootstrap.params["a"].shape == (300,)
    assert front.bootstrap.values([1e20, 1e23]).shape == (300, 2)
    band = front.bootstrap.predict([1e20], kind="prediction")
    assert band.high - band.low > np.ptp(front.bootstrap.quantiles(front.bootstrap.values([1e20]), 0.95))


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")  # of extrapolation
def test_units_of_compute_and_of_error_change_no_interval_of_a_world():
    x, y = runs()
    base, scaled = (fit_frontier(u * x, v * y, num_draws=100) for u, v in ((1.0, 1.0), (1e-18, 100.0)))
    assert scaled.interval("b") == pytest.approx(base.interval("b"), rel=1e-6)
    assert scaled.predict([1e5], 0.9).low == pytest.approx(100 * base.predict([1e23], 0.9).low, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({}, "simulated_world"),
        ({"groups": np.arange(120)}, "case_bootstrap"),
        ({"selection": "all"}, "case_bootstrap"),
    ],
)
def test_which_interval_is_the_default(change, kind):
    assert fit_frontier(*runs(), num_draws=20, **change).intervals == kind


def test_few_runs_have_the_case_bootstrap():
    x = np.geomspace(1e18, 1e21, 8)
    assert fit_frontier(x, 0.5 * (x / 1e18) ** -0.25 + 0.1, num_draws=20).intervals == "case_bootstrap"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"intervals": "jackknife"}, "intervals must be one of .* or None, got 'jackknife'"),
        ({"intervals": "simulated_world", "groups": np.arange(120)}, "'simulated_world' needs .* no groups"),
        (
            {"intervals": "simulated_world", "selection": "all"},
            "'simulated_world' needs selection 'pareto' or 'convex_hull'",
        ),
    ],
)
def test_intervals_that_cannot_be_had(change, message):
    with pytest.raises(ValueError, match=message):
        fit_frontier(*runs(), **change)


@pytest.mark.slow
@pytest.mark.parametrize("selection", ["pareto", "convex_hull"])
def test_coverage_of_a_world(selection):
    """95 % intervals, 50 runs, exponential excess and 1 % noise, 100 simulations: .94 less two standard errors."""
    from tests.benchmarks.frontier_coverage import simulate

    rows = [simulate("frontier", selection, 50, "exponential", 0.01, seed, num_draws=400) for seed in range(100)]
    covered = np.mean([row["low"] <= row["truth"] <= row["high"] for row in rows])
    print(selection, covered)
    assert covered >= 0.89


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_groups_widen_the_interval_of_runs_that_move_together():
    """Twenty-four trainings of five branches each: the branches of one share their excess."""
    rng = np.random.default_rng(0)
    trunk = np.repeat(np.arange(24), 5)
    x = 10 ** rng.uniform(18, 22, 120)
    y = (0.5 * (x / 1e18) ** -0.25 + 0.1) * np.exp(rng.exponential(0.1, 24)[trunk])
    width = {
        g: np.ptp(
            fit_frontier(x, y, intervals="case_bootstrap", groups=trunk if g else None, num_draws=400).interval("b")
        )
        for g in (True, False)
    }
    assert width[True] > width[False]


@pytest.mark.filterwarnings("ignore:the intervals are of a simulated world")  # without a shift
def test_zhai_pareto_rule_gives_their_number_of_frontier_points(published):
    """Zhai et al. 2021, Tables 4-13: the running minimum of 262 runs has 33 points."""
    table = published("zhai2021_runs_imagenet_fewshot.csv").dropna(
        subset=["compute_tpuv3_core_days_from_fig2", "inet10_err_pct"]
    )
    x, y = table["compute_tpuv3_core_days_from_fig2"].to_numpy(), table["inet10_err_pct"].to_numpy() / 100
    front = fit_frontier(x, y, objective="least_squares", num_draws=50)
    assert front.selected.size == 33


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_a_summary_says_that_draws_failed():
    x = np.geomspace(1, 1e3, 4)
    front = fit_frontier(x, 0.5 * x**-0.3 + 0.1, selection="all", num_draws=200)
    assert "warning (failed_draws)" in front.summary()


def test_what_is_beyond_the_runs_is_counted_from_all_of_them():
    """The best run may be far from the largest."""
    x = np.concatenate([np.geomspace(1e15, 1e18, 30), [1e21]])
    y = np.concatenate([0.4 * np.geomspace(1, 1e3, 30) ** -0.3 + 0.1, [0.9]])
    front = fit_frontier(x, y, num_draws=20, intervals="case_bootstrap")
    front.predict(1e22)
    with pytest.warns(FitWarning, match=r"x lies 1\.30 decades beyond"):
        front.predict(2e22)


def test_the_x_of_a_draw_is_where_its_curve_reaches_the_target():
    front = fit_frontier(*runs(150), num_draws=100)
    assert front.intervals == "simulated_world"
    x = front.bootstrap.solve_for_x([0.16])[:, 0]
    for row in np.flatnonzero(np.isfinite(x))[:20]:
        # Interpolated between 2,000 values of x.
        assert front.bootstrap.values([x[row]])[row, 0] == pytest.approx(0.16, rel=1e-3)
    assert np.isinf(front.bootstrap.solve_for_x([1e-6])).all()


@pytest.mark.parametrize("unit", [1.0, 1e-12, 1e9])
def test_the_unit_of_y_does_not_change_a_hull(unit):
    x, y = runs(60)
    kept = fit_frontier(x, y, selection="convex_hull", num_draws=5, intervals="case_bootstrap").selected
    other = fit_frontier(x, unit * y, selection="convex_hull", num_draws=5, intervals="case_bootstrap").selected
    assert other.tolist() == kept.tolist()


@pytest.mark.parametrize("unit", [1.0, 1e-20, 1e9])
def test_a_hull_in_log_axes_keeps_an_exact_power_law_and_not_what_lies_above_it(unit):
    """y = x^-.3 is a straight line there; the units move the line and bend nothing."""
    x = np.geomspace(1, 1e4, 9)
    y = x**-0.3
    x, y = np.append(x, [30.0, 3000.0]), np.append(y, [1.02 * 30**-0.3, 1.02 * 3000**-0.3])
    assert select(unit * x, y, "convex_hull", 1e-12, "log").tolist() == list(range(9))
    front = fit_frontier(unit * x, y, law="power", selection="convex_hull", hull_axes="log", num_draws=20)
    assert front.params["b"] == pytest.approx(0.3, rel=1e-9)  # exact points
    assert "convex_hull in log axes of 11 runs: 9 points" in front.summary()


def test_a_hull_in_log_axes_is_on_the_frontier_and_has_other_vertices_than_the_linear_one():
    x, y = runs(200)
    linear, log = (select(x, y, "convex_hull", 0.0, axes) for axes in ("linear", "log"))
    frontier = pareto_frontier(x, y)
    assert set(log) <= set(frontier)
    assert log.tolist() != linear.tolist()
    slopes = np.diff(np.log(y[log])) / np.diff(np.log(x[log]))
    assert np.all(np.diff(slopes) > 0)


def test_the_log_hull_of_a_draw_is_that_of_its_points_alone():
    x, y = runs(40)
    counts = np.random.default_rng(1).multinomial(40, np.full(40, 1 / 40), size=30)
    for tolerance in (0.0, 0.02):
        weights = drawn_selection(x, y, counts, "convex_hull", tolerance, "log")
        for count, weight in zip(counts, weights, strict=True):
            rows = np.flatnonzero(count)
            alone = rows[select(x[rows], y[rows], "convex_hull", tolerance, "log")]
            assert sorted(alone) == np.flatnonzero(weight).tolist()


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_draws_of_a_world_and_of_cases_take_the_hull_in_the_same_axes():
    """A power law without an offset below runs far above it: two exact runs at the ends are the log hull of each."""
    x = np.geomspace(1, 1e4, 30)
    y = x**-0.3 * np.where(np.arange(30) % 29 == 0, 1.0, 1.05)
    for intervals in ("simulated_world", "case_bootstrap"):
        options = {"law": "power", "selection": "convex_hull", "intervals": intervals, "num_draws": 200}
        log, linear = (fit_frontier(x, y, hull_axes=axes, **options) for axes in ("log", "linear"))
        assert log.selected.tolist() == [0, 29]
        assert linear.selected.size > 5
        # Fewer points of the same scatter tell less of the exponent.
        assert np.ptp(log.interval("b")) > np.ptp(linear.interval("b"))


@pytest.mark.filterwarnings("ignore:.*too few distinct points|.* sits at|.* spans all:scaling.FitWarning")
def test_a_hull_in_log_axes_hides_a_shift_and_says_so():
    """Zhai's law of ImageNet 10-shot error (2106.04560, Figure 9): flat in log-log below x = d."""
    x = np.geomspace(1e-2, 1e3, 40)
    y = 0.63 * (x + 0.52) ** -0.32 + 0.12
    options = {"law": "double_saturating_power", "selection": "convex_hull", "num_draws": 20}
    linear = fit_frontier(x, y, **options, intervals="case_bootstrap")
    assert linear.params["d"] == pytest.approx(0.52, rel=1e-3)  # exact points, four parameters
    assert not [w for w in linear.warnings if w.kind == "hidden_curvature"]
    with pytest.warns(FitWarning, match="hides a downward bend such as that of a shift d > 0"):
        log = fit_frontier(x, y, **options, hull_axes="log", intervals="case_bootstrap")
    assert log.selected.size < linear.selected.size
    assert "warning (hidden_curvature)" in log.summary()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hull_axes": "loglog"}, r"hull_axes must be one of .*, got 'loglog'"),
        ({"hull_axes": "log", "selection": "pareto"}, "'log' goes with selection='convex_hull', got 'pareto'"),
        ({"hull_axes": "log", "selection": "convex_hull", "objective": "least_squares"}, "positive y; row 2 is 0"),
    ],
)
def test_hull_axes_that_cannot_be_had(change, message):
    with pytest.raises(ValueError, match=message):
        fit_frontier([1, 2, 3, 4], [0.3, 0.2, 0, 0.1], **change)


def test_the_x_that_reaches_a_target_and_its_interval():
    front = fit_frontier(*runs(150), num_draws=200)
    targets = np.array([[0.3, 0.16], [0.12, 1e-3]])
    value, low, high = front.solve_for_x(targets, level=0.9)
    assert value.shape == low.shape == high.shape == targets.shape
    assert front.solve_for_x(targets).tolist() == value.tolist()
    assert front.predict(value[0]) == pytest.approx(targets[0], rel=1e-12)  # the inverse is closed
    assert np.all(low <= high)
    assert np.isinf([value[1, 1], low[1, 1], high[1, 1]]).all()  # below c: never
    truth = 1e18 * ((np.array([0.3, 0.16]) - 0.1) / 0.5) ** -4
    assert np.all((low[0] < truth) & (truth < high[0]))


def test_a_target_that_some_draws_never_reach_has_an_open_end():
    front = fit_frontier(*runs(60), intervals="case_bootstrap", num_draws=200)
    near_c = np.quantile(front.bootstrap.params["c"], 0.8)
    _, low, high = front.solve_for_x(near_c, level=0.9)
    assert np.isfinite(low)
    assert high == np.inf


def test_an_irreducible_error_above_observed_runs_is_said(published):
    """Dosovitskiy et al. 2020, Table 6, all three families in one frontier: c = .129, and the best run has .119."""
    table = published("dosovitskiy2020_table6.csv")
    with pytest.warns(
        FitWarning, match=r"4 runs lie below the irreducible error 0\.1291, the best at 0\.1192"
    ) as caught:
        front = fit_frontier(table["exaflops"], 1 - table["imagenet"] / 100, num_draws=50)
    assert "below_limit" in [warning.message.kind for warning in caught]
    assert "warning (below_limit)" in front.summary()


def test_series_of_other_indices_are_refused():
    import pandas as pd

    x = pd.Series(np.geomspace(1, 1e3, 9))
    y = 0.5 * x**-0.3 + 0.1
    fit_frontier(x, y, num_draws=10)
    for call in (fit_frontier, pareto_frontier, partial(fit_law, "saturating_power")):
        with pytest.raises(ValueError, match="x and y must have the same index in the same order"):
            call(x, y.sample(frac=1, random_state=0))


def test_an_error_that_no_law_falls_to_and_none_at_all():
    front = fit_frontier(*runs(), num_draws=20)
    assert [end.tolist() for end in front.solve_for_x([0.0, -1.0], 0.95)] == [[np.inf] * 2] * 3
    assert [end.shape for end in front.solve_for_x([], 0.95)] == [(0,)] * 3
