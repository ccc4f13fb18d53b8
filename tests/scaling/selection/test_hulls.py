from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from scaling import convex_hull, pareto_frontier
from scaling.selection import hulls

POINTS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=40)
FEW = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=18)  # ties, duplicates, lines


def test_trap_19a_of_equal_errors_the_cheapest():
    assert pareto_frontier([1, 2], [0.5, 0.5]).tolist() == [0]


def test_trap_19b_an_optimum_that_occurs_twice_does_not_vanish():
    x, y = [1, 2, 2, 4, 8], [0.5, 0.4, 0.4, 0.3, 0.35]
    assert np.take(x, pareto_frontier(x, y)).tolist() == [1, 2, 4]


def test_trap_20_x_and_y_are_matched_row_by_row():
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


def test_trap_21_a_collinear_set_has_two_vertices_and_all_its_points_near():
    x = np.geomspace(1, 1e6, 9)
    log_x, log_y = np.log(x), np.log(0.7 * x**-0.3)
    assert convex_hull(log_x, log_y, side="lower").tolist() == [0, 8]
    assert convex_hull(log_x, log_y, side="lower", tolerance=1e-9).size == 9


@pytest.mark.parametrize("n", [0, 1, 2])
def test_trap_21_few_points_are_their_own_hull(n):
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
    with pytest.raises(ValueError, match=r"side must be one of \('upper', 'lower'\), got 'left'"):
        convex_hull([1], [1], side="left")
    with pytest.raises(ValueError, match="tolerance must be a finite number of at least 0, got -1"):
        convex_hull([1], [1], tolerance=-1)


# Discarding changes nothing -----------------------------------------------------------------------------------


@pytest.fixture(params=[None, 2, 5])
def sample(request, monkeypatch):
    """Small sets take the path of large ones, with a sample and steps of a few points and chunks that part them."""
    if request.param:
        monkeypatch.setattr(hulls, "_SAMPLE", request.param)
        monkeypatch.setattr(hulls, "_STEPS", 2)
        monkeypatch.setattr(hulls, "_CHUNK", 3)


def _is_lower_vertex(points, i):
    """In whole numbers: the first lowest point at its x, and strictly below every chord over it."""
    x, y = points[i]
    if any(px == x and (py, j) < (y, i) for j, (px, py) in enumerate(points)):
        return False
    left, right = ([p for p in points if p[0] < x], [p for p in points if p[0] > x])
    return all((y - ay) * (bx - ax) < (by - ay) * (x - ax) for (ax, ay), (bx, by) in product(left, right))


@pytest.mark.usefixtures("sample")
@given(FEW, st.sampled_from(["upper", "lower"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hull_of_few_points_is_what_its_definition_says(points, side):
    sign = 1 if side == "lower" else -1
    flipped = [(x, sign * y) for x, y in points]
    vertices = [i for i in range(len(points)) if _is_lower_vertex(flipped, i)]
    hull = convex_hull(*np.array(points, dtype=float).T, side=side)
    assert hull.tolist() == sorted(vertices, key=lambda i: points[i][0])


@pytest.mark.usefixtures("sample")
@given(FEW)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_frontier_of_few_points_is_that_of_the_sorted_path(points):
    x, y = np.array(points, dtype=float).T
    assert pareto_frontier(x, y).tolist() == sorted_frontier(x, y).tolist()


@pytest.mark.usefixtures("sample")
@given(FEW, st.sampled_from(["upper", "lower"]), st.integers(1, 4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_points_near_the_hull_are_those_within_the_tolerance(points, side, quarters):
    """Quarters plus 1/1024: chords at most 5 wide leave no point at the tolerance itself, where rounding decides."""
    x, y = np.array(points, dtype=float).T
    height, tolerance = (y if side == "upper" else -y), quarters / 4 + 1 / 1024
    hull = convex_hull(x, y, side=side)
    near = np.flatnonzero(height >= np.interp(x, x[hull], height[hull]) - tolerance)
    expected = near[np.lexsort((-height[near], x[near]))]
    assert convex_hull(x, y, side=side, tolerance=tolerance).tolist() == expected.tolist()


def sorted_frontier(x, y):
    order = np.lexsort((y, x))
    return order[y[order] < np.concatenate([[np.inf], np.minimum.accumulate(y[order])[:-1]])]


def sorted_lower_hull(x, y):
    order = np.lexsort((y, x))
    order = order[np.concatenate([[True], np.diff(x[order]) > 0])]
    return order[hulls._chain(x[order], y[order])]


N = 3 * (1 << 16) + 7  # three times the sample, and not a whole number of chunks
U, V = np.random.default_rng(0).random((2, N))
LARGE = {
    "cloud": (U, V),
    "all on the frontier": (U, -U),
    "all on the frontier, in order": (np.sort(U), -np.sort(U)),
    "all on the frontier, backwards": (-np.sort(U), np.sort(U)),
    "all on the lower hull": (U, (U - 1) ** 2),
    "all on the lower hull, a cloud above": (U, (U - 1) ** 2 + (V > 0.01) * V),
    "all x equal": (np.ones(N), V),
    "all y equal": (U, np.ones(N)),
    "all equal": (np.ones(N), np.ones(N)),
    "in order": (np.sort(U), np.sort(V)),
    "backwards": (-np.sort(U), np.sort(V)),
    "on a coarse grid": (np.floor(8 * U), np.floor(8 * V)),
    "fine costs, coarse errors": (U, np.floor(100 * V)),
    "coarse costs, fine errors": (np.floor(100 * U), V),
    "compute over nine decades": (10 ** (15 + 9 * U), 0.1 + (10 ** (9 * U)) ** -0.2 + V),
    "of huge numbers": (1e300 * U, 1e300 * V),
    "of tiny numbers": (1e-300 * U, 1e-300 * V),
    "far from the origin": (1e6 + U, 1e6 + V),
    "the best in one corner of the order": (np.r_[U[: N - 9] + 1, U[N - 9 :]], np.r_[V[: N - 9] + 1, V[N - 9 :]]),
}


@pytest.mark.parametrize("case", LARGE)
def test_large_sets_are_those_of_the_sorted_path(case):
    x, y = LARGE[case]
    assert pareto_frontier(x, y).tolist() == sorted_frontier(x, y).tolist()
    for side, sign in (("lower", 1), ("upper", -1)):
        # Scaling by powers of two does not round; without it the products of the chain overflow.
        scale_x, scale_y = (2.0 ** -np.frexp(np.abs(values).max())[1] for values in (x, y))
        assert convex_hull(x, y, side=side).tolist() == sorted_lower_hull(scale_x * x, sign * scale_y * y).tolist()


@pytest.mark.parametrize("case", ["cloud", "on a coarse grid", "all x equal", "compute over nine decades"])
@pytest.mark.parametrize("tolerance", [1e-3, 0.3])
def test_points_near_the_hull_of_large_sets_are_all_there(case, tolerance):
    x, y = LARGE[case]
    hull = sorted_lower_hull(x, y)
    near = np.flatnonzero(y <= np.interp(x, x[hull], y[hull]) + tolerance)
    expected = near[np.lexsort((y[near], x[near]))]
    assert convex_hull(x, y, side="lower", tolerance=tolerance).tolist() == expected.tolist()


def test_trap_21_a_large_collinear_set_has_its_ends_as_vertices_and_all_points_near():
    log_x = 20 * U
    log_y = 0.5 - 0.3 * log_x
    hull = convex_hull(log_x, log_y, side="lower")
    assert (hull[0], hull[-1]) == (log_x.argmin(), log_x.argmax())
    # 1e-15: half a unit in the last place of log_y, by which the points leave the line.
    assert np.abs(log_y - np.interp(log_x, log_x[hull], log_y[hull])).max() < 4e-15
    assert convex_hull(log_x, log_y, side="lower", tolerance=1e-12).size == N
    assert pareto_frontier(log_x, log_y).size == N


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_one_bad_point_among_many_is_named(bad):
    y = V.copy()
    y[123_456] = bad
    for function in (pareto_frontier, convex_hull):
        with pytest.raises(ValueError, match=r"must be finite; not so in rows \[123456\]"):
            function(U, y)
