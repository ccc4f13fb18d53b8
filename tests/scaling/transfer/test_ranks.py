import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr, spearmanr

from scaling.transfer import discordant_pairs, rank_correlations
from scaling.transfer.correlations import pearson, spearman

fractions = st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.5]), min_size=8, max_size=8)


def accuracies(n=60, correlation=0.9, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    y = correlation * x + np.sqrt(1 - correlation**2) * rng.standard_normal(n)
    return 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-y))


# Spearman -----------------------------------------------------------------------------------------------------


@given(fractions, fractions, fractions)
@settings(max_examples=30, deadline=None)
def test_matrix_is_scipys_with_ties(a, b, c):
    frame = pd.DataFrame({"a": a, "b": b, "c": c})
    if (frame.nunique() == 1).any():
        with pytest.raises(ValueError, match="is constant"):
            rank_correlations(frame)
        return
    expected = spearmanr(frame.to_numpy()).statistic
    np.testing.assert_allclose(rank_correlations(frame), expected, atol=1e-12)  # sums of 8 ranks in another order


def test_rectangular_matrix_is_a_part_of_the_square_one_and_errors_give_the_same():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((20, 5)), columns=list("abcde"), index=[f"model {k}" for k in range(20)])
    square = rank_correlations(frame)
    assert square.index.tolist() == square.columns.tolist() == list("abcde")
    np.testing.assert_allclose(rank_correlations(frame[["a", "b"]], frame[["e"]]), square.loc[["a", "b"], ["e"]])
    np.testing.assert_allclose(rank_correlations(1 - frame), square, atol=1e-12)
    np.testing.assert_allclose(rank_correlations(frame**3), square, atol=1e-12)  # of ranks only


def test_one_spearman_and_one_pearson():
    x, y = accuracies(30)
    x[:5] = 0.5
    assert spearman(x, y) == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
    assert pearson(x, y) == pytest.approx(pearsonr(x, y).statistic, abs=1e-12)
    for correlation in (pearson, spearman):
        assert np.isnan(correlation(np.array([1 - 0.7, 0.3, 0.3]), y[:3]))  # one number but for rounding


def test_bad_tables():
    with pytest.raises(ValueError, match="column 'a' is constant"):
        rank_correlations(pd.DataFrame({"a": [1 - 0.7, 0.3, 0.3], "b": [0.1, 0.2, 0.3]}))
    frame = pd.DataFrame({"a": [0.1, 0.2, np.nan], "b": [0.1, 0.2, 0.3]})
    with pytest.raises(ValueError, match="column 'a' must hold finite numbers; row 2"):
        rank_correlations(frame)
    with pytest.raises(ValueError, match="tasks of different names"):
        rank_correlations(frame.set_axis(["a", "a"], axis=1))
    with pytest.raises(ValueError, match="at least 3 models, got 2"):
        rank_correlations(frame.iloc[:2])
    with pytest.raises(ValueError, match="same models in the same order"):
        rank_correlations(frame[["b"]], frame[["b"]].set_index(pd.Index([2, 1, 0])))


# Discordant pairs ---------------------------------------------------------------------------------------------


@given(fractions, fractions)
@settings(max_examples=50, deadline=None)
def test_counts_are_those_of_a_double_loop(upstream, downstream):
    pairs = [(i, j) for i in range(8) for j in range(i)]
    signs = [(upstream[i] - upstream[j]) * (downstream[i] - downstream[j]) for i, j in pairs]
    num_pairs, discordant = sum(s != 0 for s in signs), sum(s < 0 for s in signs)
    above = [k for k in range(8) if upstream[k] >= np.median(upstream)]
    if num_pairs == 0:
        with pytest.raises(ValueError, match="none of the pairs of 8 models differs in upstream and downstream"):
            discordant_pairs(upstream, downstream)
        return
    row, upper = (row for _, row in discordant_pairs(upstream, downstream).iterrows())
    if all((upstream[i] - upstream[j]) * (downstream[i] - downstream[j]) == 0 for i in above for j in above):
        assert np.isnan(upper["share"])
        assert (upper["low"], upper["high"], upper["reason"]) == (0, 1, "no pair differs on both sides")
    assert (row["num_pairs"], row["num_tied"]) == (num_pairs, 28 - num_pairs)
    assert row["share"] == pytest.approx(discordant / num_pairs)
    assert 0 <= row["low"] <= row["share"] <= row["high"] <= 1


def test_without_ties_it_is_kendalls_tau_and_scale_does_not_matter():
    x, y = accuracies(200)
    table = discordant_pairs(x, y)
    assert 1 - 2 * table["share"][0] == pytest.approx(kendalltau(x, y).statistic, abs=1e-12)
    upper = x >= np.median(x)
    assert 1 - 2 * table["share"][1] == pytest.approx(kendalltau(x[upper], y[upper]).statistic, abs=1e-12)
    pd.testing.assert_frame_equal(table, discordant_pairs(x**2, y))
    swapped = discordant_pairs(1 - x, 1 - y)
    assert swapped["share"][0] == pytest.approx(table["share"][0])


def test_upper_half_is_harder_to_rank():
    """Of correlated accuracies the better half spans less, so that noise turns more of its pairs."""
    table = discordant_pairs(*accuracies(400))
    assert table["share"][1] > table["share"][0]


def test_a_share_of_nought_has_the_exact_bound_of_pairs_without_a_common_model():
    x = np.linspace(0.1, 0.9, 10)
    row = discordant_pairs(x, x).iloc[0]
    assert row["share"] == row["low"] == 0
    assert row["high"] == pytest.approx(1 - 0.025 ** (1 / 5))
    assert discordant_pairs(x, 1 - x).iloc[0]["low"] == pytest.approx(0.025 ** (1 / 5))


def test_models_of_one_family_widen_the_interval():
    """Each model eight times over, with its own little noise, says little more than the model once."""
    x, y = accuracies(16)
    rng = np.random.default_rng(1)
    many_x, many_y = (np.clip(np.repeat(v, 8) + 1e-4 * rng.standard_normal(128), 0, 1) for v in (x, y))
    grouped = discordant_pairs(many_x, many_y, groups=np.repeat(np.arange(16), 8)).iloc[0]
    alone = discordant_pairs(many_x, many_y).iloc[0]
    once = discordant_pairs(x, y).iloc[0]
    assert grouped["high"] - grouped["low"] > 1.5 * (alone["high"] - alone["low"])
    assert grouped["high"] - grouped["low"] == pytest.approx(once["high"] - once["low"], rel=0.25)


def test_each_model_a_group_of_its_own_is_no_group():
    x, y = accuracies(30)
    pd.testing.assert_frame_equal(discordant_pairs(x, y, groups=np.arange(30)), discordant_pairs(x, y))


def test_two_models_have_no_interval():
    table = discordant_pairs([0.1, 0.2, 0.3, 0.4], [0.2, 0.1, 0.3, 0.4])
    assert table["share"].tolist() == [pytest.approx(1 / 6), 0]
    assert (table["low"][1], table["high"][1]) == (0, pytest.approx(0.975))


def test_two_groups_say_nothing_of_a_population():
    x, y = accuracies(12)
    row = discordant_pairs(x, y, groups=np.repeat(["a", "b"], 6)).iloc[0]
    assert (row["low"], row["high"]) == (0, 1)


def test_models_that_are_all_alike_still_have_an_interval():
    """Two swapped neighbours twice over: each model is in one discordant pair, so that the jackknife sees no spread."""
    row = discordant_pairs([0.1, 0.2, 0.3, 0.4], [0.2, 0.1, 0.4, 0.3]).iloc[0]
    assert row["low"] < 0.1 < 0.7 < row["high"]


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.9])
@pytest.mark.parametrize("n", [20, 60])
def test_interval_covers_the_share_of_the_population(n, correlation):
    """The share of a normal pair is arccos(r) / pi (Kendall 1970). 500 simulations: standard error .01."""
    truth = np.arccos(correlation) / np.pi
    ends = [discordant_pairs(*accuracies(n, correlation, seed))[["low", "high"]].iloc[0] for seed in range(500)]
    assert 0.92 <= np.mean([low <= truth <= high for low, high in ends]) <= 0.995


def test_open_clip_models(data_folder):
    """121 zero-shot models on 38 data sets: ImageNet ranks them for pets, and hardly for pathology."""
    frame = pd.read_csv(data_folder / "open_clip" / "openclip_results.csv")
    tasks = frame.columns[5:]
    matrix = rank_correlations(frame[tasks])
    expected = spearmanr(frame[tasks].to_numpy()).statistic
    np.testing.assert_allclose(matrix, expected, atol=1e-12)
    assert matrix.loc["Oxford-IIIT Pet", "ImageNet 1k"] > 0.98
    assert abs(matrix.loc["PatchCamelyon", "ImageNet 1k"]) < 0.2
    pathology = discordant_pairs(frame["ImageNet 1k"], frame["PatchCamelyon"]).iloc[0]
    assert pathology["low"] < 0.5 < pathology["high"]
