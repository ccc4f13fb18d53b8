import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling import convex_hull
from scaling.transfer import mix_classifiers

ACCURACY = st.integers(0, 20).map(lambda k: k / 20)  # ties and vertical sides
POINTS = st.lists(st.tuples(ACCURACY, ACCURACY), min_size=1, max_size=15)
ROUNDING = 1e-12  # sums of fifteen products of fractions


@given(POINTS, st.floats(0, 1))
def test_weights_attain_the_upper_hull_and_no_mixture_does_better(points, share):
    us, ds = np.array(points).T
    at = float(np.clip(us.min() + share * np.ptp(us), us.min(), us.max()))
    mix = mix_classifiers(points, at)
    assert mix.weights.sum() == pytest.approx(1, abs=ROUNDING)
    assert np.all(mix.weights > 0)
    assert 1 <= mix.models.size <= 2
    assert mix.weights @ us[mix.models] == pytest.approx(at, abs=ROUNDING)
    assert mix.weights @ ds[mix.models] == pytest.approx(mix.downstream_accuracy, abs=ROUNDING)
    hull = convex_hull(us, ds)
    assert mix.downstream_accuracy == pytest.approx(np.interp(at, us[hull], ds[hull]), abs=ROUNDING)
    # Any two classifiers on both sides of it mix to no more.
    for i, j in np.argwhere((us[:, None] < at) & (us[None, :] > at)):
        p = (us[j] - at) / (us[j] - us[i])
        assert p * ds[i] + (1 - p) * ds[j] <= mix.downstream_accuracy + ROUNDING


@given(POINTS, st.floats(0, 1), st.floats(0, 1))
def test_any_point_inside_the_hull_is_attained(points, share, height):
    us, ds = np.array(points).T
    at = float(np.clip(us.min() + share * np.ptp(us), us.min(), us.max()))
    top = mix_classifiers(points, at).downstream_accuracy
    low = convex_hull(us, ds, side="lower")
    bottom = np.interp(at, us[low], ds[low])
    target = float(np.clip(bottom + height * (top - bottom), 0, 1))
    mix = mix_classifiers(points, at, target)
    assert mix.models.size <= 4
    assert mix.weights @ np.array(points)[mix.models] == pytest.approx([at, target], abs=1e-9)  # of shares near 0 or 1


def test_lemma_2_1_in_simulation():
    """Abnar et al. 2021, Appendix B: the classifier that answers is drawn anew for each input, of both tasks."""
    rng = np.random.default_rng(0)
    points = np.array([(0.1, 0.3), (0.3, 0.2), (0.35, 0.7), (0.6, 0.8)])
    num_inputs = 200_000
    for mix in (mix_classifiers(points, 0.2), mix_classifiers(points, 0.5), mix_classifiers(points, 0.4, 0.6)):
        for task, expected in enumerate((mix.upstream_accuracy, mix.downstream_accuracy)):
            is_right = rng.random((len(points), num_inputs)) < points[:, task, None]  # answers of every classifier
            found = is_right[mix.draw(num_inputs, rng), np.arange(num_inputs)].mean()
            standard_error = np.sqrt(expected * (1 - expected) / num_inputs)
            assert abs(found - expected) < 4 * standard_error  # six of them: chance of a miss 4e-4


def test_a_vertex_answers_alone():
    mix = mix_classifiers([(0.2, 0.5), (0.4, 0.7), (0.6, 0.75)], 0.4)
    assert mix.models.tolist() == [1]
    assert mix.weights.tolist() == [1.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([(0.2, 0.5), (0.6, 0.7)], 0.1), r"must lie between the classifiers', \[0.2, 0.6\], got 0.1"),
        (([(0.2, 0.5), (0.6, 0.7)], 0.7), r"must lie between the classifiers', \[0.2, 0.6\], got 0.7"),
        (([(0.2, 0.5), (0.6, 0.7)], 40), "is this percent"),
        (([(0.2, 50), (0.6, 0.7)], 0.4), r"points\[:, 1\] must lie in \[0, 1\]; row 0 is 50 \(is this percent"),
        (([(0.2, 0.5), (0.6, 0.7)], [0.3, 0.4]), "upstream_accuracy must be one number"),
        (([0.2, 0.6], 0.4), r"shape \(n, 2\), got \(2,\)"),
        ((np.empty((0, 2)), 0.4), r"shape \(n, 2\), got \(0, 2\)"),
        (([(0.2, 0.5), (0.6, 0.7)], 0.4, 0.7), r"between the hulls at that upstream accuracy, \[0.6, 0.6\], got 0.7"),
        (([(0.2, 0.5), (0.6, np.nan)], 0.4), "row 1 is nan"),
    ],
)
def test_what_cannot_be_attained(arguments, message):
    with pytest.raises(ValueError, match=message):
        mix_classifiers(*arguments)


def test_rounding_is_no_reason_to_refuse():
    assert mix_classifiers([(0.1, 0.5), (0.3, 0.5)], 0.1 + 0.2).weights.tolist() == [1.0]


def test_summary_names_the_models():
    text = repr(mix_classifiers([(0.2, 0.5), (0.3, 0.4), (0.6, 0.7)], upstream_accuracy=0.3))
    assert "0.75 of model 0" in text
    assert "(0.3, 0.55)" in text
