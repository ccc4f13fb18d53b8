import numpy as np
import pytest

import scaling as sc


@pytest.fixture
def ratios():
    x = np.tile(np.geomspace(1e15, 1e19, 15), 2)
    family = np.repeat(["vit", "resnet"], 15)
    y = 0.5 * (x / np.where(family == "vit", 1e15, 3e15)) ** -0.25 + 0.1
    return sc.frontier.cost_ratio(x, y, family, reference="vit", rival="resnet", targets=[0.3, 0.2], num_draws=50)


@pytest.mark.parametrize("method", ["interpolation", "law"])
def test_an_arrow_runs_from_cost_to_cost_at_equal_error(ratios, method):
    ax = sc.plots.plot_cost_ratio(ratios, method=method)
    rows = ratios.table[ratios.table["method"] == method]
    arrows = [text for text in ax.texts if text.get_text() == ""]
    drawn = sorted((text.xyann[0], text.xy[0], text.xy[1]) for text in arrows)
    assert drawn == sorted(rows[["reference_cost", "rival_cost", "target_error"]].itertuples(index=False, name=None))
    labels = [text.get_text() for text in ax.texts if text.get_text()]
    assert sorted(label.split("×")[0] for label in labels) == sorted(f"{ratio:.3g}" for ratio in rows["ratio"])


def test_both_frontiers_and_laws_are_in_the_legend(ratios):
    labels = sc.plots.plot_cost_ratio(ratios).get_legend_handles_labels()[1]
    assert {"vit frontier", "vit law", "resnet frontier", "resnet law"} <= set(labels)
    assert any("cost of resnet / vit" in label for label in labels)


def test_labels_of_near_targets_stand_apart(ratios):
    x, y = ratios.reference.x, ratios.reference.y
    family = np.repeat(["vit", "resnet"], x.size)
    near = sc.frontier.cost_ratio(
        np.tile(x, 2), np.concatenate([y, ratios.rival.y]), family,
        reference="vit", rival="resnet", targets=[0.2, 0.2005, 0.201], num_draws=20,
    )  # fmt: skip
    ax = sc.plots.plot_cost_ratio(near)
    heights = np.sort(np.log([text.xy[1] for text in ax.texts if text.get_text()]))
    assert np.diff(heights).min() > 0.04 * np.ptp(np.log(ax.get_ylim()))


def test_an_unknown_method(ratios):
    with pytest.raises(ValueError, match="method must be 'interpolation' or 'law', got 'spline'"):
        sc.plots.plot_cost_ratio(ratios, method="spline")
