import numpy as np
import pytest

from scaling.transfer import choice_loss


def accuracies(n=60, correlation=0.9, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    y = correlation * x + np.sqrt(1 - correlation**2) * rng.standard_normal(n)
    return 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-y))


def test_choice_by_the_same_task_loses_nothing():
    x, y = accuracies(100)
    table = choice_loss(x, y, y, width=0.1).table
    assert (table["loss"] == 0).all()
    assert (table["loss_at_random"] > 0).all()
    assert table["upstream"].is_monotonic_increasing
    np.testing.assert_allclose(y[table["chosen"]], table["best_second"])


def test_choice_by_the_opposite_task_takes_the_worst_model():
    x, y = accuracies(100)
    table = choice_loss(x, 1 - y, y, width=0.1).table
    for _, row in table.iterrows():
        member = np.abs(x - row["upstream"]) <= 0.05
        assert row["loss"] == pytest.approx(np.ptp(y[member]))


def test_choice_loss_refuses_what_has_no_equals():
    with pytest.raises(ValueError, match=r"no two of 3 models lie in one bin of width 0.01"):
        choice_loss([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0.1, 0.2, 0.3], width=0.01)
    with pytest.raises(ValueError, match="width must be a number in"):
        choice_loss([0.1, 0.2], [0.1, 0.2], [0.1, 0.2], width=0)
    with pytest.raises(ValueError, match="is this percent"):
        choice_loss([10, 20], [0.1, 0.2], [0.1, 0.2])


def test_the_mean_over_bins_against_a_blind_choice():
    x, y = accuracies(100)
    result = choice_loss(x, y, y, width=0.1)
    assert result.mean_loss == 0
    assert result.saved == pytest.approx(result.table["loss_at_random"].mean())
    assert 0 < result.low < result.saved < result.high
    worse = choice_loss(x, 1 - y, y, width=0.1)
    assert worse.high < 0
    assert "saved" in worse.summary()


def test_the_interval_is_students_over_bins():
    from scipy.stats import ttest_1samp

    x, y = accuracies(100)
    result = choice_loss(x, x**2 % 0.1, y, width=0.1, level=0.9)
    saved = result.table["loss_at_random"] - result.table["loss"]
    expected = ttest_1samp(saved, 0).confidence_interval(0.9)
    assert (result.low, result.high) == pytest.approx((expected.low, expected.high))


def test_one_bin_says_nothing_of_a_population():
    result = choice_loss([0.5, 0.51], [0.6, 0.7], [0.2, 0.3], width=0.1)
    assert (result.low, result.high) == (-1, 1)


def test_the_interval_covers_a_choice_that_saves_nothing():
    """200 simulations, 12 bins or so: standard error .015, three of them below .95."""
    found = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        result = choice_loss(rng.uniform(0.3, 0.7, 60), rng.random(60), rng.random(60), width=0.03)
        found.append(result.low <= 0 <= result.high)
    assert np.mean(found) > 0.905


def test_an_accuracy_of_1_is_in_the_last_bin():
    table = choice_loss([0.99, 1.0], [0.1, 0.2], [0.1, 0.2]).table
    assert table["upstream"].tolist() == [pytest.approx(0.99)]
