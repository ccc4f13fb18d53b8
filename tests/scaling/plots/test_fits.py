import warnings

import matplotlib
import numpy as np

import scaling as sc


def runs(n=60):
    rng = np.random.default_rng(0)
    x = 10 ** rng.uniform(15, 19, n)
    return x, np.minimum((0.5 * (x / 1e15) ** -0.25 + 0.1) * np.exp(rng.exponential(0.1, n)), 0.99)


def test_frontier_figure_shows_every_run_the_law_and_what_is_irreducible():
    x, y = runs()
    front = sc.fit_frontier(x, y, num_draws=50)
    ax = sc.plots.plot_frontier(front, groups=["vit", "resnet"] * 30)
    labels = ax.get_legend_handles_labels()[1]
    assert {"vit", "resnet", "frontier", "95% band"} <= set(labels)
    drawn = np.concatenate([line.get_xdata() for line in ax.lines if line.get_label() in ("vit", "resnet")])
    assert sorted(drawn) == sorted(x)
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert ax.get_xlabel() == "training compute (FLOPs)"


def test_transfer_figure_shows_hull_law_saturation_and_chance():
    upstream = np.linspace(0.1, 0.6, 20)
    trans = sc.fit_transfer(upstream, 1 - (0.7 * (1 - upstream) ** 2.5 + 0.1), num_draws=50)
    ax = sc.plots.plot_transfer(trans, task="pets 10-shot", chance=1 / 37)
    assert {"hull", "law on the hull: k e^alpha + e_IR", "chance"} <= set(ax.get_legend_handles_labels()[1])
    assert "95% band, the selection's bias taken off" in ax.get_legend_handles_labels()[1]
    assert ax.get_ylabel() == "pets 10-shot accuracy"
    assert any("saturation 0.90" in text.get_text() for text in ax.texts)


def test_many_models_near_the_edge_are_not_hidden_by_their_rings_and_no_refuted_saturation_is_drawn():
    rng = np.random.default_rng(0)
    upstream = rng.uniform(0.4, 0.9, 400)
    downstream = 0.2 + 0.6 * upstream**8 + 0.03 * rng.standard_normal(400)
    with warnings.catch_warnings(action="ignore", category=sc.FitWarning):
        trans = sc.fit_transfer(upstream, downstream, selection="stochastic", num_draws=50)
    ax = sc.plots.plot_transfer(trans)
    rings = next(line for line in ax.lines if line.get_label() == "near the frontier")
    assert len(rings.get_xdata()) > 40
    assert rings.get_alpha() < 0.5
    assert not any("saturation" in text.get_text() for text in ax.texts)
    assert "the models contradict this law (poor_fit)" in ax.get_legend_handles_labels()[1]
    law = np.concatenate([line.get_ydata() for line in ax.lines if line.get_lw() == 2])
    assert np.nanmin(law) > 0
    left, right = ax.get_xlim()
    assert (0.3 < left < upstream.min(), right) == (True, 1)


def test_axes_are_the_callers():
    figure = matplotlib.figure.Figure()
    ax = figure.subplots()
    assert sc.plots.plot_frontier(sc.fit_frontier(*runs(), num_draws=20), ax=ax) is ax


def test_a_stochastic_frontier_and_the_convention_beside_it():
    x, y = runs()
    front, convention = (sc.fit_frontier(x, y, selection=s, num_draws=50) for s in ("stochastic", "pareto"))
    labels = sc.plots.plot_frontier(front, beside=convention).get_legend_handles_labels()[1]
    assert "near the frontier" in labels
    assert [label.split(":")[0] for label in labels if "law on" in label or "edge of" in label] == [
        "edge of all runs",
        "law on the frontier",
    ]


def test_a_stochastic_transfer_law_and_the_hull_beside_it():
    rng = np.random.default_rng(0)
    upstream = rng.uniform(0.1, 0.6, 60)
    downstream = 1 - (0.7 * (1 - upstream) ** 2.5 + 0.1) * np.exp(rng.exponential(0.1, 60))
    trans, hull = (sc.fit_transfer(upstream, downstream, selection=s, num_draws=50) for s in ("stochastic", "pareto"))
    ax = sc.plots.plot_transfer(trans, beside=hull)
    labels = ax.get_legend_handles_labels()[1]
    assert {"edge of all runs: k e^alpha + e_IR", "law on the frontier: k e^alpha + e_IR"} <= set(labels)
    assert sum("saturation" in text.get_text() for text in ax.texts) == 2
