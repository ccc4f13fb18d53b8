import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from scaling import convex_hull, pareto_frontier

POINTS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=40)


def test_frontier_of_equal_errors_is_the_cheapest():
    assert pareto_frontier([1, 2], [0.5, 0.5]).tolist() == [0]


def test_frontier_keeps_an_optimum_that_occurs_twice():
    x, y = [1, 2, 2, 4, 8], [0.5, 0.4, 0.4, 0.3, 0.35]
    assert np.take(x, pareto_frontier(x, y)).tolist() == [1, 2, 4]


def test_frontier_matches_x_and_y_row_by_row():
    assert pareto_frontier([1, 10, 100, 10, 100], [0.5, 0.3, 0.2, 0.5, 0.3]).tolist() == [0, 1, 2]


@given(POINTS)
def test_frontier_is_what_its_definition_says(points):
    x, y = np.array(points, dtype=float).T
    frontier = set(pareto_frontier(x, y).tolist())
    for i in range(len(x)):
        beaten = (x <= x[i]) & (y <= y[i]) & ((x < x[i]) | (y < y[i]))
        first_of_equals = not np.any((x[:i] == x[i]) & (y[:i] == y[i]))
        assert (i in frontier) == (not beaten.any() and first_of_equals)


@given(POINTS)
def test_hull_vertices_are_those_of_qhull(points):
    x, y = np.array(points, dtype=float).T
    upper, lower = convex_hull(x, y), convex_hull(x, y, side="lower")
    assert np.all(np.diff(x[upper]) > 0)
    assert np.all(np.diff(x[lower]) > 0)
    if np.linalg.matrix_rank(np.stack([x - x[0], y - y[0]])) == 2:
        qhull = {(x[i], y[i]) for i in ConvexHull(np.stack([x, y], axis=1)).vertices}
        ours = {(x[i], y[i]) for i in np.concatenate([upper, lower])}
        assert ours <= qhull
        # What ours lacks stands on the vertical sides, below the upper and above the lower hull's ends.
        assert all(px in (x.min(), x.max()) for px, _ in qhull - ours)


@given(POINTS, st.sampled_from(["upper", "lower"]))
def test_no_point_lies_outside_the_hull(points, side):
    x, y = np.array(points, dtype=float).T
    hull = convex_hull(x, y, side=side)
    outside = y - np.interp(x, x[hull], y[hull])
    # 1e-12: interpolation between integers up to 20 rounds.
    assert (outside.max() if side == "upper" else -outside.min()) <= 1e-12


def test_a_collinear_set_has_two_vertices_and_all_its_points_near():
    x = np.geomspace(1, 1e6, 9)
    log_x, log_y = np.log(x), np.log(0.7 * x**-0.3)
    assert convex_hull(log_x, log_y, side="lower").tolist() == [0, 8]
    assert convex_hull(log_x, log_y, side="lower", tolerance=1e-9).size == 9


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_points_are_their_own_hull(n):
    x, y = np.arange(n), np.arange(n)
    assert convex_hull(x, y).tolist() == pareto_frontier(x, -y).tolist() == list(range(n))


def test_discarding_inner_points_of_a_large_cloud_changes_nothing():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 20_000))
    qhull = ConvexHull(np.stack([x, y], axis=1)).vertices
    ours = np.union1d(convex_hull(x, y), convex_hull(x, y, side="lower"))
    assert ours.tolist() == sorted(qhull.tolist())


@pytest.mark.parametrize("bad", [([1, np.nan], [1, 2]), ([1, 2], [1, np.inf]), ([1, 2], [1]), ([[1]], [[1]])])
def test_bad_points_are_named(bad):
    for function in (pareto_frontier, convex_hull):
        with pytest.raises(ValueError, match="x and y must be"):
            function(*bad)


def test_bad_side_and_tolerance():
    with pytest.raises(ValueError, match="side must be 'upper' or 'lower', got 'left'"):
        convex_hull([1], [1], side="left")
    with pytest.raises(ValueError, match="tolerance must not be negative"):
        convex_hull([1], [1], tolerance=-1)
