import numpy as np
import pandas as pd
import pytest

from scaling.tables import crossings

X = [1e3, 1e4, 1e5]


def runs(vit, resnet, seeds=(0.0,)):
    rows = [
        {"model_family": family, "train_examples": x, "upstream_error": error + shift}
        for family, errors in (("vit", vit), ("resnet", resnet))
        for x, error in zip(X, errors, strict=True)
        for shift in seeds
    ]
    return pd.DataFrame(rows)


def test_vit_figure_4(published):
    """Of the paper's largest, ResNet152x2 is ahead at 9M and 30M images and ViT-L/16 at 90M and 300M."""
    table = published("dosovitskiy2020_fig4_fewshot_points.csv")
    table = table[table["model"].isin(["ViT-L/16", "ResNet152x2"])]
    table = table.assign(error=1 - table["imagenet_linear_5shot_top1"] / 100)
    [row] = crossings(table, x="jft_samples_m", y="error", by="model").to_dict("records")
    assert (row["better_below"], row["better_above"]) == ("ResNet152x2", "ViT-L/16")
    assert (row["x_below"], row["x_above"]) == (30.2, 90.6)
    assert 30.2 < row["x_at"] < 90.6
    assert not row["is_clear"]  # one run each


def test_the_place_of_two_lines_by_hand():
    """Differences .2 and -.1: two thirds of the way in log x, where both lines are at .4."""
    [row] = crossings(runs([0.6, 0.3, 0.2], [0.4, 0.4, 0.3])).to_dict("records")
    assert row["x_at"] == pytest.approx(10 ** (3 + 2 / 3))
    assert row["y_at"] == pytest.approx(0.4)
    assert (row["better_below"], row["better_above"]) == ("resnet", "vit")


def test_ties_are_no_change_of_places_and_do_not_hide_one():
    assert crossings(runs([0.5, 0.4, 0.2], [0.6, 0.4, 0.3])).empty
    [row] = crossings(runs([0.5, 0.4, 0.3], [0.6, 0.4, 0.2])).to_dict("records")
    assert (row["x_below"], row["x_above"], row["x_at"]) == (1e3, 1e5, pytest.approx(1e4))


def test_a_crossing_is_clear_beyond_the_scatter_of_seeds():
    near, far = (
        crossings(runs([0.6, 0.3, 0.2], [0.4, 0.4, 0.3], seeds)) for seeds in ((-0.1, 0, 0.1), (-0.01, 0, 0.01))
    )
    assert near["is_clear"].tolist() == [False]
    assert far["is_clear"].tolist() == [True]
    np.testing.assert_allclose(near["x_at"], far["x_at"])


def test_bad_input():
    with pytest.raises(ValueError, match=r"no two of 'model_family' \['resnet', 'vit'\] have two values"):
        crossings(runs([0.6, 0.3, 0.2], [0.4, 0.4, 0.3])[:4])
    with pytest.raises(ValueError, match="column 'upstream_error' must hold finite numbers"):
        crossings(runs([0.6, np.nan, 0.2], [0.4, 0.4, 0.3]))
