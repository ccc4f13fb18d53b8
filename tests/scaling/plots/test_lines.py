import re

import numpy as np
import pytest
from matplotlib.figure import Figure

import scaling as sc
from scaling.transfer import AXIS_SCALINGS, Rule, compare_scalings, effective_robustness, fit_line, predict_best_models


def models(n=60, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.3, 0.8, n)
    return x, np.clip(x**2 + 0.03 * rng.standard_normal(n), 0.01, 0.99)


@pytest.mark.parametrize("scaling", AXIS_SCALINGS)
def test_a_line_is_straight_on_its_axes_which_are_labelled_in_accuracy(scaling):
    ax = sc.plots.plot_lines(fit_line(*models(), scaling=scaling))
    drawn = next(line for line in ax.lines if "R²" in str(line.get_label()))
    inside = (drawn.get_ydata() > 0.001) & (drawn.get_ydata() < 0.999)  # an accuracy is cut at 0 and 1
    x, y = ax.transData.transform(drawn.get_xydata()[inside]).T
    slope = np.diff(y) / np.diff(x)
    assert slope == pytest.approx(slope[0], rel=1e-3)
    ax.figure.canvas.draw()
    labels = [text.get_text() for text in ax.get_xticklabels() if text.get_text()]
    assert len(labels) >= 3
    assert all(0 <= float(label) <= 1 for label in labels)


def test_dropped_models_are_counted():
    x, y = models()
    y[0] = 0
    with pytest.warns(sc.FitWarning, match="1 models left out"):
        line = fit_line(x, y)
    assert "1 models of accuracy 0 or 1" in sc.plots.plot_lines(line).get_title(loc="left")


def test_robustness_draws_line_diagonal_and_the_named_models():
    x, y = models()
    y[5] += 0.15
    robust = effective_robustness(x, y, is_standard=np.arange(60) != 5, names=[f"m{i}" for i in range(60)])
    ax = sc.plots.plot_robustness(robust, num_named=2, ax=Figure().subplots())
    labels = set(ax.get_legend_handles_labels()[1])
    assert {"standard models", "other models", "y = x: no drop", "effective robustness"} <= labels
    assert any("m5 +0.1" in text.get_text() for text in ax.texts)
    bars = next(c for c in ax.collections if c.get_label() == "effective robustness")
    heights = [segment[1, 1] - segment[0, 1] for segment in bars.get_segments()]
    assert max(heights) == pytest.approx(robust.effective.max())


def test_robust_models_are_numbered_by_rank_and_a_model_at_0_is_no_trouble():
    x, y = models()
    y[[5, 7]] += [0.15, 0.25]
    y[9] = 0.0
    mask = ~np.isin(np.arange(60), [5, 7, 9])
    robust = effective_robustness(x, y, is_standard=mask, names=[f"m{i}" for i in range(60)])
    ax = sc.plots.plot_robustness(robust, num_named=2)
    listed = next(text.get_text() for text in ax.texts if "m7" in text.get_text())
    assert [line.split()[1] for line in listed.split("\n")] == ["m7", "m5"]
    assert next(text for text in ax.texts if text.get_text() == "1").xy[0] == x[7]
    ax.figure.canvas.draw()


def test_scalings_stand_in_the_order_of_their_r2_and_say_which_are_curved():
    table = compare_scalings(*models(200))
    ax = sc.plots.plot_scalings(table)
    assert [text.get_text() for text in ax.get_yticklabels()] == list(table.sort_values("r2_accuracy").index)
    filled = [line for line in ax.lines if line.get_markerfacecolor() != "none"]
    assert [line.get_xdata()[0] for line in filled] == [table.r2_accuracy.max()]
    assert sum("curved" in text.get_text() for text in ax.texts) == (table.curvature_p < 1e-3).sum() > 0


def test_best_models_draws_what_was_fitted_held_out_and_predicted():
    x, y = models(200)
    rules = [Rule("transfer", "stochastic"), Rule("logit", "all"), Rule("log", "pareto")]
    best = predict_best_models(x, y, rules=rules, num_draws=20)
    ax = sc.plots.plot_best_models(best, rules=[*rules, Rule("probit", "all")], task="pets")
    labels = ax.get_legend_handles_labels()[1]
    assert {"models held out", "logit, all (mean model)", "probit, all: not fitted"} <= set(labels)
    alone = predict_best_models(x, y, rules=[Rule("log", "all")])
    assert "log, all (mean model)" in sc.plots.plot_best_models(alone).get_legend_handles_labels()[1]
    held = next(line for line in ax.lines if line.get_label() == "models held out")
    assert sorted(held.get_xdata()) == sorted(x[best.is_held_out])
    assert any(re.fullmatch(r"models fitted \(\d+ further left\)", label) for label in labels)
    ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1  # above the axes, over no model
    assert ax.get_ylabel() == "pets accuracy"
