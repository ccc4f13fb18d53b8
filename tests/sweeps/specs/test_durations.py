import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.specs.durations import UNITS, parse_duration

SIZES = {"batch_size": 64, "train_examples": 1000, "total_steps": 400}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("zero", ["0", "0.0", "0e5"])
def test_zero_is_no_step_in_any_unit(unit, zero):
    assert parse_duration(f"{zero} {unit}").in_steps(**SIZES) == 0


@pytest.mark.parametrize(
    ("text", "steps"),
    [("1 example", 1), ("0.01%", 1), ("1e-9 epochs", 1), ("95 examples", 1), ("97 examples", 2), ("0.5 epochs", 8)],
)
def test_only_zero_is_no_step(text, steps):
    """Rounded to the nearest, at least one: big_vision's `steps`."""
    assert parse_duration(text).in_steps(**SIZES) == steps


@settings(deadline=None)
@given(st.floats(0, 1e12), st.sampled_from(UNITS))
def test_within_half_a_step_of_the_duration(value, unit):
    exact = value * {"steps": 1, "epochs": 1000 / 64, "examples": 1 / 64, "%": 4}[unit]
    steps = parse_duration(f"{value!r} {unit}").in_steps(**SIZES)
    assert abs(steps - exact) <= 0.5 + 1e-15 * (exact + 1) or (steps == 1 and value > 0 and exact < 1)  # float64


@pytest.mark.parametrize("text", ["1e300 epochs", "1e308 epochs", "1e308%", "1e17 steps"])
def test_more_than_can_be_counted_is_refused_in_one_line(text):
    with pytest.raises(ValueError, match=r"must be at most .* steps, got 1e\+"):
        parse_duration(text).in_steps(**SIZES)


@pytest.mark.parametrize("text", ["1e400 steps", "-1 steps", "nan", "inf", "", "20 %%", "1 2", "3 images", True, None])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="must be a number with a unit"):
        parse_duration(text)


def test_a_percentage_of_nothing_is_refused():
    with pytest.raises(ValueError, match="20% has nothing to be a percentage of"):
        parse_duration("20%").in_steps(batch_size=64, train_examples=1000)


def test_units_agree():
    sizes = {"batch_size": 50, "train_examples": 1000, "total_steps": 200}
    same = ["40 steps", "2 epochs", "2000 examples", "20%", 40, "4e1", " 40  STEPS "]
    assert {parse_duration(text).in_steps(**sizes) for text in same} == {40}
    assert math.prod(parse_duration(t).in_steps(**sizes) for t in ("1 step", "1 epoch", "1 example")) == 20
