import numpy as np
import pytest

from scaling import FitError
from scaling.ensemble.comparison import BASELINES, compare_laws
from scaling.ensemble.holdout import HOLDOUTS, Window, find_windows

X = np.geomspace(1e18, 1e21, 16)
LAWS = ["power", "saturating_power", "double_saturating_power"]
NUMBERS = ["heldout_log_rmse", "fitted_log_rmse", "aicc", "bic"]


def noisy(seed=0, noise=0.01, x=X):
    rng = np.random.default_rng(seed)
    return (0.5 * (x / 1e18) ** -0.25 + 0.1) * np.exp(noise * rng.standard_normal(x.size))


def row(table, law):
    return table[table.law == law].iloc[0]


# Windows --------------------------------------------------------------------------------------------------------


def test_above_share_scores_what_lies_above_half_of_the_largest_x():
    [window] = find_windows(X, "above_share")
    assert np.array_equal(window.scored, X.max() / 2 < X)
    assert np.array_equal(window.fitted, ~window.scored)


def test_above_accuracy_scores_the_best_upstream_models():
    errors = np.array([0.9, 0.5, 0.3, 0.2])
    [window] = find_windows(errors, ("above_accuracy", 0.6))
    assert window.scored.tolist() == [False, False, True, True]


def test_largest_scores_all_points_at_the_kth_largest_x():
    [window] = find_windows(np.array([3.0, 1.0, 2.0, 2.0, 0.5]), ("largest", 2))
    assert window.scored.tolist() == [True, False, True, True, False]


def test_rolling_fits_below_each_cut_and_scores_up_to_a_factor():
    windows = find_windows(X, ("rolling", 2.0))
    assert len(windows) == 3
    for window, cut in zip(windows, X.max() / np.array([8, 4, 2]), strict=True):
        assert np.array_equal(window.fitted, cut >= X)
        assert np.array_equal(window.scored, (cut < X) & (2 * cut >= X))


@pytest.mark.parametrize("holdout", [*HOLDOUTS, ("above_share", 0.2), ("rolling", 4)])
def test_no_window_scores_a_point_that_it_fits(holdout):
    x = np.linspace(0.05, 0.9, 40)
    for window in find_windows(x, holdout):
        assert not np.any(window.fitted & window.scored)
        assert window.fitted.any()
        assert window.scored.any()


@pytest.mark.parametrize(
    ("holdout", "message"),
    [
        ("half", "holdout must be one of"),
        (("above_share", 2), "share of a holdout must be between 0 and 1, got 2"),
        (("above_share", "a"), "holdout must be one of"),
        (("largest", 1.5), "a whole number from 1 to 15, got 1.5"),
        (("largest", 16), "a whole number from 1 to 15, got 16"),
        (("rolling", 1), "reach of a holdout must be above 1, got 1"),
        ("above_accuracy", "is it percent"),
        ([1], "got 1"),
        ([Window(np.ones(16, bool), np.ones(16, bool))], "must not score a point that it fits"),
        ([Window(np.ones(3, bool), np.zeros(3, bool))], "must be boolean, of shape"),
    ],
)
def test_a_bad_holdout_is_named(holdout, message):
    with pytest.raises(ValueError, match=message) as caught:
        compare_laws(X, noisy(), LAWS, holdout)
    assert "\n" not in str(caught.value)


def test_a_holdout_that_leaves_nothing_to_fit():
    with pytest.raises(FitError, match="leaves no point to fit"):
        compare_laws([1.0, 1.1, 1.2], [3.0, 2.0, 1.0], LAWS)


# The table ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("truth", "y"),
    [
        ("power", 0.5 * (X / 1e18) ** -0.25),
        ("saturating_power", 0.5 * (X / 1e18) ** -0.25 + 0.1),
        ("double_saturating_power", 0.5 * (X / 1e18 + 5) ** -0.4 + 0.1),
    ],
)
def test_the_law_that_made_the_data_wins(truth, y):
    y = y * np.exp(1e-3 * np.random.default_rng(0).standard_normal(X.size))
    table = compare_laws(X, y, LAWS, "rolling")
    assert row(table, truth).heldout_log_rmse < 0.005  # a few times the noise
    assert row(table, truth).bic <= table.bic.min() + 1e-6  # a law with c = 0 at its bound is the same law
    simpler = LAWS[: LAWS.index(truth)]
    assert all(row(table, truth).heldout_log_rmse < row(table, law).heldout_log_rmse for law in simpler)


def test_rows_columns_and_order():
    table = compare_laws(X, noisy(), LAWS)
    assert list(table.columns) == [
        "law", "is_baseline", "heldout_log_rmse", "fitted_log_rmse", "aicc", "bic", "num_params", "warnings", "failure",
    ]  # fmt: skip
    assert set(table.law) == {*LAWS, *BASELINES}
    assert table.heldout_log_rmse.is_monotonic_increasing
    assert table.set_index("law").num_params[LAWS].tolist() == [2, 3, 4]


def test_baselines_need_no_fit():
    table = compare_laws([1, 2, 4, 8], [4.0, 3.0, 2.0, 1.0], ["power"], ("largest", 1))
    assert row(table, "last_value").heldout_log_rmse == pytest.approx(np.log(2))
    assert row(table, "mean_of_last_5").heldout_log_rmse == pytest.approx(np.log(3))
    assert table.is_baseline.tolist().count(True) == 2


def test_all_laws_of_one_input_by_default():
    table = compare_laws(X, noisy())
    assert "broken_power" in set(table.law)
    assert not {"additive", "transfer", "log_linear"} & set(table.law)


def test_a_law_that_cannot_be_fitted_is_a_row_with_its_reason():
    table = compare_laws(X[:5], noisy()[:5], ["power", "broken_power"], ("largest", 1))
    failed = row(table, "broken_power")
    assert np.isnan(failed.heldout_log_rmse)
    assert "has 6 parameters, got 5 points" in failed.failure
    assert row(table, "power").failure == ""


def test_warnings_are_kinds_and_are_not_said_aloud():
    table = compare_laws(X, 0.5 * (X / 1e18) ** -0.25, ["saturating_power"], ("largest", 2))
    assert set(row(table, "saturating_power").warnings) <= {"at_bound", "not_identified", "ridge", "few_points"}


def test_transfer_and_lines_compare_on_errors():
    x = np.linspace(0.8, 0.2, 25)
    y = 0.6 * x**1.3 + 0.05
    table = compare_laws(x, y, ["transfer", "log_linear", "logit_linear", "probit_linear"], ("above_accuracy", 0.65))
    assert table.law[0] == "transfer"
    assert row(table, "transfer").heldout_log_rmse < 1e-6  # exact data
    assert np.isfinite(table[~table.is_baseline][NUMBERS].to_numpy()).all()
    # The last value is the one nearest to the held-out points: at the least error of those fitted.
    nearest = y[x >= 0.35].min()
    expected = np.sqrt(np.mean(np.log(nearest / y[x < 0.35]) ** 2))
    assert row(table, "last_value").heldout_log_rmse == pytest.approx(expected)


@pytest.mark.parametrize("holdout", ["above_share", "rolling", ("largest", 4)])
def test_units_row_order_and_percent_change_nothing(holdout):
    order = np.random.default_rng(3).permutation(X.size)
    ours = compare_laws(X, noisy(), LAWS, holdout).set_index("law")
    theirs = compare_laws(X[order] / 8.64e19, 100 * noisy()[order], LAWS, holdout).set_index("law").loc[ours.index]
    for column in NUMBERS[:2]:
        assert theirs[column].to_numpy() == pytest.approx(ours[column].to_numpy(), rel=1e-6, nan_ok=True)
    # The density of 100 y is 1/100 of that of y at each point.
    shift = 2 * X.size * np.log(100)
    assert (theirs.bic - ours.bic).dropna().to_numpy() == pytest.approx(shift, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1, 2, 3]), "equally long"),
        (([], []), "not be empty"),
        (([1, -2], [1, 2]), "x must be positive"),
        (([1, 2], [1, np.nan]), "y must be positive"),
        ((X, X, []), "at least one law"),
        ((X, X, "power"), "a list"),
        ((X, X, ["nope"]), "law must be one of"),
        ((X, X, ["power", "power"]), "each of laws must occur once"),
        ((X, X, ["additive"]), "one input"),
        ((X, X, LAWS, "above_share", "huber"), "objective must be one of"),
    ],
)
def test_bad_input_is_one_line(arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        compare_laws(*arguments)
    assert "\n" not in str(caught.value)
