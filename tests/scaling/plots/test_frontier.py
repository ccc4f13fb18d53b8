import numpy as np

import scaling as sc

from .helpers import labels


def runs(n=60):
    rng = np.random.default_rng(0)
    x = 10 ** rng.uniform(15, 19, n)
    return x, np.minimum((0.5 * (x / 1e15) ** -0.25 + 0.1) * np.exp(rng.exponential(0.1, n)), 0.99)


def test_frontier_figure_shows_every_run_the_law_and_what_is_irreducible():
    x, y = runs()
    front = sc.fit_frontier(x, y, num_draws=50)
    ax = sc.plots.plot_frontier(front, groups=["vit", "resnet"] * 30)
    shown = labels(ax)
    assert {"vit", "resnet", "frontier", "95% band"} <= set(shown)
    drawn = np.concatenate([line.get_xdata() for line in ax.lines if line.get_label() in ("vit", "resnet")])
    assert sorted(drawn) == sorted(x)
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert ax.get_xlabel() == "training compute (FLOPs)"


def test_a_stochastic_frontier_and_the_convention_beside_it():
    x, y = runs()
    front, convention = (sc.fit_frontier(x, y, selection=s, num_draws=50) for s in ("stochastic", "pareto"))
    shown = labels(sc.plots.plot_frontier(front, beside=convention))
    assert "near the frontier" in shown
    assert [label.split(":")[0] for label in shown if "law on" in label or "edge of" in label] == [
        "edge of all runs",
        "law on the frontier",
    ]
