import numpy as np

import scaling as sc

from .helpers import labels


def test_transfer_figure_shows_hull_law_saturation_and_chance():
    upstream = np.linspace(0.1, 0.6, 20)
    trans = sc.fit_transfer(upstream, 1 - (0.7 * (1 - upstream) ** 2.5 + 0.1), num_draws=50)
    ax = sc.plots.plot_transfer(trans, task="pets 10-shot", chance=1 / 37)
    assert {"hull", "law on the hull: k e^alpha + e_IR", "95% band", "chance"} <= set(labels(ax))
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
