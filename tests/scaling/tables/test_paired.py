import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scaling import FitWarning
from scaling.tables import paired_difference
from tests.scaling import measured

RUNS = measured.records(recipes=("small_scale", "sam"), seeds=(0, 1, 2))
AGAINST = ("upstream_error", "recipe", "small_scale", "sam")


def differences(runs=RUNS, **options):
    return paired_difference(runs, *AGAINST, **({"along": ["sam_rho"]} | options))


def test_against_scipys_paired_t_interval():
    table = differences(by=["model_family"]).set_index("model_family")
    for family, row in table.iterrows():
        of_family = RUNS[RUNS["model_family"] == family].sort_values("seed")
        a, b = (of_family.loc[of_family["recipe"] == recipe, "upstream_error"] for recipe in ("small_scale", "sam"))
        test = stats.ttest_rel(b, a)
        assert row["difference"] == pytest.approx(np.mean(b) - np.mean(a))
        assert row["difference"] / row["standard_error"] == pytest.approx(test.statistic)
        interval = test.confidence_interval(0.95)
        assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))
        assert (row["mean_a"], row["mean_b"]) == pytest.approx((a.mean(), b.mean()))
        assert (row["num_pairs"], row["num_unpaired"]) == (3, 0)


def test_groups_are_by_what_differs_between_pairs_unless_told():
    assert differences().columns[0] == "model_family"
    assert "seed" not in differences()
    together = differences(by=[])
    assert together["num_pairs"].tolist() == [6]
    vit = differences(RUNS[RUNS["model_family"] == "vit"])
    assert vit.columns[0] == "mean_a"  # nothing differs but the seed


def test_the_order_of_rows_does_not_matter():
    pd.testing.assert_frame_equal(differences(), differences(RUNS.sample(frac=1, random_state=0)))


def test_runs_that_differ_in_another_factor_are_refused():
    """A learning rate that goes with the recipe is no difference of the recipe, unless it is said to belong to it."""
    runs = RUNS.assign(lr=np.where(RUNS["recipe"] == "sam", 3e-3, 1e-3))
    with pytest.raises(ValueError, match=r"differ in 'recipe' alone: they differ in lr \(0.001 / 0.003\) too"):
        differences(runs)
    with pytest.raises(ValueError, match=r"sam_rho .* too; what belongs to it goes into `along`"):
        differences(along=[])
    assert differences(runs, along=["sam_rho", "lr"])["num_pairs"].tolist() == [3, 3]


def test_runs_without_partner_or_value_are_counted():
    runs = RUNS.copy()
    runs.loc[(runs["model_family"] == "vit") & (runs["recipe"] == "sam") & (runs["seed"] == 2), "upstream_error"] = None
    lost = runs[~((runs["model_family"] == "resnet") & (runs["recipe"] == "small_scale") & (runs["seed"] > 0))]
    with pytest.warns(FitWarning, match=r"4 of 10 runs have no partner .* or no value of 'upstream_error'") as caught:
        table = differences(lost, by=["model_family"]).set_index("model_family")
    assert caught[0].message.kind == "dropped_points"
    assert table[["num_pairs", "num_unpaired"]].to_dict("index") == {
        "vit": {"num_pairs": 2, "num_unpaired": 2}, "resnet": {"num_pairs": 1, "num_unpaired": 2},
    }  # fmt: skip
    assert np.isnan(table.loc["resnet", "standard_error"])
    assert table.loc["resnet", ["low", "high"]].tolist() == [-np.inf, np.inf]


def test_of_a_run_the_last_step_counts():
    inside = RUNS.assign(step=100, upstream_error=0.99)
    pd.testing.assert_frame_equal(differences(pd.concat([inside, RUNS])), differences())


def test_bad_input():
    with pytest.raises(ValueError, match=r"column 'recipe' has no 'adamw'; there is small_scale, sam"):
        paired_difference(RUNS, "upstream_error", "recipe", "adamw", "sam")
    with pytest.raises(ValueError, match=r"two values of 'recipe', got 'sam' twice"):
        paired_difference(RUNS, "upstream_error", "recipe", "sam", "sam")
    with pytest.raises(ValueError, match="column 'top1' is missing"):
        paired_difference(RUNS, "top1", "recipe", "small_scale", "sam")
    twice = pd.concat([RUNS, RUNS[:1].assign(run_id="other")])
    with pytest.raises(ValueError, match=r"'vit-small_scale-0.05-0' and 'other' are alike in every column"):
        differences(twice)
