"""The selection of every draw at once is that of each draw alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.selection.rules import drawn_selection, select

# Few values, so that many points share an x, a y or a straight line.
POINTS = st.lists(st.tuples(st.integers(1, 8), st.integers(1, 8), st.integers(0, 2)), min_size=1, max_size=14)


@pytest.mark.parametrize("selection", ["pareto", "convex_hull"])
@pytest.mark.parametrize("tolerance", [0.0, 0.6])
@pytest.mark.parametrize("hull_axes", ["linear", "log"])
@given(points=POINTS, seed=st.integers(0, 2**32 - 1))
def test_each_draw_is_selected_as_it_is_alone(selection, tolerance, hull_axes, points, seed):
    x, _, counts = np.array(points).T
    draws = np.random.default_rng(seed).permuted(np.tile(counts, (5, 1)), axis=1)
    heights = np.random.default_rng(seed + 1).permuted(np.tile([p[1] for p in points], (5, 1)), axis=1).astype(float)
    found = drawn_selection(x.astype(float), heights, draws, selection, tolerance, hull_axes)
    for y, count, weights in zip(heights, draws, found, strict=True):
        rows = np.flatnonzero(count)
        alone = rows[select(x[rows], y[rows], selection, tolerance, hull_axes)]
        assert np.flatnonzero(weights).tolist() == sorted(alone)


def test_accuracies_with_ties_are_selected_as_they_are_alone():
    """As of 1,500 models whose accuracies are read to 1 in 50,000: real numbers, with ties."""
    rng = np.random.default_rng(0)
    x = rng.integers(1, 500, 1500) / 500
    y = np.round(x**-0.5 * np.exp(rng.exponential(0.1, (4, 1500))), 3)
    counts = rng.multinomial(1500, np.full(1500, 1 / 1500), size=4)
    for tolerance in (0.0, 0.005):
        found = drawn_selection(x, y, counts, "convex_hull", tolerance)
        for heights, count, weights in zip(y, counts, found, strict=True):
            rows = np.flatnonzero(count)
            alone = rows[select(x[rows], heights[rows], "convex_hull", tolerance)]
            assert np.flatnonzero(weights).tolist() == sorted(alone)
