import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling import FitError, FitWarning
from scaling.frontier import SOVIT_EXPONENTS, fit_shapes
from scaling.frontier.shape_law import SHAPE_LAW, log_optimum

# The star sweep of Alabdulmohsin et al. 2023: center, and each dimension's grid.
CENTER = {"width": 1968, "depth": 40, "mlp_dim": 6144}
GRIDS = {
    "width": [608, 768, 928, 1088, 1328, 1648],
    "depth": [8, 10, 12, 16, 20, 24],
    "mlp_dim": [1088, 1360, 1728, 2160, 2592, 3072],
}
MIDDLES = {"width": 1000.0, "depth": 14.0, "mlp_dim": 1900.0}  # the optimum at the middle compute
COMPUTE = np.geomspace(2e10, 5e11, 8)
pytestmark = pytest.mark.filterwarnings("ignore:.*spans .* decades:scaling.FitWarning")  # of dimensions


def law_of(name, middle=None):
    """Parameters of a law whose optimum is the middle at 1e11 and grows as compute to the published exponent."""
    a, b = 0.6, 0.9
    middle = MIDDLES[name] if middle is None else middle
    c = SOVIT_EXPONENTS[name] * (a + b)
    alpha = 0.05 * middle**a
    beta = a * alpha * 1e11**c / (b * middle ** (a + b))
    return {"eps": 0.1, "alpha": alpha, "beta": beta, "xi": 0.05 * 1e11**c, "a": a, "b": b, "c": c}


def sweep(name, noise=0.0, seed=0, middle=None):
    law, (x, t) = law_of(name, middle), np.meshgrid(GRIDS[name], COMPUTE)
    theta = np.array([[law[letter] for letter in SHAPE_LAW.params]])
    error = SHAPE_LAW.value(theta, np.stack([x.ravel(), t.ravel()], axis=1).astype(float))[0]
    error = error * np.exp(noise * np.random.default_rng(seed).standard_normal(error.size))
    return pd.DataFrame({**CENTER, name: x.ravel(), "compute_flops": t.ravel(), "upstream_error": error})


def star(noise=0.0, seed=0):
    return pd.concat([sweep(name, noise, seed + k) for k, name in enumerate(GRIDS)], ignore_index=True)


def test_the_exponents_of_an_exact_star_sweep_are_found():
    shapes = fit_shapes(star(), num_draws=50)
    table = shapes.exponents.set_index("dimension")
    assert table["s"].to_dict() == pytest.approx(SOVIT_EXPONENTS, abs=1e-4)
    assert table["num_runs"].tolist() == [48, 48, 48]
    assert shapes.center == CENTER
    for name, middle in MIDDLES.items():
        assert shapes.optimum(name, [1e11])[0] == pytest.approx(middle, rel=1e-3)


def test_with_noise_the_intervals_contain_the_exponents_and_the_optima():
    shapes = fit_shapes(star(0.003, seed=1), num_draws=300)
    for row in shapes.exponents.to_dict("records"):
        assert row["s_low"] < SOVIT_EXPONENTS[row["dimension"]] < row["s_high"]
        assert row["s_high"] - row["s_low"] < 0.2
        at = shapes.optimum(row["dimension"], 1e11, level=0.95)
        assert at.low < MIDDLES[row["dimension"]] < at.high
        assert at.median == shapes.optimum(row["dimension"], 1e11)


@pytest.mark.parametrize(("middle", "words"), [(60.0, "goes from 29"), (3.0, "goes from 1")])
def test_an_optimum_outside_the_sweep_is_refused(middle, words):
    runs = pd.concat([sweep("depth", middle=middle), sweep("width")])
    shapes = fit_shapes(runs, dimensions=["width", "depth"], num_draws=50)
    assert list(shapes.draws) == ["width"]
    table = shapes.exponents.set_index("dimension")
    assert words in table.loc["depth", "reason"]
    assert "must lie strictly inside the sweep, 8 to 24" in table.loc["depth", "reason"]
    assert np.isnan(table.loc["depth", "s"])
    assert "depth: none (the optimum" in repr(shapes)
    with pytest.raises(FitError, match="no optimum of 'depth': the optimum of depth goes from"):
        shapes.optimum("depth", 1e11)
    with pytest.raises(FitError, match="no dimension has an optimum: depth: "):
        fit_shapes(sweep("depth", middle=middle), dimensions=["depth"], num_draws=50)


def test_the_share_of_compute_with_the_optimum_inside_is_told():
    table = fit_shapes(sweep("depth", middle=26.0), dimensions=["depth"], num_draws=50).exponents
    inside = (26.0 * (COMPUTE / 1e11) ** 0.45 < 24) & (26.0 * (COMPUTE / 1e11) ** 0.45 > 8)
    assert table["share_inside"][0] == inside.mean()
    assert 0 < inside.mean() < 1


def test_units_of_compute_and_of_the_dimension_change_no_exponent():
    runs = sweep("depth", noise=0.003)
    scaled = runs.assign(depth=runs["depth"] * 64, compute_flops=runs["compute_flops"] / 8.64e16)
    base, other = (fit_shapes(frame, dimensions=["depth"], num_draws=50) for frame in (runs, scaled))
    columns = ["s", "s_low", "s_high"]
    assert other.exponents.loc[0, columns].tolist() == pytest.approx(base.exponents.loc[0, columns].tolist(), rel=1e-4)
    assert other.optimum("depth", 1e11 / 8.64e16) == pytest.approx(64 * base.optimum("depth", 1e11), rel=1e-4)


@settings(max_examples=50, deadline=None)
@given(st.floats(0.1, 2), st.floats(0.1, 2), st.floats(0.05, 1.5), st.floats(-3, 3), st.floats(-3, 3), st.floats(1, 30))
def test_the_optimum_has_the_least_error(a, b, c, log_alpha, log_beta, log_t):
    law = {"eps": 0.1, "alpha": np.exp(log_alpha), "beta": np.exp(log_beta), "xi": 0.3, "a": a, "b": b, "c": c}
    best = np.exp(log_optimum(law, np.asarray(log_t)))
    theta = np.array([[law[name] for name in SHAPE_LAW.params]])
    near = np.stack([best * np.array([0.9, 1.0, 1.1]), np.full(3, np.exp(log_t))], axis=1)
    left, middle, right = SHAPE_LAW.value(theta, near)[0]
    assert middle <= min(left, right)


def test_the_slopes_of_the_law_are_those_of_its_values():
    law = law_of("depth")
    theta = np.array([law[name] for name in SHAPE_LAW.params])
    x = np.stack(np.meshgrid([8.0, 24.0], [2e10, 5e11]), axis=-1).reshape(-1, 2)
    for k, value in enumerate(theta):
        step = np.zeros(7)
        step[k] = 1e-6 * value
        slope = (SHAPE_LAW.value((theta + step)[None], x) - SHAPE_LAW.value((theta - step)[None], x))[0] / (2 * step[k])
        assert SHAPE_LAW.jacobian(theta[None], x)[0, :, k] == pytest.approx(slope, rel=1e-6)  # central differences


def test_a_fit_of_a_shape_can_be_copied():
    import pickle

    fit = fit_shapes(sweep("depth"), dimensions=["depth"], num_draws=20).draws["depth"].fit
    assert pickle.loads(pickle.dumps(fit)).params == fit.params


def test_few_values_of_a_dimension_have_their_reason():
    runs = sweep("depth")
    with pytest.raises(FitError, match="2 values of depth where the other dimensions are the center's, at least 3"):
        fit_shapes(runs[runs["depth"] < 11], dimensions=["depth"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimensions": ["heads"]}, "column 'heads' is missing"),
        ({"dimensions": []}, r"dimensions must be a list of one or more names, got \[\]"),
        ({"dimensions": "depth"}, "dimensions must be a list of one or more names, got 'depth'"),
        ({"center": {"depth": 40}}, "center must have a value for each of"),
        ({"y": "compute_flops", "compute": "width"}, "no dimension has an optimum"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(ValueError, match=message):
        fit_shapes(star(), num_draws=10, **change)


def test_runs_of_two_families_are_refused_and_of_one_are_taken():
    runs = star(0.003, seed=1).assign(model_family="vit")
    mixed = runs.assign(model_family=["resnet", *runs["model_family"][1:]], mlp_dim=[np.nan, *runs["width"][1:]])
    with pytest.raises(ValueError, match=r"of one model family, got resnet, vit: choose one, runs\[.* == 'vit'\]"):
        fit_shapes(mixed, num_draws=10)
    assert fit_shapes(runs, num_draws=50).draws


def test_no_runs():
    with pytest.raises(ValueError, match="runs must have a row or more, got none"):
        fit_shapes(star().iloc[:0])


@pytest.mark.filterwarnings("default:.*spans .* decades:scaling.FitWarning")
def test_a_narrow_range_of_compute_is_said_and_that_of_a_dimension_is_not():
    runs = sweep("depth")
    with pytest.warns(FitWarning, match=r"depth: t spans 0.80 decades") as said:
        fit_shapes(runs[runs["compute_flops"] < 1.3e11], dimensions=["depth"], num_draws=20)
    assert len(said) == 1


def test_draws_without_an_optimum_are_left_out_and_counted():
    """As those of a sweep so narrow that some draws have a = b = 0: no exponent, and no nan among the quantiles."""
    from dataclasses import replace

    from scaling.frontier.shapes import _has_optimum

    draws = fit_shapes(sweep("depth", noise=0.003), dimensions=["depth"], num_draws=50).draws["depth"]
    theta = draws.theta.copy()
    theta[:10, SHAPE_LAW.index("a")] = theta[:10, SHAPE_LAW.index("b")] = 0.0
    with_none = replace(draws, theta=theta)
    kept = with_none.keep(_has_optimum(with_none.params))
    assert (len(kept.theta), kept.num_failed) == (len(theta) - 10, draws.num_failed + 10)
    assert [warning.kind for warning in kept.warnings] == ["failed_draws"]
    with pytest.raises(FitError, match="no bootstrap draw has what is asked of the law"):
        kept.keep(np.zeros(len(kept.theta), dtype=bool))
