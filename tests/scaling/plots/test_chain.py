import matplotlib.figure
import numpy as np
import pytest

import scaling as sc

COMPUTE = np.geomspace(1e15, 1e19, 25)
UPSTREAM = 0.45 * (COMPUTE / 1e15) ** -0.3 + 0.1


@pytest.fixture(scope="module")
def chain():
    front = sc.fit_frontier(COMPUTE, UPSTREAM, num_draws=40)
    return sc.chain(front, sc.fit_transfer(1 - UPSTREAM, 1 - (0.6 * UPSTREAM**1.5 + 0.06), num_draws=40))


def test_the_figure_of_a_chain_reaches_beyond_the_runs_and_shows_the_saturation(chain):
    ax = sc.plots.plot_chain(chain, task="pets 10-shot")
    labels = ax.get_legend_handles_labels()[1]
    assert {"best model, over the runs", "extrapolated", "95% band"} <= set(labels)
    assert any(label.startswith("saturation 0.921") for label in labels)
    assert ax.get_xlim() == pytest.approx((1e15, 1e21))
    assert (ax.get_xscale(), ax.get_ylabel()) == ("log", "pets 10-shot accuracy")


def test_a_target_is_a_mark_at_its_compute_or_said_to_be_never(chain):
    ax = matplotlib.figure.Figure().subplots()
    reached = chain.solve_for_compute(0.9)
    assert sc.plots.plot_chain(chain, target=reached, ax=ax) is ax
    mark = next(line for line in ax.lines if line.get_marker() == "D")
    assert float(np.ravel(mark.get_xdata())[0]) == pytest.approx(reached.compute)
    labels = sc.plots.plot_chain(chain, target=chain.solve_for_compute(0.95)).get_legend_handles_labels()[1]
    assert "target 0.95: never" in labels


def test_runs_are_drawn_where_both_laws_have_the_same():
    front = sc.fit_frontier(COMPUTE, UPSTREAM, num_draws=40)
    error = 0.6 * UPSTREAM**1.5 + 0.06
    same = sc.plots.plot_chain(sc.chain(front, sc.fit_transfer(1 - UPSTREAM, 1 - error, num_draws=40)))
    runs = next(line for line in same.lines if line.get_label() == "runs")
    np.testing.assert_allclose(runs.get_xydata(), np.stack([COMPUTE, 1 - error], axis=1))
    other = sc.fit_transfer(1 - UPSTREAM[::-1], 1 - error[::-1], num_draws=40)
    assert "runs" not in sc.plots.plot_chain(sc.chain(front, other)).get_legend_handles_labels()[1]
