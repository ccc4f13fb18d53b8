import numpy as np
import pytest

from scaling import FitError
from scaling.frontier import optimal_allocation
from scaling.plots import plot_isoflop, plot_optimal
from tests.scaling.frontier.hoffmann import BUDGETS, curve_runs, isoflop_runs, optimum, runs_at


@pytest.fixture
def result():
    return optimal_allocation(isoflop_runs(noise=0.003), y="upstream_loss", num_draws=50)


def test_each_approach_has_a_line_a_dashed_continuation_and_a_band(result):
    ax = plot_optimal(result, x_label="compute")
    styles = [line.get_linestyle() for line in ax.lines if len(line.get_xdata()) > 50]
    assert styles.count("-") == styles.count("--") == 3
    assert len(ax.collections) == 3
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[0] == "runs"
    assert [text.split(":")[0] for text in texts[1:]] == ["envelope", "IsoFLOP vertices", "parametric"]
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert all(line.get_xdata().min() > BUDGETS[0] for line in dashed)
    assert max(line.get_xdata().max() for line in dashed) == pytest.approx(10 * BUDGETS[-1])
    assert ax.get_xlabel() == "compute"


def test_images_seen(result):
    ax = plot_optimal(result, quantity="images_seen")
    assert ax.get_ylabel() == "compute-optimal images seen"
    assert "D ~ C^b" in ax.get_legend().get_texts()[1].get_text()
    with pytest.raises(ValueError, match=r"quantity must be one of .*'num_params', 'images_seen'.*, got 'loss'"):
        plot_optimal(result, quantity="loss")


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_a_refused_budget_is_drawn_apart():
    runs = isoflop_runs()
    runs = runs[runs["compute_flops"] < BUDGETS[7] * 1.1]
    first = runs["compute_flops"] == BUDGETS[0]
    runs.loc[first, "upstream_loss"] = 6 - runs.loc[first, "upstream_loss"]  # concave
    result = optimal_allocation(runs, y="upstream_loss", num_draws=20, approaches=["isoflop"])
    ax = plot_isoflop(result, y_label="loss")
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[0] == "6e18 (refused)"
    assert not any("refused" in text for text in texts[1:])
    dotted = [line for line in ax.lines if line.get_linestyle() == ":" and len(line.get_xdata()) > 50]
    assert len(dotted) == 1
    stars = next(line for line in ax.lines if line.get_marker() == "*")
    assert np.isfinite(stars.get_ydata()).sum() == 7


def test_without_budgets_there_is_the_reason():
    result = optimal_allocation(
        runs_at(BUDGETS, optimum(BUDGETS) * 1.1), y="upstream_loss", num_draws=20, approaches=["isoflop", "envelope"]
    )
    with pytest.raises(FitError, match="no IsoFLOP budgets: no three model sizes"):
        plot_isoflop(result)
    result = optimal_allocation(curve_runs(8), y="upstream_loss", num_draws=20, approaches=["envelope"])
    with pytest.raises(FitError, match="the approach was not asked for"):
        plot_isoflop(result)
    assert len(plot_optimal(result).collections) == 1


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_many_budgets_have_a_bar_and_refused_ones_are_grey():
    runs = isoflop_runs()
    first = runs["compute_flops"] == BUDGETS[0]
    runs.loc[first, "upstream_loss"] = 6 - runs.loc[first, "upstream_loss"]  # concave
    result = optimal_allocation(runs, y="upstream_loss", num_draws=20, approaches=["isoflop"])
    ax = plot_isoflop(result)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1 refused budgets", "vertex"]
    assert [other.get_ylabel() for other in ax.get_figure().axes if other is not ax] == ["compute"]
    dotted = [line for line in ax.lines if line.get_linestyle() == ":" and len(line.get_xdata()) > 50]
    assert [line.get_color() for line in dotted] == ["0.7"]


def test_a_legend_in_axes_of_the_caller_is_not_cut():
    from matplotlib.figure import Figure

    runs = isoflop_runs()
    figure = Figure(figsize=(5, 4))
    ax = figure.subplots()
    plot_isoflop(
        optimal_allocation(
            runs[runs["compute_flops"] < BUDGETS[4]], y="upstream_loss", num_draws=20, approaches=["isoflop"]
        ),
        ax=ax,
    )
    figure.canvas.draw()
    box, whole = ax.get_legend().get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0
    assert box.x1 <= whole.x1


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_an_open_interval_has_no_band():
    runs = isoflop_runs()
    few = runs[runs["compute_flops"] < BUDGETS[1] * 1.1]
    ax = plot_optimal(optimal_allocation(few, y="upstream_loss", num_draws=20, approaches=["isoflop"]))
    assert not ax.collections
    assert "[open]" in ax.get_legend().get_texts()[1].get_text()
