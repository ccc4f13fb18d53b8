import warnings

import numpy as np
import pytest

from scaling import FitError, FitWarning
from scaling.ensemble.member_weights import HeldOut, held_out, learn_weights
from scaling.ensemble.weighted import DEFAULT_LAWS, fit_ensemble
from scaling.laws import find_law

X = np.geomspace(1e6, 1e9, 24)
LAWS = ["power", "saturating_power", "double_saturating_power"]


def truth(x):
    return 0.6 * (x / 1e6) ** -0.35 + 0.1


def noisy(seed=0, noise=0.01, x=X):
    return truth(x) * np.exp(noise * np.random.default_rng(seed).standard_normal(x.size))


@pytest.fixture(scope="module")
def ensemble():
    return fit_ensemble(X, noisy())


def test_weights_sum_to_one(ensemble):
    assert ensemble.weights.sum() == pytest.approx(1, rel=1e-12)
    assert np.all(ensemble.weights > 0)
    assert {member.law.name for member in ensemble.members} <= set(DEFAULT_LAWS)


def test_one_law_that_is_the_truth_takes_the_weight_where_the_noise_is_small():
    exact = fit_ensemble(X, truth(X))
    assert np.ptp(exact.weights) > 0.05
    at = np.array([2e9, 4e9, 1e10])
    assert exact.predict(at) == pytest.approx(truth(at), rel=1e-6)
    assert exact.table.groupby("law").weight.sum()["power"] < 1e-6


def test_weights_are_equal_where_past_errors_do_not_tell(ensemble):
    assert np.ptp(ensemble.weights) == 0


def test_scored_points_of_a_window_never_change_its_fits():
    y, changed = noisy(), noisy()
    scored = (X[-1] / 4 < X) & (X[-1] / 2 >= X)
    changed[scored] *= 0.5
    laws = [find_law(law) for law in LAWS]
    ours, theirs = held_out(X, y, laws, 0.25), held_out(X, changed, laws, 0.25)
    assert ours is not None
    assert theirs is not None
    for key in ours.errors:
        assert theirs.errors[key] == pytest.approx(ours.errors[key] + np.log(2))


def test_weights_are_learned_on_windows_that_precede_one_another():
    """Sharp weights of the first window are taken where they are much better on the second, not otherwise."""
    keys = [("good", np.inf), ("bad", np.inf)]
    first = HeldOut({keys[0]: np.array([0.001]), keys[1]: np.array([0.1])})
    same = HeldOut({keys[0]: np.array([0.002]), keys[1]: np.array([0.1])})
    turned = HeldOut({keys[0]: np.array([0.1]), keys[1]: np.array([0.001])})
    assert learn_weights(keys, [first, same])[0] > 0.99
    assert learn_weights(keys, [first, turned]).tolist() == [0.5, 0.5]
    assert learn_weights(keys, [first]).tolist() == [0.5, 0.5]


def test_a_users_held_out_points_are_never_seen():
    kept = X.max() / 2 >= X
    full, other = noisy(), noisy()
    other[~kept] *= 3
    ours, theirs = (fit_ensemble(X[kept], y[kept], LAWS) for y in (full, other))
    assert np.array_equal(ours.weights, theirs.weights)


def test_interval_holds_the_members_and_the_noise(ensemble):
    at = np.array([1.5e9, 3e9, 8e9])
    logs = ensemble.log_values(at)
    for kind in ("confidence", "prediction"):
        band = ensemble.predict(at, level=0.9, kind=kind)
        inside = (np.exp(logs) >= band.low * (1 - 1e-12)) & (np.exp(logs) <= band.high * (1 + 1e-12))
        assert np.all(ensemble.weights @ inside >= 0.9 - 1e-12)
        assert np.all((band.low <= band.median) & (band.median <= band.high))
    curve, point = (ensemble.predict(at, level=0.9, kind=kind) for kind in ("confidence", "prediction"))
    assert np.all(point.high >= curve.high)
    assert np.all(np.log(point.high / point.median) > ensemble.noise)


def test_a_higher_level_is_wider(ensemble):
    narrow, wide = (ensemble.predict([2e9], level=level) for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_an_error_rate_stays_below_one():
    x = np.geomspace(1, 30, 10)
    y = np.clip(0.99 - 0.002 * np.log(x) + 0.02 * np.random.default_rng(0).standard_normal(10), 0, 0.999)
    assert np.all(fit_ensemble(x, y, ["power"]).predict([60.0], level=0.999, kind="prediction").high <= 1)


def test_members_pass_near_the_last_points_and_hold_to_their_slope(ensemble):
    at = X[-1] * np.array([1.0, 1.5, 2.0, 5.0, 9.0])
    logs = ensemble.log_values(at)
    # The mean of the last points lies at a smaller x than the last: by two spacings times the slope.
    assert np.max(np.abs(logs[:, 0] - np.log(ensemble.y[-5:]).mean())) < 0.15
    for member, row in zip(ensemble.members, logs, strict=True):
        shift = row[0] - member.log_value(X[-1:])
        change = row - shift * X[-1] / at - member.log_value(X[-1:])
        assert np.all(change <= 1e-9)
        assert np.all(change >= ensemble.trend.steepest * np.log(at / X[-1]) - 1e-9)


def test_units_row_order_and_percent_change_nothing(ensemble):
    order = np.random.default_rng(1).permutation(X.size)
    theirs = fit_ensemble(X[order] * 1e12, 100 * noisy()[order])
    at = np.array([1e7, 1e9, 4e9])
    # Members are not polished to the last digit, which rounding may shift.
    assert theirs.predict(at * 1e12) == pytest.approx(100 * ensemble.predict(at), rel=1e-6)
    assert theirs.weights == pytest.approx(ensemble.weights)


def test_the_same_twice(ensemble):
    assert np.array_equal(fit_ensemble(X, noisy()).predict([3e9]), ensemble.predict([3e9]))


def test_shapes(ensemble):
    assert ensemble.predict(2e9).shape == ()
    assert ensemble.predict([[1e9, 2e9]]).shape == (1, 2)
    assert ensemble.predict([[1e9], [2e9]], level=0.9).low.shape == (2, 1)


@pytest.mark.parametrize("num", [4, 5, 6, 8])
def test_few_points_leave_out_the_laws_they_cannot_tell(num):
    x = np.geomspace(1, 100, num)
    ensemble = fit_ensemble(x, truth(x * 1e6))
    assert all(len(member.law.params) < num for member in ensemble.members)
    assert np.all(np.isfinite(ensemble.predict([200.0])))


def test_repeated_x_count_each():
    x, y = np.repeat(X, 2), np.repeat(noisy(), 2)
    once, twice = fit_ensemble(X, noisy(), LAWS), fit_ensemble(x, y, LAWS)
    assert twice.predict([3e9]) == pytest.approx(once.predict([3e9]), rel=0.02)  # the last slope is of fewer x


def test_far_extrapolation_is_warned_of(ensemble):
    with pytest.warns(FitWarning, match="beyond the points"):
        ensemble.predict([1e11])
    with warnings.catch_warnings(action="error"):
        ensemble.predict([9e9])


def test_it_prints_itself(ensemble):
    assert "power: weight" in repr(ensemble)
    assert list(ensemble.table.columns) == ["law", "reach", "weight", "noise", "heldout_log_rmse"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1, 2], [1, 2, 3]), ValueError, "equally long"),
        (([1, 0], [1, 2]), ValueError, "x must be positive"),
        (([1, 2], [1, np.inf]), ValueError, "y must be positive"),
        ((X, noisy(), ["transfer"]), ValueError, "must fall with x, got 'transfer'"),
        ((X, noisy(), ["nope"]), ValueError, "law must be one of"),
        (([1, 2], [2, 1]), FitError, "more distinct x than parameters"),
        (([1, 1, 1], [2, 1, 3]), FitError, "more distinct x than parameters"),
        ((X, np.full(X.size, 0.5)), FitError, "all y are equal"),
    ],
)
def test_bad_input_is_one_line(arguments, error, message):
    with pytest.raises(error, match=message) as caught:
        fit_ensemble(*arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"), [({"level": 2}, "level must lie"), ({"level": 0.9, "kind": "both"}, "kind must be")]
)
def test_bad_prediction(ensemble, options, message):
    with pytest.raises(ValueError, match=message):
        ensemble.predict([2e9], **options)
    with pytest.raises(ValueError, match="x must be positive"):
        ensemble.predict([-1.0])
