import numpy as np
import pytest

from scaling import FitError
from scaling.transfer import compare_sample_sizes, compare_windows

from .worlds import cloud, hull_law

MODELS = cloud((0.7, 2.5, 0.1), num_on_hull=40, num_models=500)


def test_all_models_are_one_trial_whose_errors_are_those_of_the_windows():
    """The whole is drawn in every trial: no spread, and the same fit as `compare_windows` has."""
    num_models = int(np.sum(MODELS[0] <= 0.45))
    found = compare_sample_sizes(*MODELS, sizes=[num_models], num_trials=3, fits=["vertices", "sampled", "near", "all"])
    windows = compare_windows(
        *MODELS, fits=["vertices", "sampled", "near", "all"], num_draws=2, intervals="case_bootstrap"
    ).table.set_index("fit")
    assert found.table["mse_std"].max() < 1e-12
    for row in found.table.itertuples():
        # 1e-6: draws and fits are solved to their own precision.
        assert row.mse == pytest.approx(windows.loc[row.fit, f"{row.error}_mse"], rel=1e-4, abs=1e-12)
        assert row.mae == pytest.approx(windows.loc[row.fit, f"{row.error}_mae"], rel=1e-4, abs=1e-9)


def test_the_hull_gets_better_with_more_models_and_all_points_do_not(published):
    """Abnar et al. 2021, Figure 5: at every size the hull predicts better, and it alone gains by more models."""
    found = compare_sample_sizes(
        *cloud(hull_law(published, "imagenet"), 0), sizes=[100, 1400], fit_window=(0.1, 0.45), held_out=(0.45, 0.6)
    )
    mse = found.table[found.table["error"] == "hull"].set_index(["fit", "num_models"])["mse"]
    assert mse["vertices", 1400] < 0.3 * mse["vertices", 100]  # measured .03
    assert mse["all", 1400] > 0.3 * mse["all", 100]  # measured .9
    assert np.all(mse["vertices"] < mse["all"])


def test_mean_and_standard_deviation_are_those_of_the_trials():
    found = compare_sample_sizes(*MODELS, sizes=[50, 100], num_trials=4)
    assert len(found.trials) == 2 * 2 * 4 * 4  # fits, sizes, errors, trials
    for row in found.table.itertuples():
        trials = found.trials.query("fit == @row.fit and num_models == @row.num_models and error == @row.error")
        assert row.mse == pytest.approx(trials["mse"].mean())
        assert row.mae_std == pytest.approx(trials["mae"].std())
        assert row.num_failed == 0
        assert row.num_trials == 4


def test_sizes_by_default_are_hundreds_and_all():
    found = compare_sample_sizes(*MODELS, num_trials=2, fits=["all"])
    num_models = int(np.sum(MODELS[0] <= 0.45))
    assert found.table["num_models"].unique().tolist() == [*range(100, num_models, 100), num_models]


def test_equal_seeds_draw_equal_samples():
    tables = [compare_sample_sizes(*MODELS, sizes=[50], rng=np.random.default_rng(seed)).table for seed in (3, 3, 4)]
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])


def test_trials_without_a_fit_are_counted():
    """Of few models some hulls have two vertices only."""
    found = compare_sample_sizes(*MODELS, sizes=[5], num_trials=20, fits=["vertices"])
    failed = found.table["num_failed"].unique()
    assert len(failed) == 1
    assert 0 < failed[0] < 20
    assert len(found.trials.query("error == 'hull'")) == 20 - failed[0]
    one = compare_sample_sizes(*MODELS, sizes=[3, 50], num_trials=2, fits=["vertices"], rng=np.random.default_rng(5))
    small, large = (one.table[one.table["num_models"] == size] for size in (3, 50))
    assert small["mse"].isna().all()
    assert small["reason"].eq("no trial has a fit: take larger sizes").all()
    assert large["reason"].eq("").all()
    us = np.append(np.linspace(0.1, 0.44, 30), 0.47)
    found = compare_sample_sizes(us, us**2, sizes=[10], num_trials=2, fits=["vertices", "all"])
    table = found.table.set_index("fit")
    assert table.loc["vertices", "reason"].str.startswith("the hull is one chord").all()
    assert table.loc["vertices", "num_failed"].eq(2).all()
    assert table.loc["all", "mse"].notna().all()
    assert repr(found).splitlines()[-1].startswith("vertices, 10: the hull is one chord")
    with pytest.raises(FitError, match="vertices: the hull is one chord"):
        compare_sample_sizes(us, us**2, sizes=[10], fits=["vertices"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": [10_000]}, "sizes must lie between 3 and the .* models up to the window's end, got 10000"),
        ({"sizes": [2]}, "sizes must lie between 3"),
        ({"sizes": [20.0]}, r"sizes must be a list of whole numbers, one or more, got \[20.0\]"),
        ({"sizes": []}, "sizes must be a list of whole numbers"),
        ({"sizes": 20}, "sizes must be a list of whole numbers"),
        ({"num_trials": 1}, "num_trials must be a whole number, at least 2"),
        ({"num_trials": 2.5}, "num_trials must be a whole number, at least 2 .* got 2.5"),
        ({"fits": ["stochastic"]}, "fits must be a list of different names"),
        ({"held_out": (0.4, 0.5)}, "must not overlap"),
        ({"anchors": "flat"}, "anchors must be 'none', or one or both"),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        compare_sample_sizes(*MODELS, **change)
