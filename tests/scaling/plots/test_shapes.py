import numpy as np
import pytest

from scaling import FitError
from scaling.frontier import fit_shapes
from scaling.plots import plot_shapes
from tests.scaling.frontier.test_shapes import COMPUTE, GRIDS, sweep


def test_levels_of_compute_with_the_optimum_of_each():
    shapes = fit_shapes(sweep("depth", noise=0.003), dimensions=["depth"], num_draws=50)
    ax = plot_shapes(shapes, "depth")
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[:6] == ["2e10", "3.2e10", "7.9e10", "1.3e11", "3.2e11", "5e11"]
    assert texts[6].startswith("optimum ~ C^s")
    stars = [line for line in ax.lines if line.get_marker() == "*" and len(line.get_xdata())]
    at = np.sort([line.get_xdata()[0] for line in stars])
    best = shapes.optimum("depth", COMPUTE[[0, 1, 3, 4, 6, 7]])
    assert at == pytest.approx(best[(best > 8) & (best < 24)])
    assert ax.get_xticks().tolist() == GRIDS["depth"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("depth", "upstream error")


def test_a_dimension_that_was_not_swept():
    shapes = fit_shapes(sweep("depth"), dimensions=["depth"], num_draws=20)
    with pytest.raises(FitError, match="no optimum of 'width'"):
        plot_shapes(shapes, "width")
