"""Traps numbered on from `test_traps.py`: two variables, frontiers, intervals, extrapolation."""

import json
import warnings

import numpy as np
import pytest
from scipy.special import stdtrit

from scaling import FitError, FitWarning, bootstrap_fit, convex_hull, fit_law, pareto_frontier
from scaling.intervals.profile import profile_interval
from scaling.laws import LAWS
from scaling.selection.rules import select

from .reports import QUIET, C, E, noisy

# B. Chinchilla-type fits --------------------------------------------------------------------------------------


def arrays(frame):
    return frame[["N", "D"]].to_numpy(dtype=float), frame["loss"].to_numpy()


def test_trap_14_huber_loss_is_summed(chinchilla):
    """A mean is so small that L-BFGS stops after 2 iterations at A 406.4, B 410.7, E 1.693."""
    x, y = arrays(chinchilla)
    assert len(y) == 234
    fit = fit_law("additive", x, y, objective="log_huber")
    assert fit.objective_value == pytest.approx(0.00084009, abs=5e-9)  # half of the last printed digit
    assert fit.params["A"] == pytest.approx(442.2, abs=0.1)
    assert fit.params["B"] == pytest.approx(1271.8, abs=0.1)
    assert fit.params["E"] == pytest.approx(1.78389, abs=1e-5)
    assert fit.params["alpha"] == pytest.approx(0.34263, abs=1e-5)
    assert fit.params["beta"] == pytest.approx(0.34200, abs=1e-5)


def test_trap_15_delta_is_a_thousandth_on_log_y(chinchilla):
    x, y = arrays(chinchilla)
    fit, named = (
        fit_law("additive", x, y, objective="log_huber"),
        fit_law("additive", x, y, objective="log_huber", delta=1e-3),
    )
    assert fit.params == named.params
    assert "objective log_huber, delta 0.001" in repr(fit)
    least_squares = fit_law("additive", x, y)
    wide = fit_law("additive", x, y, objective="log_huber", delta=1.0)
    # With delta 1 no residual of log L, all below .1, lies beyond it: least squares under another name.
    assert wide.params == pytest.approx(least_squares.params, rel=1e-6)
    assert abs(wide.params["B"] / fit.params["B"] - 1) > 0.03


LOSS = np.array([1.69, 406.4, 410.7, 0.34, 0.28])  # E, A, B, alpha, beta of Hoffmann 2022


def test_trap_16_one_data_size_does_not_tell_beta():
    x = np.column_stack([[1e8, 2e8, 5e8, 1e9, 3e9], np.full(5, 1e10)])
    with pytest.raises(FitError, match=r"all D are equal \(1e\+10\)"):
        fit_law("additive", x, LAWS["additive"].value(LOSS, x))


@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_trap_16_data_in_proportion_to_parameters_does_not_tell_the_terms_apart(noise):
    """With D = 20 N the two terms may change places: which exponent is the one of N is not told."""
    n = np.geomspace(1e8, 1e11, 12)
    x = np.column_stack([n, 20 * n])
    y = LAWS["additive"].value(LOSS, x) * np.exp(noise * np.random.default_rng(0).standard_normal(12))
    with pytest.warns(FitWarning) as caught:
        fit_law("additive", x, y)
    said = [w.message for w in caught if w.message.kind in ("not_identified", "repeated_optimum")]
    assert said
    if noise == 0:
        assert any("alpha" in str(w) and "beta" in str(w) for w in said)


def test_trap_18_parameters_are_not_rounded():
    law = LAWS["additive"]
    # Hoffmann 2022, from the TeX source: ln A, ln B, ln E, alpha, beta.
    full = np.array([np.exp(0.5267228), np.exp(6.0073404), np.exp(6.0179186), 0.33917084, 0.2849083])
    at = np.array([[70e9, 1.4e12]])
    assert law.value(full, at)[0] == pytest.approx(1.9208, abs=5e-5)
    assert law.value(LOSS, at)[0] == pytest.approx(1.9366, abs=5e-5)
    n, d = np.meshgrid(np.geomspace(1e8, 1e11, 4), np.geomspace(1e9, 1e12, 4))
    x = np.column_stack([n.ravel(), d.ravel()])
    fit = fit_law(law, x, law.value(full, x))
    stored = json.loads(json.dumps(fit.to_dict()))["params"]
    assert stored == fit.params
    # 1e-12 relative: the value from the stored numbers is the fit's own.
    assert law.value(np.array(list(stored.values())), at)[0] == pytest.approx(fit.predict(at)[0], rel=1e-12)
    assert fit.predict(at)[0] == pytest.approx(1.9208, abs=5e-5)


# C. Frontier and hull -----------------------------------------------------------------------------------------


def test_trap_19_ties():
    assert pareto_frontier([1, 2], [0.5, 0.5]).tolist() == [0]
    x, y = [1, 2, 2, 4, 8], [0.5, 0.4, 0.4, 0.3, 0.35]  # an optimum that occurs twice must not vanish
    assert np.take(x, pareto_frontier(x, y)).tolist() == [1, 2, 4]


def test_trap_20_x_and_y_are_matched_row_by_row():
    assert pareto_frontier([1, 10, 100, 10, 100], [0.5, 0.3, 0.2, 0.5, 0.3]).tolist() == [0, 1, 2]


def test_trap_21_an_exact_power_law_is_collinear():
    x = np.geomspace(1, 1e6, 9)
    log_x, log_y = np.log(x), np.log(0.7 * x**-0.3)
    assert convex_hull(log_x, log_y, side="lower").tolist() == [0, 8]
    assert convex_hull(log_x, log_y, side="lower", tolerance=1e-9).size == 9
    for n in (1, 2):
        assert convex_hull(log_x[:n], log_y[:n], side="lower").size == n
        assert select(x[:n], 0.7 * x[:n] ** -0.3, "convex_hull").size == n


# D. Intervals -------------------------------------------------------------------------------------------------


def test_trap_22_intervals_have_students_quantile():
    """In log-log the power law is a straight line, whose interval is in every textbook. Coverage: test_coverage.py."""
    y, x0 = noisy(2), 1e22
    fit = fit_law("power", C, y)
    log_x, log_y = np.log(C), np.log(y)
    slope, intercept = np.polyfit(log_x - log_x.mean(), log_y, 1)
    s = np.sqrt(np.sum((log_y - intercept - slope * (log_x - log_x.mean())) ** 2) / 6)
    far = (np.log(x0) - log_x.mean()) ** 2 / np.sum((log_x - log_x.mean()) ** 2)
    middle = intercept + slope * (np.log(x0) - log_x.mean())
    for kind, spread in (("confidence", np.sqrt(1 / 8 + far)), ("prediction", np.sqrt(1 + 1 / 8 + far))):
        band = fit.predict([x0], level=0.95, kind=kind)
        half = stdtrit(6, 0.975) * s * spread
        # 1e-8: normal equations of a line against ours.
        assert np.log([band.low[0], band.high[0]]) == pytest.approx([middle - half, middle + half], rel=1e-8)
    low, high = fit.interval("b")
    half = stdtrit(6, 0.975) * s / np.sqrt(np.sum((log_x - log_x.mean()) ** 2))
    assert [low, high] == pytest.approx([-slope - half, -slope + half], rel=1e-8)


@pytest.mark.parametrize("of", ["fit", "bootstrap"])
def test_trap_23_the_band_of_a_new_run_is_not_the_band_of_the_curve(of):
    fit = fit_law("saturating_power", C, noisy(8))
    source = fit if of == "fit" else bootstrap_fit(fit, num_draws=300)
    curve, new_run = (source.predict([1e22], level=0.95, kind=kind) for kind in ("confidence", "prediction"))
    assert new_run.low < curve.low < curve.median < curve.high < new_run.high
    assert (curve.kind, new_run.kind) == ("confidence", "prediction")
    assert source.predict([1e22], level=0.5).high < curve.high
    with pytest.raises(ValueError, match=r"kind must be one of \('confidence', 'prediction'\), got 'curve'"):
        source.predict([1e22], level=0.95, kind="curve")


@QUIET  # of extrapolation, and of parameters at a bound
@pytest.mark.parametrize("objective", ["least_squares", "log_least_squares", "log_huber"])
@pytest.mark.parametrize("kind", ["confidence", "prediction"])
def test_trap_24_bands_of_an_error_rate_stay_in_0_and_1(objective, kind):
    rng = np.random.default_rng(0)
    x = np.geomspace(1, 1e3, 12)
    y = np.clip((0.95 * x**-0.5 + 0.01) * np.exp(0.3 * rng.standard_normal(12)), 0.001, 1)
    fit = fit_law("saturating_power", x, y, objective=objective)
    far = np.geomspace(0.01, 1e6, 9)
    for source in (fit, bootstrap_fit(fit, num_draws=100)):
        band = source.predict(far, level=0.95, kind=kind)
        assert np.all(band.low >= 0)
        # The law itself may leave the range where it is extrapolated to small x; the band ends there.
        assert np.all(band.high[band.median <= 1] <= 1)  # where the law itself is above 1, nothing is cut


@QUIET
def test_trap_24_draws_and_intervals_keep_the_bounds_of_parameters():
    fit = fit_law("saturating_power", C, noisy(5, 0.05))
    boot = bootstrap_fit(fit, num_draws=200)
    assert np.all(boot.params["c"] >= 0)
    assert boot.interval("c")[0] >= 0
    assert "c" in fit.at_bound or fit.interval("c", level=0.999)[0] >= 0
    assert profile_interval(fit, "c", level=0.999)[0] >= 0


# E. Extrapolation ---------------------------------------------------------------------------------------------


def optimum_in_log_of_excess(x, y):
    """The c in [0, min y) that is best for residuals in log(y - c), on a grid: its own objective, plainly."""
    design = np.stack([np.ones(x.size), np.log(x)], axis=1)
    offsets = np.concatenate([[0.0], y.min() * (1 - np.geomspace(1e-6, 0.999, 400))])
    targets = np.log(y - offsets[:, None])
    squares = [np.sum((t - design @ np.linalg.lstsq(design, t, rcond=None)[0]) ** 2) for t in targets]
    return offsets[int(np.argmin(squares))]


def test_trap_25_residuals_in_log_of_the_excess_are_no_likelihood(published):
    """Alabdulmohsin 2022, translation: the optimum in log(y - c) is c = 0 in 3 of 5 sets; in log y it never is."""
    frame = published("alabdulmohsin2022_nmt.csv")
    collapsed = {}
    for model, rows in frame[frame["Training"] == 1].groupby("Model"):
        x, y = rows["Seen Examples"].to_numpy(dtype=float), rows["Loss"].to_numpy()
        collapsed[model] = optimum_in_log_of_excess(x, y) == 0.0
        assert fit_law("saturating_power", x, y).params["c"] > 0.1
    assert sum(collapsed.values()) == 3


@pytest.mark.parametrize("amplitude", [1e-6, 0.05, 0.9, 1.0, 30.0, 1e9])
def test_trap_26_an_amplitude_below_one_is_no_bound(amplitude):
    x = np.geomspace(1, 1e3, 10)
    for name, extra in (("power", []), ("saturating_power", [0.2 * amplitude]), ("reciprocal_shift_power", [1e-3])):
        law = LAWS[name]
        fit = fit_law(law, x, law.value(np.array([amplitude, 0.25, *extra]), x))
        assert fit.params["b"] == pytest.approx(0.25, rel=1e-8)  # not .541
        assert fit.at_bound == {}


# A row for its whole kind -------------------------------------------------------------------------------------


@QUIET
def test_errors_that_rise_with_compute_are_not_fitted_silently():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit_law("saturating_power", C, E[::-1])
    assert any("does not fall with x" in str(w.message) for w in caught)
