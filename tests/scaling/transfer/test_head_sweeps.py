import numpy as np
import pandas as pd
import pytest

from scaling import FitWarning
from scaling.transfer import compare_coupling, head_optima, optimum_against_rank
from tests.scaling import measured

DECAYS = [0.0, 1e-3, 1e-2, 1e-1, 1.0, 10.0]


def sweep(pets, upstream=(0.5, 0.4, 0.3, 0.35, 0.4, 0.6), decays=DECAYS):
    return pd.DataFrame({"head_weight_decay": decays, "upstream_error": upstream, "pets_10shot_error": pets})


def of_pets(pets, **options):
    return head_optima(sweep(pets), **options).iloc[1]


# Zhai et al. 2021, Figure 5 -----------------------------------------------------------------------------------


def test_zhai_figure_5(published):
    """ImageNet 5-shot of a ViT-B/32: 57 % where head and body have one weight decay, 61 % where each has its own."""
    wide = published("zhai2021_fig5_head_body_wd_5shot.csv").set_index(r"head_wd\body_wd")
    head, body = np.meshgrid(wide.index.astype(float), wide.columns.astype(float), indexing="ij")
    table = compare_coupling(head.ravel(), body.ravel(), wide.to_numpy().ravel() / 100).set_index("choice")
    assert table["accuracy"].to_dict() == {"coupled": 0.57, "decoupled": 0.61}
    assert table["num_runs"].to_dict() == {"coupled": 8, "decoupled": 64}
    assert table.loc["coupled", ["head", "body"]].tolist() == [0.1, 0.1]
    assert table.loc["decoupled", "body"] == 0.01
    assert table.loc["decoupled", "num_tied"] == 3  # heads 1, 3 and 10
    # The rows fall and the columns rise: the table's own diagonal pairs head 10 with body 0, and gives another number.
    assert np.diag(wide.to_numpy()).max() == 61


def test_coupling_refuses_what_has_no_diagonal():
    with pytest.raises(ValueError, match="none of 2 runs has the same weight decay"):
        compare_coupling([0, 1], [1, 2], [0.5, 0.6])
    with pytest.raises(ValueError, match="percent"):
        compare_coupling([1], [1], [57])
    with pytest.raises(ValueError, match="not negative"):
        compare_coupling([-1], [-1], [0.5])
    with pytest.raises(ValueError, match="equally long"):
        compare_coupling([1], [1, 2], [0.5])


# Optima -------------------------------------------------------------------------------------------------------


def test_optimum_inside_the_grid():
    row = of_pets([0.5, 0.4, 0.4, 0.2, 0.3, 0.6])
    assert (row["task"], row["num_shots"], row["status"]) == ("pets", 10, "bracketed")
    assert (row["optimum"], row["best_value"], row["best_error"], row["num_values"]) == (0.1, 0.1, 0.2, 6)
    assert row["over_upstream"] == pytest.approx(10)  # the upstream's is .01


def test_an_optimum_at_the_end_of_the_grid_is_refused():
    row = of_pets([0.5, 0.4, 0.4, 0.3, 0.2, 0.1])
    assert row["status"] == "not bracketed: highest value"
    assert row["optimum"] is pd.NA
    assert row["over_upstream"] is pd.NA
    assert row["best_value"] == 10
    lowest = head_optima(sweep([0.1, 0.2, 0.3], (0.3, 0.2, 0.3), [0.01, 0.1, 1]), setting="head_weight_decay").iloc[1]
    assert (lowest["status"], lowest["optimum"]) == ("not bracketed: lowest value", pd.NA)


def test_no_weight_decay_at_all_is_an_optimum():
    row = of_pets([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert (row["status"], row["optimum"], row["over_upstream"]) == ("bracketed", 0.0, 0.0)


def test_no_ratio_to_an_upstream_optimum_of_nought():
    table = head_optima(sweep([0.5, 0.4, 0.4, 0.2, 0.3, 0.6], upstream=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)))
    assert table["optimum"].tolist() == [0.0, 0.1]
    assert table["over_upstream"].tolist() == [pd.NA, pd.NA]


def test_ties():
    row = of_pets([0.5, 0.2, 0.2, 0.2, 0.3, 0.6])
    assert (row["best_value"], row["tied_low"], row["tied_high"]) == (1e-2, 1e-3, 1e-1)
    assert of_pets([0.5, 0.4, 0.2, 0.2, 0.3, 0.6])["best_value"] == 1e-2  # the lower of two
    assert of_pets([0.5, 0.4, 0.3, 0.21, 0.2, 0.6], tolerance=0.015)["tied_low"] == 0.1
    assert of_pets([0.5, 0.4, 0.3, 0.2, 0.2, 0.2])["status"] == "not bracketed: highest value"
    assert of_pets([0.3] * 6)["status"] == "flat: all values tie"


def test_seeds_are_averaged_first():
    lucky = sweep([0.5, 0.4, 0.4, 0.2, 0.1, 0.6])
    unlucky = sweep([0.5, 0.4, 0.4, 0.2, 0.9, 0.6])
    row = head_optima(pd.concat([lucky, unlucky])).iloc[1]
    assert (row["optimum"], row["best_error"], row["num_values"]) == (0.1, 0.2, 6)


def with_unfinished():
    """Three rows from inside runs, whose error is high, with weight decays that the finished ones do not have."""
    frame = sweep([0.5, 0.4, 0.4, 0.2, 0.3, 0.6]).assign(cooled_down=True)
    inside = sweep([0.9, 0.9, 0.9, 0.9, 0.9, 0.9], upstream=[0.9] * 6).assign(cooled_down=False)
    return pd.concat([frame, inside.iloc[3:4]], ignore_index=True), frame


def test_rows_from_inside_runs_are_no_seeds():
    mixed, finished = with_unfinished()
    with pytest.warns(FitWarning, match="1 of 7 rows are from inside a run"):
        table = head_optima(mixed)
    pd.testing.assert_frame_equal(table, head_optima(finished))
    checkpoints = sweep(np.linspace(0.2, 0.7, 6), upstream=np.linspace(0.2, 0.7, 6))
    with pytest.warns(FitWarning, match="from inside a run"):
        table = optimum_against_rank(mixed, checkpoints)
    assert table["optimum"].tolist() == [0.1]


def test_another_setting_and_chosen_columns():
    frame = sweep([0.5, 0.4, 0.3, 0.2, 0.3, 0.6]).rename(columns={"head_weight_decay": "head_lr_multiplier"})
    frame["cars_finetune_error"] = frame["pets_10shot_error"]
    table = head_optima(frame, setting="head_lr_multiplier")
    assert table["task"].tolist() == ["upstream", "pets", "cars"]
    assert table["num_shots"].tolist() == [pd.NA, 10, pd.NA]
    assert head_optima(frame, setting="head_lr_multiplier", tasks=["cars_finetune_error"])["task"].tolist()[1:] == [
        "cars"
    ]


def test_bad_sweeps():
    with pytest.raises(ValueError, match="column 'head_weight_decay' is missing"):
        head_optima(sweep([0.1] * 6).drop(columns="head_weight_decay"))
    with pytest.raises(ValueError, match="tolerance must be a finite number of at least 0, got -1"):
        head_optima(sweep([0.1] * 6), tolerance=-1)
    with pytest.raises(ValueError, match=r"two values or more, none negative, .* recipe: \{head_weight_decay:"):
        head_optima(sweep([0.1] * 6).assign(head_weight_decay=1.0))
    with pytest.raises(ValueError, match="column 'pets_10shot_error' must hold finite numbers; row 2"):
        head_optima(sweep([0.1, 0.2, np.nan, 0.1, 0.1, 0.1]))
    with pytest.raises(ValueError, match="no column is named"):
        head_optima(sweep([0.1] * 6).drop(columns="pets_10shot_error"))


# Against rank correlation -------------------------------------------------------------------------------------


def test_optima_beside_rank_correlations():
    frame = sweep([0.5, 0.4, 0.3, 0.2, 0.3, 0.6]).assign(svhn_10shot_error=[0.5, 0.3, 0.4, 0.5, 0.6, 0.7])
    upstream = np.linspace(0.2, 0.8, 9)
    checkpoints = pd.DataFrame({"upstream_error": upstream, "pets_10shot_error": upstream**2})
    checkpoints["svhn_10shot_error"] = 1 - upstream
    table = optimum_against_rank(frame, checkpoints)
    assert table["task"].tolist() == ["pets", "svhn"]
    assert table["optimum"].tolist() == [0.1, 1e-3]
    np.testing.assert_allclose(table["rank_correlation"], [1, -1])
    with pytest.raises(ValueError, match="column 'svhn_10shot_error' is missing"):
        optimum_against_rank(frame, checkpoints.drop(columns="svhn_10shot_error"))


# As a sweep writes them ---------------------------------------------------------------------------------------


def test_a_sweep_with_seeds_of_several_models():
    """The invented errors are least at .1 upstream and at .01 for pets; seeds scatter by .01."""
    runs = measured.records(decays=DECAYS, seeds=(0, 1, 2, 3))
    table = head_optima(runs, tolerance=0.01).set_index("task")
    assert table.loc["upstream", "tied_low"] <= 0.1 <= table.loc["upstream", "tied_high"]
    assert table.loc["pets", ["best_value", "status"]].tolist() == [0.01, "bracketed"]
    ranks = optimum_against_rank(runs, runs)
    assert ranks["task"].tolist() == ["pets"]


def test_models_of_other_settings_are_not_averaged():
    """Without its runs at 10, where errors are high, the mean at 10 would be of the other family alone."""
    runs = measured.records(decays=DECAYS)
    part = runs[(runs["model_family"] == "vit") | (runs["head_weight_decay"] < 10)]
    with pytest.raises(ValueError, match=r"same values of 'head_weight_decay', got .* differ in model_family"):
        head_optima(part)
    assert len(head_optima(part[part["model_family"] == "resnet"])) == 2
    fewer_seeds = runs[(runs["seed"] == 0) | (runs["head_weight_decay"] < 10)]
    assert head_optima(fewer_seeds)["num_values"].tolist() == [6, 6]


def test_what_goes_along_with_the_setting_is_no_other_model():
    """The head's weight decay follows the body's where it is not given."""
    runs = measured.records(decays=DECAYS, families=("vit",))
    along = runs.assign(weight_decay=runs["head_weight_decay"])
    assert head_optima(along)["best_value"].tolist() == head_optima(runs)["best_value"].tolist()
