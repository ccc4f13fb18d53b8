"""How the hull ends: in the fit, in its draws and in its simulated worlds."""

import numpy as np
import pytest

from scaling import FitError, fit_transfer
from scaling.transfer import HULL_POINTS, hull_distance
from scaling.transfer.selection import TransferSelection

from .worlds import cloud

US = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
DS = np.array([0.2, 0.35, 0.45, 0.5, 0.45, 0.4])
CHANCE = (0.001, 0.02)


def points(how, us=US, ds=DS, counts=None):
    """Those that the law is fitted to in each draw, as (upstream, downstream)."""
    counts = np.ones((1, len(us)), dtype=np.int64) if counts is None else np.asarray(counts)
    found_us, error, weights = how.points(us, 1 - ds, counts)
    error = np.broadcast_to(error, weights.shape)
    return [
        [(round(u, 6), round(1 - e, 6)) for u, e, w in sorted(zip(found_us, row, weight, strict=True)) if w]
        for row, weight in zip(error, weights, strict=True)
    ]


MODELS = [(0.1, 0.2), (0.2, 0.35), (0.3, 0.45), (0.4, 0.5)]


@pytest.mark.parametrize(
    ("anchors", "expected"),
    [
        ((), MODELS),
        (("flat_right",), [*MODELS, (0.6, 0.5)]),
        (("chance",), [CHANCE, *MODELS]),
        (("chance", "flat_right"), [CHANCE, *MODELS, (0.6, 0.5)]),
    ],
)
def test_the_points_of_a_hull_with_its_ends(anchors, expected):
    chance = CHANCE if "chance" in anchors else None
    assert points(TransferSelection("convex_hull", anchors=anchors, chance=chance)) == [expected]


def test_each_draw_ends_at_its_own_models():
    """The first draw lacks the rightmost model, the second the best one, the third all right of the best."""
    draws = [[1, 1, 1, 1, 1, 0], [1, 1, 2, 0, 1, 1], [1, 1, 1, 3, 0, 0]]
    found = points(TransferSelection("convex_hull", anchors=("flat_right",)), counts=draws)
    assert found == [
        [*MODELS, (0.5, 0.5)],
        [*MODELS[:3], (0.6, 0.45)],  # the model at .5 is as good as that at .3
        MODELS,
    ]


def test_near_a_flat_end():
    how = TransferSelection("convex_hull", "near", tolerance=0.06, anchors=("flat_right",))
    assert points(how) == [[*MODELS, (0.5, 0.45), (0.6, 0.5)]]


def test_a_chance_below_the_hull_changes_nothing():
    how = TransferSelection("convex_hull", anchors=("chance",), chance=(0.25, 0.1))
    assert points(how) == [MODELS]


def test_what_lies_left_of_the_start_supports_the_hull_and_is_cut():
    """The model at .22 is the leftmost right of .2, and below the edge from .2 to .3."""
    us, ds = np.append(US, 0.22), np.append(DS, 0.1)
    assert points(TransferSelection("convex_hull", start=0.2), us, ds) == [MODELS[2:]]
    sampled = TransferSelection("convex_hull", "sampled", start=0.2).law_points(us, 1 - ds, np.ones((1, 7), dtype=int))
    grid, errors, inside = sampled
    assert grid[0] == 0.2
    assert np.interp(0.22, grid, 1 - errors[0]) == pytest.approx(0.37)
    assert grid[inside[0] > 0].max() <= 0.4


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
@pytest.mark.parametrize("hull_points", HULL_POINTS)
@pytest.mark.parametrize("anchors", ["none", "chance", "flat_right", ("chance", "flat_right")])
@pytest.mark.parametrize("intervals", ["simulated_world", "case_bootstrap"])
def test_every_end_with_every_choice_of_points_and_draws(hull_points, anchors, intervals):
    upstream, downstream = cloud((0.7, 2.5, 0.1), num_on_hull=0, num_models=100)
    chance = CHANCE if "chance" in anchors else None
    trans = fit_transfer(
        upstream, downstream, hull_points=hull_points, anchors=anchors, chance=chance, intervals=intervals, num_draws=20
    )
    assert trans.anchors == (() if anchors == "none" else tuple(np.atleast_1d(anchors)))
    assert trans.intervals == intervals
    assert np.isfinite(trans.bootstrap.theta).all()
    assert trans.fit.x.max() == pytest.approx(1 - (CHANCE[0] if chance else upstream.min()))
    assert "anchors: " + ("none" if anchors == "none" else " and ".join(trans.anchors)) in trans.summary()


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_the_draws_have_the_ends_too():
    """Every draw is held by the same guess: far left of the models its curves agree as they do not without."""
    models = cloud((0.7, 2.5, 0.1), num_on_hull=0, num_models=100)

    def spread(**ends):
        trans = fit_transfer(*models, intervals="case_bootstrap", num_draws=100, **ends)
        return np.std(trans.bootstrap.values([1 - CHANCE[0]]))

    assert spread(anchors="chance", chance=CHANCE) < 0.5 * spread()


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_a_flat_end_saturates_near_the_best_model():
    trans = fit_transfer(US, DS, anchors="flat_right", num_draws=20)
    assert trans.anchor_points.tolist() == [[0.6, 0.5]]
    assert trans.num_right_of_best == 2
    assert abs(trans.saturation - 0.5) < abs(fit_transfer(US, DS, num_draws=20).saturation - 0.5)
    assert hull_distance(US, DS, anchors="flat_right")[4:] == pytest.approx([0.05, 0.1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"anchors": "left"}, r"anchors must be 'none', or one or both of \('chance', 'flat_right'\), got 'left'"),
        ({"anchors": None}, "anchors must be 'none', or one or both"),
        ({"anchors": ("none", "chance"), "chance": CHANCE}, "anchors must be 'none', or one or both"),
        ({"anchors": ("chance", "chance"), "chance": CHANCE}, "anchors must be 'none', or one or both"),
        ({"anchors": "chance"}, r"chance=\(upstream, downstream\) goes with anchors='chance', got None"),
        ({"chance": CHANCE}, "goes with anchors='chance'"),
        ({"anchors": "chance", "chance": 0.1}, r"chance must be \(upstream, downstream\)"),
        ({"anchors": "chance", "chance": (0.001, 2)}, "chance must lie in"),
        ({"anchors": "chance", "chance": CHANCE, "window": (0.1, 1.0)}, r"in the window \(0.1, 1.0\), got 0.001"),
        ({"anchors": "flat_right", "selection": "all"}, "goes with selection='convex_hull', got 'all'"),
        ({"anchors": "flat_right", "selection": "stochastic"}, "goes with .*'convex_hull', got 'stochastic'"),
    ],
)
def test_bad_ends(change, message):
    with pytest.raises(ValueError, match=message):
        fit_transfer(US, DS, **change)


def test_a_start_that_leaves_too_little():
    with pytest.raises(FitError, match="the selection has 2 models, the law three parameters: too few"):
        fit_transfer(US, DS, window=(0.25, 1.0), num_draws=20)
