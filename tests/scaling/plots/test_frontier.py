import warnings
from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

import scaling as sc
from scaling.plots.style import error_axis

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


def test_laws_beside_have_their_names_and_a_printed_one_no_band():
    x, y = runs()
    front, other = (sc.fit_frontier(x, y, selection=s, num_draws=50) for s in ("pareto", "convex_hull"))
    printed = sc.fit_law("saturating_power", x, y, fixed={"a": 0.5 * 1e15**0.25, "b": 0.25, "c": 0.1})
    ax = sc.plots.plot_frontier(front, beside={"as printed": printed, "hull": other})
    shown = labels(ax)
    assert "as printed: a=2.81e+03  b=0.25  c=0.1" in shown
    assert sum(label.startswith("hull: ") for label in shown) == 1
    assert len(ax.collections) == 2  # the bands of the two frontiers
    line = next(line for line in ax.lines if str(line.get_label()).startswith("as printed"))
    np.testing.assert_allclose(line.get_ydata(), 0.5 * (line.get_xdata() / 1e15) ** -0.25 + 0.1)


def test_the_legend_lies_over_no_run():
    x = np.geomspace(1e9, 1e12, 200)
    y = np.exp(np.random.default_rng(0).uniform(-2, 0, 200))  # everywhere, the lower left corner too
    with warnings.catch_warnings(action="ignore", category=sc.FitWarning):
        front = sc.fit_frontier(x, y, selection="stochastic", num_draws=20)
    ax = sc.plots.plot_frontier(front)
    ax.figure.draw_without_rendering()
    box = ax.get_legend().get_window_extent()
    assert not any(box.contains(*point) for point in ax.transData.transform(np.column_stack([x, y])))


def test_ticks_of_two_decades_of_error_do_not_touch():
    figure = Figure(figsize=(4.5, 3.0), layout="constrained")  # as a result shows itself
    ax = figure.subplots()
    ax.set_yscale("log")
    error_axis(ax, np.array([0.02, 0.8]))
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels() if label.get_text()]
    inside = sorted((box for box in boxes if ax.bbox.y0 <= box.y0 and box.y1 <= ax.bbox.y1), key=lambda box: box.y0)
    assert len(inside) >= 4
    assert all(low.y1 <= high.y0 for low, high in pairwise(inside))
