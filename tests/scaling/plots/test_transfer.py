import warnings

import numpy as np

import scaling as sc

from .helpers import labels


def test_transfer_figure_shows_hull_law_saturation_and_chance():
    upstream = np.linspace(0.1, 0.6, 20)
    trans = sc.fit_transfer(upstream, 1 - (0.7 * (1 - upstream) ** 2.5 + 0.1), num_draws=50)
    ax = sc.plots.plot_transfer(trans, task="pets 10-shot", chance=1 / 37)
    assert {"hull", "law on the hull: k e^alpha + e_IR", "chance"} <= set(labels(ax))
    assert ax.get_ylabel() == "pets 10-shot accuracy"
    assert any("saturation 0.90" in text.get_text() for text in ax.texts)


def test_a_stochastic_transfer_law_and_the_hull_beside_it():
    rng = np.random.default_rng(0)
    upstream = rng.uniform(0.1, 0.6, 60)
    downstream = 1 - (0.7 * (1 - upstream) ** 2.5 + 0.1) * np.exp(rng.exponential(0.1, 60))
    trans, hull = (sc.fit_transfer(upstream, downstream, selection=s, num_draws=50) for s in ("stochastic", "pareto"))
    ax = sc.plots.plot_transfer(trans, beside=hull)
    shown = labels(ax)
    assert {"edge of all runs: k e^alpha + e_IR", "law on the frontier: k e^alpha + e_IR"} <= set(shown)
    assert sum("saturation" in text.get_text() for text in ax.texts) == 2


def test_many_models_near_the_edge_are_not_hidden_by_their_rings_and_no_refuted_saturation_is_drawn():
    rng = np.random.default_rng(0)
    upstream = rng.uniform(0.4, 0.9, 400)
    downstream = 0.2 + 0.6 * upstream**8 + 0.03 * rng.standard_normal(400)
    with warnings.catch_warnings(action="ignore", category=sc.FitWarning):
        trans = sc.fit_transfer(upstream, downstream, selection="stochastic", num_draws=50)
    ax = sc.plots.plot_transfer(trans)
    rings = next(line for line in ax.lines if line.get_markerfacecolor() == "none" and line.get_xdata().size > 40)
    assert rings.get_alpha() < 0.5
    named = next(line for line in ax.lines if line.get_label() == "near the frontier")
    assert named.get_alpha() is None  # else there is nothing to be seen in the legend
    assert not any("saturation" in text.get_text() for text in ax.texts)
    assert "the models contradict this law (poor_fit)" in ax.get_legend_handles_labels()[1]
    law = np.concatenate([line.get_ydata() for line in ax.lines if line.get_lw() == 2])
    assert np.nanmin(law) > 0
    left, right = ax.get_xlim()
    assert (0.3 < left < upstream.min(), right) == (True, 1)


def stochastic_and_hull(num=300):
    rng = np.random.default_rng(0)
    upstream = rng.uniform(0.2, 0.95, num)
    downstream = 1 - (0.7 * (1 - upstream) + 0.1) * np.exp(rng.exponential(0.3, num))
    with warnings.catch_warnings(action="ignore", category=sc.FitWarning):
        kept = downstream > 0
        return [
            sc.fit_transfer(upstream[kept], downstream[kept], selection=selection, num_draws=50)
            for selection in ("stochastic", "pareto")
        ]


def test_texts_of_two_saturations_lie_above_the_models_and_not_on_each_other():
    trans, hull = stochastic_and_hull()
    ax = sc.plots.plot_transfer(trans, beside=hull)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 2
    assert not boxes[0].overlaps(boxes[1])
    points = ax.transData.transform(np.column_stack([trans.upstream, trans.downstream]))
    assert not any(box.contains(*point) for box in boxes for point in points)


def test_a_legend_without_a_free_place_stands_above_the_models():
    rng = np.random.default_rng(0)
    upstream, downstream = rng.uniform(0.01, 0.99, (2, 2000))
    with warnings.catch_warnings(action="ignore", category=sc.FitWarning):
        trans = sc.fit_transfer(upstream, downstream, selection="stochastic", num_draws=10)
    ax = sc.plots.plot_transfer(trans, chance=0.1)
    ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1
    assert ax.get_window_extent().width > 0.7 * ax.figure.bbox.width
