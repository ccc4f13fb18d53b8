import numpy as np
import pytest
from scipy.optimize import minimize

from scaling import OBJECTIVES, Fit, FitError, FitWarning, fit_law
from scaling.fitting.covariance import parameter_covariance

from ..reports import SHALLOW_X, SHALLOW_Y, C, E, noisy

WITHOUT_COUNTS = [name for name in OBJECTIVES if name != "binomial"]
C_BELOW = {"c": (0, 0.2)}


@pytest.mark.parametrize("objective", WITHOUT_COUNTS)
def test_no_objective_is_worse_than_many_random_starts_of_an_independent_optimiser(objective):
    y = noisy(3, 0.03)
    fit = fit_law("saturating_power", C, y, objective=objective)
    rule, x = OBJECTIVES[objective], C / 1e19

    def value(q):
        f = np.exp(q[0] - np.exp(q[1]) * np.log(x)) + np.exp(q[2])
        return rule.rho(np.log(f) - np.log(y) if rule.log else f - y).sum()

    rng = np.random.default_rng(0)
    starts = rng.uniform([-3, -4, -6], [1, 0, -1], (40, 3))
    with np.errstate(all="ignore"):
        best = min(
            minimize(value, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}).fun
            for start in starts
        )
    assert fit.objective_value <= best + 1e-9


def test_fixed_parameters_stay():
    fit = fit_law("saturating_power", C, noisy(6), fixed={"c": 0.1})
    assert fit.params["c"] == pytest.approx(0.1, rel=1e-15)
    assert fit.warnings == ()
    known = fit_law("saturating_power", C, E, fixed={"a": 15811.388300841898})
    assert known.params["b"] == pytest.approx(0.25, rel=1e-9)


def test_solve_for_x():
    fit = fit_law("saturating_power", C, E)
    assert fit.solve_for_x([0.2, 0.0999, 0.05]).tolist() == pytest.approx([6.25e20, np.inf, np.inf])


def test_aic_is_comparable_between_objectives_and_prefers_the_true_law():
    y = noisy(9, 0.02, np.geomspace(1e18, 1e22, 20))
    x = np.geomspace(1e18, 1e22, 20)
    power, saturating = fit_law("power", x, y), fit_law("saturating_power", x, y)
    assert saturating.aic < power.aic
    assert saturating.bic < power.bic
    linear = fit_law("saturating_power", x, y, objective="least_squares")
    assert abs(linear.aic - saturating.aic) < 10  # same data, same units; not off by the log of y
    with pytest.raises(ValueError, match="need a least-squares objective"):
        _ = fit_law("power", x, y, objective="log_huber").aic


def test_to_dict_is_json_at_full_precision():
    import json

    fit = fit_law("saturating_power", C, noisy(10))
    assert json.loads(json.dumps(fit.to_dict()))["params"] == fit.params


def test_summary_names_the_law_and_its_warnings():
    with pytest.warns(FitWarning):
        text = fit_law("saturating_power", SHALLOW_X, SHALLOW_Y, objective="least_squares").summary()
    assert "a x^-b + c" in text
    assert "warning (at_bound): c sits at its bound 0" in text
    assert "geometric mean of x" in text


# What cannot be fitted is said --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [*E[:7], np.nan]}, "y .* must be positive and finite; row 7 is nan"),
        ({"y": [*E[:7], 0.0]}, "row 7 is 0.0"),
        ({"x": [*C[:7], -1]}, "x must be positive and finite; row 7 is -1.0"),
        ({"x": C[:5]}, "equally long"),
        ({"y_std": [0.1]}, "y_std must have the shape of y"),
        ({"y_std": [0.1] * 7 + [0]}, "y_std must be positive"),
        ({"objective": "l1"}, "objective must be one of .*, got 'l1'"),
        ({"objective": "huber", "delta": -1}, "delta must be positive"),
        ({"delta": 0.1}, "delta goes with a Huber objective, got 'log_least_squares'"),
        ({"bounds": {"z": (0, 1)}}, "has the parameters .* got 'z'"),
        ({"bounds": {"c": (1, 0)}}, r"bounds of c must be \(lower, upper\)"),
    ],
)
def test_bad_arguments_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        fit_law("saturating_power", **{"x": C, "y": E, **change})


@pytest.mark.parametrize("call", [{"level": 1.5}, {"level": 0.0}, {"level": 0.9, "kind": "band"}])
def test_bad_levels_and_kinds(call):
    with pytest.raises(ValueError, match="must"):
        fit_law("saturating_power", C, noisy(1)).predict(1e22, **call)


def test_a_warning_of_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind of a FitWarning"):
        FitWarning("foo", "bar")


def test_residuals_are_data_less_law():
    fit = fit_law("saturating_power", C, noisy(11))
    np.testing.assert_allclose(fit.residuals, np.log(fit.y) - np.log(fit.predict(C)), rtol=1e-9, atol=1e-15)


def test_fits_can_be_pickled_and_copied():
    import copy
    import pickle

    with pytest.warns(FitWarning):
        fit = fit_law("saturating_power", SHALLOW_X, SHALLOW_Y, objective="least_squares")
    for twin in (pickle.loads(pickle.dumps(fit)), copy.deepcopy(fit)):
        assert twin.params == fit.params
        assert [(w.kind, str(w)) for w in twin.warnings] == [(w.kind, str(w)) for w in fit.warnings]


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_a_law_that_is_flat_reaches_no_other_error():
    fit = fit_law("saturating_power", C, E[::-1])
    assert not np.isnan(fit.solve_for_x([0.01, 0.5])).any()


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_a_bounded_amplitude_far_from_one():
    x = np.geomspace(1e20, 1e22, 6)
    fit = fit_law("power", x, 2 * (x / 1e21) ** -0.4, bounds={"a": (1.0, 1e12)})
    assert float(fit.predict(1e21)) == pytest.approx(2, rel=1e-6)


def test_the_summary_gives_the_amplitude_at_the_middle_of_the_data():
    fit = fit_law("saturating_power", C, E, fixed={"a": 15811.388300841898})
    assert "amplitude at the geometric mean of x, 3.162e+19: 0.210848" in fit.summary()


@pytest.mark.parametrize(
    ("seed", "options"), [(58, {"y_std": np.full(8, 0.005)}), (1, {"delta": 1e-6}), (7, {"delta": 1e-6}), (3, {})]
)
def test_huber_fits_end_at_their_kinks(seed, options):
    """With 2 % noise most residuals lie beyond delta: the minimum is a kink, with no curvature on either side."""
    y = noisy(seed, 0.02)
    fit = fit_law("saturating_power", C, y, objective="log_huber", **options)
    scale = options.get("y_std", np.ones(8) * y) / y
    rule = fit.objective

    def value(q):
        f = np.exp(q[0] - np.exp(q[1]) * np.log(C / 1e19)) + np.exp(q[2])
        return rule.rho((np.log(f) - np.log(y)) / scale).sum()

    simplex = {"xatol": 1e-11, "fatol": 1e-16, "maxiter": 8000, "maxfev": 8000}
    starts = np.random.default_rng(0).uniform([-3, -3, -5], [1, 0, -1], (30, 3))
    best = min(minimize(value, start, method="Nelder-Mead", options=simplex).fun for start in starts)
    # 1e-4 of the objective: both are simplex searches at a kink.
    assert fit.objective_value <= best * (1 + 1e-4)


def test_a_delta_that_is_no_threshold_is_refused():
    with pytest.raises(ValueError, match="delta must be positive and finite"):
        fit_law("saturating_power", C, E, objective="log_huber", delta=np.inf)


def test_all_parameters_may_be_fixed():
    known = {"a": 15811.388300841898, "b": 0.25, "c": 0.1}
    fit = fit_law("saturating_power", C, noisy(1), fixed=known)
    assert fit.params == pytest.approx(known)
    band = fit.predict([1e22], level=0.95)
    assert band.low == band.high == band.median


def test_at_bound_does_not_depend_on_the_unit_of_a_bounded_amplitude():
    x = np.geomspace(1e-18, 1e-15, 8)
    fit = fit_law("saturating_power", x, 3e-18 * x**-0.96 + 0.1, bounds={"a": (0.0, np.inf)})
    assert fit.at_bound == {}


def test_interval_of_a_parameter():
    fit = fit_law("saturating_power", C, noisy(2))
    low, high = fit.interval("b")
    assert low < 0.25 < high
    assert fit.interval("c", level=0.5)[0] > fit.interval("c")[0] >= 0
    with pytest.raises(ValueError, match="has the parameters"):
        fit.interval("z")
    with pytest.warns(FitWarning):
        flat = fit_law("saturating_power", SHALLOW_X, SHALLOW_Y, objective="least_squares")
    with pytest.raises(FitError, match=r"c has no standard error .*use profile_interval"):
        flat.interval("c")


def test_a_result_prints_itself():
    assert repr(fit_law("saturating_power", C, noisy(2))).startswith("saturating_power: a x^-b + c")


def test_to_dict_and_back_is_the_same_fit():
    import json

    fit = fit_law(
        "double_saturating_power", C, noisy(12), objective="log_huber", y_std=0.01 * E, bounds={"c": (0, 0.2)}
    )
    twin = Fit.from_dict(json.loads(json.dumps(fit.to_dict())))
    assert twin.params == fit.params
    assert twin.bounds == fit.bounds
    assert twin.standard_errors == pytest.approx(fit.standard_errors, nan_ok=True)
    assert twin.predict([1e21], level=0.9).high.tolist() == fit.predict([1e21], level=0.9).high.tolist()
    assert twin.summary() == fit.summary()


def test_a_dictionary_that_is_no_fit_or_whose_points_were_changed():
    values = fit_law("power", C, noisy(1)).to_dict()
    values["points"]["y"][2] += 1e-9
    with pytest.raises(ValueError, match="not those of its data_sha256"):
        Fit.from_dict(values)
    with pytest.raises(ValueError, match=r"it lacks \['points', 'scaled'\]"):
        Fit.from_dict({name: values[name] for name in values if name not in ("points", "scaled")})


def test_a_prediction_more_than_a_decade_away_is_warned_of():
    fit = fit_law("saturating_power", C, noisy(1))
    fit.predict(10 * C[-1])
    fit.predict(C[0] / 10)
    with pytest.warns(FitWarning, match=r"x lies 1\.04 decades beyond") as caught:
        fit.predict(11 * C[-1])
    assert caught[0].message.kind == "extrapolation"


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_bands_of_fractions_stay_in_0_and_1():
    fit = fit_law("saturating_power", C, noisy(3, 0.2), objective="least_squares")
    band = fit.predict(np.geomspace(1e14, 1e26, 30), level=0.999)
    assert np.all(band.low >= 0)
    assert np.all(band.high[band.median <= 1] <= 1)  # where the law itself is above 1, nothing is cut


def test_the_summary_has_the_reporting_checklist():
    text = fit_law("saturating_power", C, noisy(1), objective="log_huber").summary()
    for part in ("delta 0.001", "objective (sum)", "3 free of 3 parameters", "x from 1e+18 to 1e+21", "bounds a in"):
        assert part in text
    for part in ("starts: at most 3 from a scan", "data sha256", "weights equal", "not known to a fit"):
        assert part in text


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_a_users_bounds_cut_the_interval():
    fit = fit_law("saturating_power", C, noisy(1, 0.05), bounds={"b": (0.2, 0.3)})
    assert fit.interval("b", 0.9999) == pytest.approx((0.2, 0.3))


def test_what_has_no_interval_says_why():
    with pytest.raises(FitError, match=r"c is fixed at 0\.1: it has no interval"):
        fit_law("saturating_power", C, noisy(1), fixed={"c": 0.1}).interval("c")


def test_results_are_compared_by_identity():
    fit = fit_law("power", C, noisy(1))
    assert fit == fit
    assert fit != fit_law("power", C, noisy(1))


def test_a_prediction_unpacks():
    median, low, high = fit_law("power", C, noisy(1)).predict([1e20], level=0.9)
    assert low < median < high


def test_two_points_and_one_known_parameter_are_enough():
    with pytest.warns(FitWarning, match="no error estimate"):
        fit = fit_law("saturating_power", C[[0, 7]], E[[0, 7]], fixed={"c": 0.1})
    assert fit.params["b"] == pytest.approx(0.25)


def test_one_untold_pair_leaves_the_others_their_errors():
    rng = np.random.default_rng(0)
    one, other = rng.standard_normal((2, 20))
    covariance = parameter_covariance(np.column_stack([one, other, 3 * other]), 2.0)
    matrix = covariance.of(np.eye(3))
    assert matrix[0, 0] == pytest.approx(
        2 * np.linalg.inv(np.column_stack([one, other]).T @ np.column_stack([one, other]))[0, 0]
    )
    assert np.isnan(matrix[1, 1])
    # What the two say together is told.
    assert covariance.spread(np.array([0.0, 1.0, 3.0])) < np.inf == covariance.spread(np.array([0.0, 1.0, 0.0]))


def test_lines_take_accuracies_only():
    x = np.linspace(0.2, 0.9, 10)
    line = fit_law("logit_linear", x, x**1.1)
    with pytest.raises(ValueError, match=r"x must lie strictly between 0 and 1; row 1 is 1\.2"):
        line.predict([0.5, 1.2])


def test_the_joint_fit_of_groups_says_that_it_cannot_be_written():
    both = fit_law("power", np.tile(C, 2), np.concatenate([E, 2 * E]), groups=np.repeat([1, 2], 8), shared=["b"])
    with pytest.raises(ValueError, match="the joint fit of groups cannot be written"):
        both.joint.to_dict()


def test_the_summary_says_what_weighs():
    rates = np.array([0.5, 0.3, 0.2, 0.15, 0.12, 0.1])
    x, num_eval = np.geomspace(1, 1e3, 6), [100, 200, 100, 300, 100, 100]
    assert "weights num_eval" in fit_law("power", x, rates, objective="binomial", num_eval=num_eval).summary()
    assert "weights counts" in fit_law("power", x, rates, counts=[1, 2, 1, 1, 1, 1]).summary()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fixed": {"c": 0.3}, "bounds": {"c": (0, 0.1)}}, "fixed c = 0.3 lies outside its bounds"),
        ({"y": np.ma.array(E, mask=[1] + [0] * 7)}, "must not be masked"),
        ({"objective": "binomial", "num_eval": [100] * 7}, "num_eval must have the shape of y"),
    ],
)
def test_more_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        fit_law("saturating_power", **{"x": C, "y": E, **change})


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_all_warnings_of_one_kind_are_written_and_read():
    fit = fit_law("saturating_power", C, noisy(1), bounds={"a": (0, 1)})
    assert len([w for w in fit.warnings if w.kind == "at_bound"]) == 2
    assert [str(w) for w in Fit.from_dict(fit.to_dict()).warnings] == [str(w) for w in fit.warnings]


def test_a_law_above_one_keeps_both_sides_of_its_band():
    x = np.geomspace(10, 1e4, 12)
    y = (1.5 * x**-0.3 + 0.05) * np.exp(0.01 * np.random.default_rng(0).standard_normal(12))
    median, low, high = fit_law("saturating_power", x, y).predict([1.5], level=0.95)
    assert median > 1
    assert high - median > 0.5 * (median - low)


def test_a_target_that_is_no_number():
    with pytest.raises(ValueError, match="got nan"):
        fit_law("power", C, noisy(1)).solve_for_x(np.nan)


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_numbers_too_small_to_divide_by_are_refused():
    """1 / 5e-324 is infinite: so would be the criteria by which laws are compared."""
    with pytest.raises(ValueError, match=r"positive and finite, at least 2\.2\d*e-308; row 1 is 5e-324"):
        fit_law("power", [1, 10, 100], [0.5, 5e-324, 1e-300])
    assert np.isfinite(fit_law("power", [1, 1e3, 1e6], [1e-300, 5e-301, 2e-301]).bic)
