import itertools

import matplotlib.figure
import numpy as np
import pandas as pd
import pytest

import scaling as sc

from .helpers import line_of

X = np.geomspace(1e18, 1e21, 14)
Y = (0.5 * (X / 1e18) ** -0.25 + 0.1) * np.exp(0.02 * np.random.default_rng(0).standard_normal(14))


def test_a_fit_is_solid_over_its_points_and_dashed_beyond():
    fit = sc.fit_law("saturating_power", X, Y)
    ax = sc.plots.plot_fit(fit, x_label="training compute (FLOPs)")
    law, beyond = line_of(ax, "saturating_power: a x^-b + c"), line_of(ax, "extrapolated")
    assert law.get_xdata().max() <= X.max() < beyond.get_xdata().min()
    assert beyond.get_xdata().max() == pytest.approx(1e22)
    np.testing.assert_allclose(law.get_ydata(), fit.predict(law.get_xdata()))
    assert f"irreducible error {fit.params['c']:.3g}" in ax.get_legend_handles_labels()[1]


def test_a_law_that_grows_is_extrapolated_to_the_left():
    errors = np.linspace(0.3, 0.9, 12)
    ax = sc.plots.plot_fit(sc.fit_law("transfer", errors, 0.6 * errors**2 + 0.1), up_to=0.05)
    assert line_of(ax, "extrapolated").get_xdata().min() == pytest.approx(0.05)


def test_an_ensemble_is_drawn_on_the_callers_axes():
    ax = matplotlib.figure.Figure().subplots()
    assert sc.plots.plot_fit(sc.fit_ensemble(X, Y, laws=["power", "saturating_power"]), kind="prediction", ax=ax) is ax
    assert "95% prediction band" in ax.get_legend_handles_labels()[1]


def test_an_ensemble_is_drawn_where_all_its_members_are_fitted():
    """Before, those of the last factors of 8 and 4 run wherever they like."""
    ax = sc.plots.plot_fit(sc.fit_ensemble(X, Y, laws=["power", "saturating_power"]))
    assert X.max() / 8 <= line_of(ax, "weighted mean of laws").get_xdata().min() < X.max() / 7


def test_lines_between_accuracies_are_refused():
    accuracy = np.linspace(0.2, 0.8, 8)
    with pytest.raises(ValueError, match="one positive variable, got 'logit_linear'"):
        sc.plots.plot_fit(sc.fit_law("logit_linear", accuracy, 0.9 * accuracy))


def test_laws_compared_stand_in_the_order_of_their_error():
    table = sc.compare_laws(X, Y, laws=["power", "saturating_power"])
    ax = sc.plots.plot_law_comparison(table)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(table.law[::-1])
    drawn = [float(line.get_xdata()[0]) for line in ax.lines]
    assert drawn == sorted(drawn, reverse=True)


@pytest.mark.parametrize("least", [1e-1, 1e-3])
def test_labels_of_compared_laws_do_not_touch_one_another_or_the_frame(least):
    names = ["power", "broken_power", "last_value"]
    scores = [least, 2 * least, 1.0]
    table = pd.DataFrame({"law": names, "heldout_log_rmse": scores, "is_baseline": [False, False, True]})
    ax = sc.plots.plot_law_comparison(table)
    ax.figure.canvas.draw()
    (low, high), labels = ax.get_xlim(), ax.get_xticklabels()
    shown = [text.get_window_extent() for text in labels if low <= text.get_position()[0] <= high]
    assert len(shown) >= 2
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(shown))
    assert all(text.get_window_extent().x0 > ax.bbox.x1 for text in ax.texts)
