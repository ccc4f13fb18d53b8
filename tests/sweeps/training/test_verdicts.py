import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps.training.verdicts import best_index, has_stalled, is_memorised

errors = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def test_best_is_the_first_of_the_least():
    assert best_index([0.5, 0.3, 0.4, 0.3]) == 1


@given(errors, st.integers(1, 5))
def test_a_run_stalls_when_its_last_evaluations_are_no_better_than_one_before(values, patience):
    expected = len(values) > patience and min(values[-patience:]) >= min(values[:-patience])
    assert has_stalled(values, patience) == expected


def test_nothing_held_out_never_stalls():
    assert not has_stalled([], 1)


@pytest.mark.parametrize(
    ("train", "val", "expected"),
    [
        (0.0, [0.6, 0.5, 0.5, 0.5], True),
        (0.0, [0.6, 0.5, 0.6, 0.7], True),  # rising
        (0.0, [0.6, 0.5, 0.4, 0.3], False),  # still learns what holds elsewhere
        (0.1, [0.6, 0.5, 0.5, 0.5], False),  # does not know its images
        (0.0, [0.5], None),
    ],
)
def test_memorised_is_a_training_error_near_zero_and_a_flat_held_out_error(train, val, expected):
    assert is_memorised(train, val, num_val=1000) is expected


def test_flat_is_within_the_luck_of_the_held_out_images():
    """Ten images tell no fall from .5 to .4; ten thousand do."""
    assert is_memorised(0.0, [0.5, 0.4], num_val=10)
    assert not is_memorised(0.0, [0.5, 0.4], num_val=10_000)
    assert is_memorised(0.0, [0.5, 0.4], num_val=0) is None
