import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling import FitWarning, convex_hull
from scaling.transfer import hull_distance, mix_classifiers, overlay_hull

POINTS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=20)


@given(POINTS)
def test_a_distance_is_what_a_randomised_classifier_gains(points):
    points = np.array(points) / 20
    distance = hull_distance(*points.T)
    for point, below in zip(points, distance, strict=True):
        # 1e-12: rounding of interpolation between fractions.
        assert mix_classifiers(points, point[0]).downstream_accuracy - point[1] == pytest.approx(below, abs=1e-12)
    assert np.all(distance >= 0)
    assert np.all(distance[convex_hull(*points.T)] == 0)


@given(POINTS)
def test_a_flat_right_end_lies_above_the_hull(points):
    us, ds = np.array(points).T / 20
    flat = hull_distance(us, ds, anchors="flat_right")
    assert np.all(flat >= hull_distance(us, ds))
    right = us >= us[np.argmax(ds)]
    assert flat[right] == pytest.approx(ds.max() - ds[right], abs=1e-12)


def test_chance_holds_the_left_end_up():
    us, ds = [0.1, 0.12, 0.5], [0.05, 0.3, 0.7]
    assert hull_distance(us, ds)[0] == 0
    assert hull_distance(us, ds, anchors="chance", chance=(0.0, 0.1))[0] == pytest.approx(0.1 + 0.2 / 1.2 - 0.05)


def runs(seed=0, n=200):
    """Tasks whose excess shrinks as upstream accuracy grows, each with its own."""
    rng = np.random.default_rng(seed)
    us = rng.uniform(0.05, 0.6, n)
    errors = {
        name: np.minimum(0.1 + 0.8 * (1 - us) ** alpha + (0.6 - us) * rng.exponential(0.2, n), 0.99)
        for name, alpha in (("a", 2.0), ("b", 3.0), ("c", 4.0))
    }
    return pd.DataFrame({"upstream_error": 1 - us, **errors})


def test_models_of_one_hull_on_others():
    records = runs()
    found = overlay_hull(records, ["b", "c"], of="a")
    assert found.trend["task"].tolist() == ["b", "c"]
    assert (found.table["gap"] >= 0).all()
    models = found.table.query("task == 'b'")["model"].to_numpy()
    assert np.all(hull_distance(1 - records["upstream_error"], 1 - records["a"])[models] == 0)
    assert np.allclose(found.table["hull_accuracy"] - found.table["downstream_accuracy"], found.table["gap"])
    assert "models on the hull of a" in repr(found)


def test_the_gap_shrinks_where_the_tasks_do():
    """Abnar et al. 2021, Figures 7 and 30."""
    trend = overlay_hull(runs(n=2000), ["b", "c"], of="a").trend
    assert np.all(trend["upper_half_gap"] < trend["lower_half_gap"])
    assert np.all(trend["spearman"] < 0)


def test_a_task_whose_order_is_the_same_has_no_gap():
    """An increasing concave map of accuracies keeps a hull's models on the hull where they are all there are."""
    us = np.linspace(0.1, 0.6, 12)
    records = pd.DataFrame({"upstream_error": 1 - us, "a": 0.9 * (1 - us) ** 2, "b": 0.9 * (1 - us) ** 3})
    found = overlay_hull(records, ["a", "b"], of="a")
    assert found.table["gap"].max() == 0
    assert np.isnan(found.trend["spearman"][0])  # all gaps are equal


def test_rows_from_inside_runs_are_left_out_of_the_overlay():
    finished = runs().assign(cooled_down=True)
    inside = finished.iloc[:3].assign(cooled_down=False, a=0.01, b=0.01)
    with pytest.warns(FitWarning, match=r"3 of \d+ rows are from inside a run"):
        found = overlay_hull(pd.concat([finished, inside]), ["b"], of="a")
    pd.testing.assert_frame_equal(found.table, overlay_hull(finished, ["b"], of="a").table)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tasks": ["a"]}, "one or more of them not 'a'"),
        ({"tasks": "b"}, "tasks must be a list of one or more names"),
        ({"tasks": ["pets"]}, "column 'pets' is missing"),
        ({"of": "pets"}, "column 'pets' is missing"),
        ({"upstream": "error"}, "column 'error' is missing"),
        ({"anchors": "left"}, "anchors must be 'none', or one or both of"),
    ],
)
def test_bad_records(change, message):
    with pytest.raises(ValueError, match=message):
        overlay_hull(runs(), **{"tasks": ["b"], "of": "a"} | change)


def test_bad_accuracies():
    with pytest.raises(ValueError, match="is this percent"):
        hull_distance([0.1, 0.2], [10, 20])
    with pytest.raises(ValueError, match="equally long"):
        hull_distance([0.1, 0.2], [0.1])
