import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling import FitError
from scaling.frontier import SOVIT_EXPONENTS, best_shapes, find_anchor, next_shape

ANCHOR = {"width": 608, "depth": 10, "mlp_dim": 928}  # Alabdulmohsin et al. 2023 (arXiv 2305.13035), section 4
SOVIT_400M = {"width": 1152, "depth": 27, "mlp_dim": 4304}


@pytest.mark.parametrize(("name", "growth"), [("width", 2.9), ("depth", 2.2), ("mlp_dim", 2.56)])
def test_sovit_400m_grows_from_its_anchor(name, growth):
    """Each dimension has a ln(tau) / 3 of its own, 2.9, 2.2 and 2.6: alike up to rounding of the exponents."""
    assert next_shape(ANCHOR, SOVIT_EXPONENTS, tau=np.exp(3 * growth))[name] == SOVIT_400M[name]


def body_params(shape):
    return shape["depth"] * (4 * shape["width"] ** 2 + 2 * shape["width"] * shape["mlp_dim"])


def test_a_target_of_parameters_leads_near_sovit_400m():
    target = body_params(SOVIT_400M)
    shape = next_shape(ANCHOR, SOVIT_EXPONENTS, cost=body_params, target=target, num_heads=16)
    # The three growths, 2.2 to 2.9, lie within .4 of the common one: exp(.22 * .4), exp(.45 * .4), exp(.6 * .4).
    for name, room in (("width", 1.1), ("depth", 1.2), ("mlp_dim", 1.27)):
        assert SOVIT_400M[name] / room <= shape[name] <= SOVIT_400M[name] * room
    assert body_params(shape) == pytest.approx(target, rel=0.05)  # rounding of depth, half of one in 27, and of width


def test_the_exponent_enters():
    """tau^(1/D) alone would grow every dimension by one factor."""
    shape = next_shape(ANCHOR, SOVIT_EXPONENTS, tau=1e3, multiples={})
    growth = {name: np.log(shape[name] / ANCHOR[name]) for name in ANCHOR}
    for name, s in SOVIT_EXPONENTS.items():
        assert growth[name] == pytest.approx(s * np.log(1e3) / 3, abs=0.02)  # depth rounds to one in 28


@settings(max_examples=50, deadline=None)
@given(st.floats(1e-2, 1e4), st.integers(1, 24))
def test_shapes_are_multiples_and_grow_with_tau(tau, num_heads):
    shape = next_shape(ANCHOR, SOVIT_EXPONENTS, tau=tau, num_heads=num_heads)
    assert shape["width"] % 16 == shape["width"] % num_heads == shape["mlp_dim"] % 16 == 0
    assert min(shape.values()) > 0
    larger = next_shape(ANCHOR, SOVIT_EXPONENTS, tau=2 * tau, num_heads=num_heads)
    assert all(larger[name] >= shape[name] for name in shape)
    assert all(isinstance(value, int) for value in shape.values())


def test_tau_one_is_the_anchor():
    assert next_shape(ANCHOR, SOVIT_EXPONENTS, tau=1) == ANCHOR


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"anchor": {"width": 608}}, "anchor and exponents must be of the same dimensions"),
        ({"anchor": {**ANCHOR, "depth": 0}}, "anchor must be positive and finite"),
        ({"exponents": {**SOVIT_EXPONENTS, "depth": np.nan}}, "exponents must be finite"),
        ({"tau": -1}, "tau must be positive and finite, got -1"),
        ({"tau": "a"}, "tau must be positive and finite, got 'a'"),
        ({"tau": 2, "num_heads": 0}, "multiples and num_heads must be whole and positive, got num_heads 0"),
        (
            {"tau": 2, "multiples": {"width": 1.5}},
            r"multiples and num_heads must be whole and positive, got width 1\.5",
        ),
        ({"tau": 2, "multiples": {"witdh": 16}}, "multiples must be of dimensions of the anchor, .*got 'witdh'"),
        ({}, "give tau=, or cost= and target="),
        ({"tau": 2, "cost": body_params, "target": 1e8}, "give tau=, or cost= and target="),
        ({"cost": body_params}, "give tau=, or cost= and target="),
        ({"cost": lambda shape: 5.0, "target": 6.0}, "target must lie between the costs 5 and 5"),
    ],
)
def test_bad_input(change, message):
    options = {"anchor": ANCHOR, "exponents": SOVIT_EXPONENTS, **change}
    anchor, exponents = options.pop("anchor"), options.pop("exponents")
    with pytest.raises(ValueError, match=message):
        next_shape(anchor, exponents, **options)


WIDTHS, DEPTHS = [416, 512, 608, 768], [6, 8, 10, 12]
COMPUTE = np.geomspace(1e9, 1e11, 9)


def grid(shift=0.0):
    """A grid of 16 shapes whose best width and depth grow with compute from one corner's neighbour to the other's."""
    width, depth, t = (a.ravel() for a in np.meshgrid(WIDTHS, DEPTHS, COMPUTE))
    progress = np.log10(t / 1e9) / 2 + shift
    far = (np.log(width / 512) / np.log(608 / 512) - progress) ** 2 + (np.log(depth / 8) / np.log(1.25) - progress) ** 2
    error = 0.3 * (t / 1e9) ** -0.1 + 0.01 * far
    return pd.DataFrame({"width": width, "depth": depth, "compute_flops": t, "upstream_error": error})


def test_the_anchor_is_inside_the_grid_and_of_least_compute():
    assert find_anchor(grid(), dimensions=["width", "depth"]) == {"width": 512.0, "depth": 8.0}
    table = best_shapes(grid(), dimensions=["width", "depth"])
    assert table["compute_low"].is_monotonic_increasing
    assert table[["width", "depth"]].to_numpy().tolist()[-1] == [608, 10]
    assert table["decades"].sum() == pytest.approx(2, abs=0.01)  # each compute has one best shape


def test_a_shape_at_an_end_of_the_grid_is_no_anchor():
    with pytest.raises(FitError, match=r"no shape of the grid is an anchor: .*at an end of the grid: width, depth"):
        find_anchor(grid(shift=-3.0), dimensions=["width", "depth"])


def test_a_shape_that_is_the_best_nearly_nowhere_is_no_anchor():
    with pytest.raises(FitError, match=r"the best over .* decades, less than 5"):
        find_anchor(grid(), dimensions=["width", "depth"], min_decades=5)


def test_bad_grids():
    with pytest.raises(ValueError, match="column 'mlp_dim' is missing"):
        find_anchor(grid())
    with pytest.raises(ValueError, match="runs must have a row or more, got none"):
        find_anchor(grid().iloc[:0], dimensions=["width", "depth"])
    with pytest.raises(ValueError, match="min_decades must be a finite number of at least 0"):
        find_anchor(grid(), dimensions=["width", "depth"], min_decades=-1)
    with pytest.raises(ValueError, match=r"dimensions must be a list of one or more names, got \[\]"):
        best_shapes(grid(), dimensions=[])
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\].*percent"):
        best_shapes(grid().assign(upstream_error=30.0), dimensions=["width", "depth"])


def test_seeds_at_one_compute_are_averaged_in_any_order_of_rows():
    rng = np.random.default_rng(0)
    seeds = pd.concat([grid(), grid()], ignore_index=True)
    seeds["upstream_error"] += np.concatenate([noise := 0.004 * rng.standard_normal(len(grid())), -noise])
    shuffled = seeds.sample(frac=1, random_state=1)
    whole, one, other = (best_shapes(runs, dimensions=["width", "depth"]) for runs in (grid(), seeds, shuffled))
    pd.testing.assert_frame_equal(one, other)
    pd.testing.assert_frame_equal(one, whole)
