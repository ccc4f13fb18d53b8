"""Figures of mixtures, windows, sample sizes and hulls."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import scaling as sc
from scaling.transfer import compare_sample_sizes, compare_windows, mix_classifiers, overlay_hull

from .helpers import texts


def models(n=200):
    rng = np.random.default_rng(0)
    us = rng.uniform(0.05, 0.6, n)
    return us, 1 - np.minimum((0.7 * (1 - us) ** 2.5 + 0.1) * np.exp(rng.exponential(0.1, n)), 0.99)


def test_a_mixture_shows_its_classifiers_and_their_weights():
    mix = mix_classifiers([(0.2, 0.5), (0.3, 0.4), (0.6, 0.7)], 0.3)
    ax = sc.plots.plot_mixture(mix, task="pets")
    assert [text.get_text() for text in ax.texts] == ["75 %", "25 %"]
    assert [text.xy for text in ax.texts] == [(0.2, 0.5), (0.6, 0.7)]
    assert "mixture: 0.300 upstream, 0.550 pets" in texts(ax)
    assert ax.get_ylabel() == "pets accuracy"


@pytest.mark.parametrize("from_hull", [False, True])
def test_windows_show_each_fit_solid_inside_and_dashed_beyond(from_hull):
    found = compare_windows(
        *models(), fit_window=(0.1, 0.45), held_out=[(0.45, 0.5), (0.45, 1.0)], fits=["vertices", "all"], num_draws=2
    )
    ax = sc.plots.plot_windows(found, from_hull=from_hull, task="pets")
    shown = texts(ax)
    assert [text.split(":")[0] for text in shown] == [
        "models", "fitted window", "held out", "hull of all models up to there", "vertices", "all",
    ]  # fmt: skip
    hull_mae = found.table["hull_mae"][0]
    assert shown[4] == f"vertices: held-out hull {hull_mae:.4f} off"
    solid = next(line for line in ax.lines if line.get_label() == shown[4]).get_xdata()
    assert (solid.min(), solid.max()) == pytest.approx((0.1, 0.45))
    assert sum(line.get_linestyle() == "--" for line in ax.lines) == 4
    assert ax.get_ylabel() == "pets accuracy" + (" less that of the hull" if from_hull else "")
    with pytest.raises(ValueError, match="fits must be among"):
        sc.plots.plot_windows(found, fits=["near"])


def test_sample_sizes_show_errors_on_log_axes_with_ticks_at_the_sizes():
    found = compare_sample_sizes(*models(), sizes=[20, 40, 100], num_trials=3)
    ax = sc.plots.plot_sample_sizes(found)
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert sorted(ax.get_xticks()) == [20, 40, 100]
    assert texts(ax) == [
        *(f"{fit}, {what}" for fit in ("vertices", "all") for what in ("to the hull held out", "to the points fitted")),
        "1 standard deviation of samples of one pool",
    ]
    part = found.table.query("fit == 'all' and error == 'hull'")
    drawn = next(line for line in ax.lines if line.get_label() == "all, to the hull held out")
    assert drawn.get_ydata() == pytest.approx(part["mse"].to_numpy())
    assert len(ax.collections) == 3  # a band for each fit, of the first error, and an empty one for the legend
    assert min(band.get_paths()[0].vertices[:, 1].min() for band in ax.collections[:2]) >= 0.99 * float(
        found.table.query("error == 'hull'")["mse"].min()
    )
    num_pool = int(np.sum(models()[0] <= 0.45))
    assert all(band.get_paths()[0].vertices[:, 0].max() <= num_pool / 2 for band in ax.collections[:2])
    with pytest.raises(ValueError, match="measure must be one of"):
        sc.plots.plot_sample_sizes(found, measure="rmse")
    with pytest.raises(ValueError, match="errors must be among"):
        sc.plots.plot_sample_sizes(found, errors=("held_out",))


def test_trials_without_a_fit_are_told():
    found = compare_sample_sizes(*models(), sizes=[4, 40], num_trials=10, fits=["vertices"])
    failed = found.table["num_failed"].iloc[0]
    assert 0 < failed < 10
    ax = sc.plots.plot_sample_sizes(found)
    assert texts(ax)[0] == f"vertices, to the hull held out\n(without a fit: {failed} of 10 at 4)"


def overlay():
    us, ds = models()
    other = np.minimum(0.05 + 0.9 * (1 - us) ** 4 + np.random.default_rng(1).exponential(0.02, us.size), 0.99)
    records = pd.DataFrame({"upstream_error": 1 - us, "imagenet_10shot_error": 1 - ds, "pets_5shot_error": other})
    return overlay_hull(records, ["pets_5shot_error"], of="imagenet_10shot_error")


def test_an_overlay_shows_one_tasks_models_on_the_hull_of_another():
    found = overlay()
    ax = sc.plots.plot_hull_overlay(found, "pets_5shot_error")
    assert texts(ax) == ["models", "hull of pets 5-shot", "models on the hull of imagenet 10-shot"]
    assert ax.lines[2].get_ydata() == pytest.approx(found.table["downstream_accuracy"].to_numpy())
    with pytest.raises(ValueError, match=r"task must be one of \['pets_5shot_error'\], got 'cars'"):
        sc.plots.plot_hull_overlay(found, "cars")


def test_the_gap_shows_its_rank_correlation():
    found = overlay()
    ax = sc.plots.plot_hull_gap(found)
    assert texts(ax) == [
        f"pets 5-shot (rank correlation {found.trend['spearman'][0]:+.2f})", "mean of the lower, of the upper half",
    ]  # fmt: skip
    assert ax.lines[0].get_ydata() == pytest.approx(found.table["gap"].to_numpy())


def test_a_wide_legend_does_not_squeeze_the_figure_of_sample_sizes():
    found = compare_sample_sizes(*models(), sizes=[20, 40, 100], num_trials=3)
    failing = replace(found, table=found.table.assign(num_failed=1))
    ax = sc.plots.plot_sample_sizes(failing, errors=("best", "fitting"))
    ax.figure.draw_without_rendering()
    assert "without a fit" in texts(ax)[0]
    assert ax.get_window_extent().width > 0.7 * ax.figure.bbox.width
