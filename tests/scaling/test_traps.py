"""Fits of one variable that went wrong in public, numbered, with the right answer or the named warning."""

import numpy as np
import pytest

from scaling import OBJECTIVES, FitError, FitWarning, fit_frontier, fit_law
from scaling.intervals.profile import profile_interval
from scaling.laws import LAWS

from .reports import FREE, QUIET, SHALLOW_X, SHALLOW_Y, STEEP_X, STEEP_Y, C, E, noisy, off, truth

# A. One-variable fits -----------------------------------------------------------------------------------------


def test_trap_01_the_optimum_lies_beside_a_log_like_ridge():
    fit = fit_law("saturating_power", SHALLOW_X, SHALLOW_Y, objective="least_squares", bounds=FREE)
    # 3e-5: half of the last of five printed digits.
    assert fit.params == pytest.approx({"a": 2.16548, "b": 0.34815, "c": -3.46506}, rel=3e-5)
    assert 2 * fit.objective_value == pytest.approx(0.44896, rel=3e-5)
    assert 2 * fit.objective_value < 1.447 / 3  # the ridge


def test_trap_01_an_active_bound_is_named():
    with pytest.warns(FitWarning, match="c sits at its bound 0"):
        fit = fit_law("saturating_power", SHALLOW_X, SHALLOW_Y, objective="least_squares")
    assert fit.at_bound == {"c": 0.0}
    assert np.isnan(fit.standard_errors["c"])
    assert fit.standard_errors["b"] > 0


@QUIET  # the interval of c spans all that matters
def test_trap_02_a_default_start_finds_a_ridge():
    fit = fit_law("saturating_power", STEEP_X, STEEP_Y, objective="least_squares", bounds=FREE)
    assert fit.params == pytest.approx({"a": 160095.1, "b": 0.720677, "c": -0.04988}, rel=1e-4)
    # The printed 3095.4406 belongs to rounded parameters; the optimum itself is no higher. The ridge has 208931.
    assert 2 * fit.objective_value == pytest.approx(3095.4406, rel=1e-5)


@pytest.mark.parametrize("objective", ["least_squares", "log_least_squares"])
@pytest.mark.parametrize("unit", [1e-18, 1 / 8.64e19, 1 / (86400 * 123e12), 1e9])  # EFLOPs, PF-days, TPUv3 core-days
def test_trap_03_units_change_the_amplitude_and_nothing_else(objective, unit):
    y, order = noisy(1), np.random.default_rng(0).permutation(8)
    fit = fit_law("saturating_power", C, y, objective=objective)
    same = fit_law("saturating_power", C[order] * unit, y[order], objective=objective)
    a, b, c = fit.params.values()
    # 1e-9: required. The amplitude has unit^b, whose logarithm multiplies the error of b by up to 46.
    assert [same.params["b"], same.params["c"]] == pytest.approx([b, c], rel=1e-9)
    assert same.params["a"] == pytest.approx(a * unit**b, rel=1e-7)
    x = np.array([1e18, 1e20, 1e22])
    ours, theirs = fit.predict(x, level=0.95), same.predict(x * unit, level=0.95)
    for end in ("median", "low", "high"):
        np.testing.assert_allclose(getattr(theirs, end), getattr(ours, end), rtol=1e-9)


@pytest.mark.parametrize("objective", ["least_squares", "log_least_squares"])
def test_trap_03_percent_is_fraction(objective):
    fit, percent = (fit_law("saturating_power", C, k * noisy(1), objective=objective) for k in (1, 100))
    a, b, c = fit.params.values()
    assert list(percent.params.values()) == pytest.approx([100 * a, b, 100 * c], rel=1e-9)


def test_trap_03_raw_flops_need_no_start():
    assert abs(off(fit_law("saturating_power", C, E))) < 1e-9


def test_trap_04_a_straight_line_without_the_offset():
    line, law = fit_law("power", C, E), fit_law("saturating_power", C, E)
    assert line.params["b"] == pytest.approx(0.168, abs=5e-4)
    assert off(line) == pytest.approx(-0.18, abs=0.005)
    assert abs(off(law)) < 1e-9


@QUIET  # one outlier hides b and c from least squares
@pytest.mark.parametrize("row", range(8))
def test_trap_05_one_outlier(row):
    y = E.copy()
    y[row] += 0.1
    robust = fit_law("saturating_power", C, y, objective="log_huber")
    plain = fit_law("saturating_power", C, y, objective="least_squares", bounds=FREE)
    # At an end of the data an outlier has twice the leverage.
    assert abs(off(robust)) < (0.001 if 0 < row < 7 else 0.01)
    assert abs(off(plain)) > 0.12


@QUIET  # of extrapolation
def test_trap_06_points_above_the_frontier():
    rng = np.random.default_rng(0)
    x = 10 ** rng.uniform(18, 21, 400)
    y = truth(x) * np.exp(rng.exponential(0.6, 400))
    everything = fit_law("saturating_power", x, y)
    front = fit_frontier(x, y, num_draws=20)
    assert off(everything) > 0.33
    # The best of 400 runs at a density of 130 a decade lie some sqrt(2 slope .6 / density) = 4 % above.
    assert abs(off(front.fit)) < 0.1


@pytest.mark.parametrize("argument", ["x", "y", "y_std", "counts"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0, 0.0])
def test_trap_07_the_bad_row_is_named(argument, bad):
    given = {"x": C, "y": E, "y_std": np.full(8, 0.01), "counts": np.ones(8)}
    given[argument] = np.array([*given[argument][:5], bad, *given[argument][6:]])
    with pytest.raises(ValueError, match=rf"{argument}\b.* must be .*row 5 is {bad}"):
        fit_law("saturating_power", **given)


@pytest.mark.parametrize("name", LAWS)
def test_trap_07_no_law_returns_its_start_for_a_missing_value(name):
    law = LAWS[name]
    x = np.linspace(0.1, 0.9, 12)
    x = np.column_stack([x, x[::-1]]) if law.num_inputs == 2 else x
    for objective in ("least_squares", *([] if law.link else ["log_least_squares", "log_huber"])):
        with pytest.raises(ValueError, match=r"row 3|\brow 3\b"):
            fit_law(law, x, [0.5, 0.4, 0.3, np.nan, *[0.2] * 8], objective=objective)


def test_trap_08_y_std_is_a_standard_deviation():
    """Errors of the exponent with right weights, and with weights squared once too often."""
    x, std = np.geomspace(1, 1e3, 6), np.array([0.05] * 3 + [0.001] * 3)
    errors = {"std": [], "1/std^2": []}
    for seed in range(40):
        y = 0.5 * x**-0.3 * np.exp(std * np.random.default_rng(seed).standard_normal(6))
        for kind, given in (("std", std), ("1/std^2", std**-2)):
            errors[kind].append(fit_law("power", x, y, y_std=y * given).params["b"] - 0.3)
    rmse = {kind: np.sqrt(np.mean(np.square(e))) for kind, e in errors.items()}
    design = np.stack([np.ones(6), -np.log(x)], axis=1) / std[:, None]
    best = np.sqrt(np.linalg.inv(design.T @ design)[1, 1])  # of generalised least squares
    assert rmse["std"] == pytest.approx(best, rel=0.25)  # 40 draws: a standard deviation is known to 11 %
    assert rmse["1/std^2"] > 10 * rmse["std"]


def test_trap_09_python_integers_above_64_bits():
    x = [10**18, 10**19, 10**20, 10**21, 10**22]
    fit = fit_law("saturating_power", x, [truth(float(c)) for c in x])
    assert fit.params["b"] == pytest.approx(0.25, rel=1e-9)
    n_and_d = [
        [7 * 10**10, 14 * 10**11],
        [10**9, 10**20],
        [10**22, 10**10],
        [10**8, 10**9],
        [10**11, 10**12],
        [10**10] * 2,
    ]
    law = LAWS["additive"]
    true = np.array([1.7, 400.0, 400.0, 0.34, 0.28])
    fit = fit_law(law, n_and_d, law.value(true, np.array(n_and_d, dtype=float)))
    assert list(fit.params.values()) == pytest.approx(true, rel=1e-6)


def test_trap_09_negative_compute_of_an_int64_overflow():
    overflowed = 6 * np.array([7 * 10**10]) * np.array([14 * 10**11])  # 6 N D = 5.88e23
    assert overflowed[0] < 0
    with pytest.raises(ValueError, match=r"x must be positive and finite; row 1 is -8.41") as caught:
        fit_law("power", np.concatenate([[10**18], overflowed, [10**19]]), [0.3, 0.2, 0.1])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("objective", ["log_least_squares", "least_squares"])
def test_trap_10_a_parameter_at_its_bound_is_named(objective):
    y = noisy(0) - 0.13  # c = -.03
    with pytest.warns(FitWarning, match=r"c sits at its bound 0: its interval is one-sided"):
        fit = fit_law("saturating_power", C, y, objective=objective, bounds={"c": (0, 1)})
    assert fit.at_bound == {"c": 0.0}
    errors = fit.standard_errors
    assert np.isnan(errors["c"])
    # The others have those of the law with c known to be 0.
    known = fit_law("saturating_power", C, y, objective=objective, fixed={"c": 0.0})
    assert [errors["a"], errors["b"]] == pytest.approx([known.standard_errors[k] for k in ("a", "b")], rel=1e-9)
    with pytest.raises(FitError, match=r"c has no standard error .*c sits at its bound"):
        fit.interval("c")
    low, high = profile_interval(fit, "c")  # one-sided
    assert low == 0.0
    assert 0.0 < high < 0.1


def test_trap_10_a_users_bound_is_named_too():
    with pytest.warns(FitWarning, match=r"b sits at its bound 0\.2\b"):
        fit = fit_law("saturating_power", C, noisy(0), bounds={"b": (0.01, 0.2)})
    assert fit.at_bound == {"b": pytest.approx(0.2)}


def test_trap_11_repeated_x_all_count():
    x, y = np.repeat(C, 2), np.concatenate([[0.9 * e, 1.1 * e] for e in E])
    middle = fit_law("saturating_power", C, np.sqrt(0.9 * 1.1) * E)
    both = fit_law("saturating_power", x, y)
    # In log y the two lie evenly about their middle: the same law, with 16 points' worth of scatter.
    assert both.params == pytest.approx(middle.params, rel=1e-6)
    assert both.residual_std == pytest.approx(np.std([np.log(0.9), np.log(1.1)]) * np.sqrt(16 / 13), rel=1e-6)


@pytest.mark.parametrize("name", [name for name in LAWS if LAWS[name].link is None and name != "additive"])
def test_trap_12_flat_or_too_few(name):
    x, p = np.geomspace(0.01, 0.9, 8), len(LAWS[name].params)
    with pytest.raises(FitError, match="all y are equal"):
        fit_law(name, x, np.full(8, 0.3))
    with pytest.raises(FitError, match="all x are equal"):
        fit_law(name, np.full(8, 0.5), np.linspace(0.5, 0.1, 8))
    with pytest.raises(FitError, match=rf"has {p} parameters, got {p - 1} points"):
        fit_law(name, x[: p - 1], np.linspace(0.5, 0.1, p - 1))


def test_trap_12_no_degree_of_freedom_is_warned_of():
    with pytest.warns(FitWarning, match="no error estimate"):
        fit = fit_law("saturating_power", C[[0, 3, 7]], E[[0, 3, 7]])
    assert fit.params["b"] == pytest.approx(0.25, rel=1e-9)
    with pytest.raises(FitError, match=r"no interval: .*no error estimate"):
        fit.predict(1e22, level=0.95)


def test_trap_12_under_one_decade_is_warned_of():
    x = np.geomspace(1e18, 5e18, 8)
    with pytest.warns(FitWarning, match=r"0\.70 decades") as caught:
        fit_law("saturating_power", x, truth(x))
    assert [w.message.kind for w in caught] == ["under_one_decade"]
    with pytest.warns(FitWarning, match=r"0\.70 decades"):
        fit_law("power", x, truth(x), fixed={"b": 0.25})
    assert fit_law("power", x, truth(x), fixed={"a": 0.5, "b": 0.25}).warnings == ()  # nothing is fitted


@QUIET
@pytest.mark.parametrize("distinct", [1, 2])
def test_trap_12_fewer_distinct_x_than_parameters(distinct):
    """Eight points at two values of x do not tell three parameters: refused, or said."""
    x, y = np.resize(C[::7][:distinct], 8), noisy(0)
    if distinct == 1:
        with pytest.raises(FitError, match="all x are equal"):
            fit_law("saturating_power", x, y)
    else:
        assert "not_identified" in {w.kind for w in fit_law("saturating_power", x, y).warnings}


def garbage(law, rng):
    """Points that no law describes: noise, a rise, hardly any scatter, steps, one spike, over any range of x."""
    n = int(rng.integers(len(law.params), 20))
    accuracies = law.link is not None or law.name == "transfer"
    wide = 10 ** rng.uniform(-20, 25) * 10 ** rng.uniform(0, rng.choice([0.01, 1, 4, 20]), n)
    x = rng.uniform(0.01, 0.99, n) if accuracies else wide
    if law.num_inputs == 2:
        x = np.column_stack([x, 10 ** rng.uniform(5, 12, n)])
    half, middle = np.arange(n) < n // 2, np.arange(n) == n // 2
    choices = [
        rng.uniform(0.01, 0.99, n), np.sort(rng.uniform(0.01, 0.99, n)), 0.5 + 1e-12 * rng.standard_normal(n),
        0.3 * np.exp(0.01 * rng.standard_normal(n)), np.where(half, 0.9, 0.1), np.where(middle, 0.9, 0.1),
        1e-6 * rng.uniform(0.1, 10, n),
    ]  # fmt: skip
    return x, choices[rng.integers(len(choices))]


COSTLY = ("sigmoidal_power", "broken_power", "double_saturating_power")


@QUIET
@pytest.mark.parametrize(
    ("name", "objective"),
    [
        pytest.param(name, rule, marks=pytest.mark.slow if name in COSTLY or "huber" in rule else ())
        for name in LAWS
        for rule in (OBJECTIVES if LAWS[name].link is None else ("least_squares", "huber"))
    ],
)
def test_trap_12_no_data_make_a_fit_fail_otherwise(name, objective):
    """A finite result, a warning that the points do not tell it, or a FitError: no warning of numpy, no other error."""
    law, rng = LAWS[name], np.random.default_rng(12)
    options = {"num_eval": 1000} if objective == "binomial" else {}
    for _ in range(2):
        x, y = garbage(law, rng)
        try:
            fit = fit_law(law, x, y, objective=objective, **options)
        except FitError:
            continue
        values = np.array(list(fit.params.values()))
        kinds = {warning.kind for warning in fit.warnings}
        assert not np.any(np.isnan(values))
        # An amplitude at x = 1, far from the data, may lie beyond a double: the points then span next to nothing.
        assert np.all(np.isfinite(values)) or kinds & {"not_identified", "few_points", "under_one_decade"}
        assert np.all(np.isfinite(fit.predict(x)))
        assert law.formula in fit.summary()


def test_trap_13_amplitude_is_reported_at_the_middle_of_the_data():
    fit = fit_law("saturating_power", C, noisy(0))
    error = np.sqrt(np.diag(fit.covariance))
    assert fit.covariance[0, 1] / (error[0] * error[1]) > 0.999  # raw FLOPs: the pivot x = 1 is 19 decades off
    middle = np.exp(np.mean(np.log(C)))
    assert f"amplitude at the geometric mean of x, {middle:.4g}: {fit.predict(middle) - fit.params['c']:.6g}" in repr(
        fit
    )
