import numpy as np
import pytest

import scaling as sc

from .helpers import line_of, texts

X = np.geomspace(1e18, 1e21, 14)
TRUTH = {"a": 0.5 * 1e18**0.25, "b": 0.25, "c": 0.1}
Y = (TRUTH["a"] * X ** -TRUTH["b"] + TRUTH["c"]) * np.exp(0.02 * np.random.default_rng(0).standard_normal(14))


def test_each_law_is_solid_where_it_was_fitted_and_dashed_elsewhere():
    early, late = X < 1e20, X > 2e19
    fits = {"early": sc.fit_law("power", X[early], Y[early]), "late": sc.fit_law("power", X[late], Y[late])}
    ax = sc.plots.plot_laws(fits, points=(X, Y))
    assert texts(ax) == ["early", "late"]
    for name, rows in (("early", early), ("late", late)):
        solid = line_of(ax, name)
        others = [line for line in ax.lines if line.get_color() == solid.get_color() and line is not solid]
        # The grid has 300 points on 4 decades: ends lie within a step of the points' ends.
        assert np.log10(solid.get_xdata()[[0, -1]]) == pytest.approx(np.log10(X[rows][[0, -1]]), abs=0.02)
        assert sum(len(line.get_xdata()) for line in [solid, *others]) == 300
        np.testing.assert_allclose(solid.get_ydata(), fits[name].predict(solid.get_xdata()))
    assert max(line.get_xdata().max() for line in ax.lines if len(line.get_xdata())) == pytest.approx(10 * X.max())


def test_a_known_law_is_one_dotted_line_without_a_band():
    known = sc.fit_law("saturating_power", X, Y, fixed=TRUTH)
    fits = {"truth": known, "fitted": sc.fit_law("saturating_power", X, Y)}
    ax = sc.plots.plot_laws(fits, level=0.95, kind="prediction", up_to=1e22)
    truth = line_of(ax, "truth")
    assert truth.get_linestyle() == ":"
    assert len(truth.get_xdata()) == 300
    np.testing.assert_allclose(truth.get_ydata(), TRUTH["a"] * truth.get_xdata() ** -0.25 + 0.1)
    assert len(ax.collections) == 1


def test_frontiers_and_ensembles_are_laws_too():
    y = Y * np.exp(np.random.default_rng(1).exponential(0.1, 14))
    fits = {
        "frontier": sc.fit_frontier(X, y, law="power", num_draws=20),
        "ensemble": sc.fit_ensemble(X, Y, laws=["power", "saturating_power"]),
    }
    ax = sc.plots.plot_laws(fits, groups=["vit", "resnet"] * 7, level=0.9)
    assert texts(ax) == ["resnet", "vit", "frontier", "ensemble"]
    assert len(ax.collections) == 2
    assert X.max() / 8 <= line_of(ax, "ensemble").get_xdata().min() < X.max() / 7
    assert line_of(ax, "frontier").get_xdata().max() <= X[fits["frontier"].selected].max()


def test_all_drawn_lies_inside_the_axes():
    ax = sc.plots.plot_laws({"power": sc.fit_law("power", X, Y)}, up_to=1e25)
    low, high = ax.get_ylim()
    drawn = np.concatenate([line.get_ydata() for line in ax.lines])
    assert low < drawn.min() <= drawn.max() < high


def test_what_has_no_place_on_the_axes_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        sc.plots.plot_laws({})
    errors = np.linspace(0.3, 0.9, 12)
    with pytest.raises(ValueError, match="that fall with it, got 'transfer' for 'tasks'"):
        sc.plots.plot_laws({"tasks": sc.fit_law("transfer", errors, 0.6 * errors**2 + 0.1)})
