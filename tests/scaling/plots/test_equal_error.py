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


def three_families():
    x = np.tile(np.geomspace(1e15, 1e19, 15), 3)
    family = np.repeat(["A", "B", "C"], 15)
    shift = np.select([family == "A", family == "B"], [1e15, 3e15], 9e15)
    return x, 0.5 * (x / shift) ** -0.25 + 0.1, family


def test_a_family_has_its_colour_whatever_it_is_compared_with():
    colours = []
    for reference, rival in (("A", "C"), ("B", "C")):
        found = sc.frontier.cost_ratio(*three_families(), reference=reference, rival=rival, targets=[0.2], num_draws=20)
        handles, labels = sc.plots.plot_cost_ratio(found).get_legend_handles_labels()
        colours.append(handles[labels.index("C frontier")].get_color())
    assert colours[0] == colours[1]
    assert sc.plots.style.style_of("ViT", ["Hybrid", "ViT"]) == sc.plots.style.style_of("vit", ["resnet", "vit"])


def test_labels_stand_right_of_all_runs_and_laws(ratios):
    ax = sc.plots.plot_cost_ratio(ratios)
    drawn = max(np.max(line.get_xdata()) for line in ax.lines if len(line.get_xdata()) > 2)
    assert all(text.xy[0] > drawn for text in ax.texts if text.get_text())


def test_narrow_families_are_drawn_without_a_warning():
    """Their laws are drawn from a third of the least cost to three times the largest, decades beyond a frontier."""
    x, y, family = three_families()
    y = np.where(x > 1e17, y + 0.2, y)  # the frontier ends there
    with pytest.warns(sc.FitWarning):
        found = sc.frontier.cost_ratio(x, y, family, reference="A", rival="B", targets=[0.3], num_draws=20)
    sc.plots.plot_cost_ratio(found)


def test_without_a_ratio_there_is_no_arrow():
    with pytest.warns(sc.FitWarning, match="unreached"):
        found = sc.frontier.cost_ratio(*three_families(), reference="A", rival="B", targets=[1e-3], num_draws=20)
    assert len(found.table) == 0
    assert not sc.plots.plot_cost_ratio(found).texts
