import pickle

import numpy as np
import pytest

from scaling import FitError, FitWarning, bootstrap_fit, fit_law, profile_interval

C = np.geomspace(1e18, 1e21, 10)


def two_families(noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    first, second = 0.5 * (C / 1e18) ** -0.25 + 0.1, 0.8 * (C / 1e18) ** -0.4 + 0.1
    y = np.concatenate([first, second]) * np.exp(noise * rng.standard_normal(20))
    return np.tile(C, 2), y, ["vit"] * 10 + ["resnet"] * 10


def test_exact_laws_with_one_irreducible_error():
    x, y, groups = two_families()
    both = fit_law("saturating_power", x, y, groups=groups, shared=["c"])
    assert both.params["c"] == pytest.approx(0.1, rel=1e-9)
    assert both.params["vit"]["b"] == pytest.approx(0.25, rel=1e-9)
    assert both.params["resnet"]["b"] == pytest.approx(0.4, rel=1e-9)
    assert both.predict([1e22], "vit") == pytest.approx(0.5 * 1e4**-0.25 + 0.1, rel=1e-9)
    assert both.solve_for_x(0.2, "resnet") == pytest.approx(1e18 * 8 ** (1 / 0.4), rel=1e-9)


def test_nothing_shared_is_each_group_alone():
    x, y, groups = two_families(noise=0.01)
    both = fit_law("saturating_power", x, y, groups=groups)
    for label, rows in (("vit", slice(10)), ("resnet", slice(10, 20))):
        alone = fit_law("saturating_power", x[rows], y[rows])
        assert both.params[label] == pytest.approx(alone.params, rel=1e-7)


def test_sharing_narrows_the_interval_and_is_the_least_objective():
    x, y, groups = two_families(noise=0.01)
    both = fit_law("saturating_power", x, y, groups=groups, shared=["c"])
    alone = fit_law("saturating_power", x[:10], y[:10])
    assert np.ptp(both.interval("c")) < np.ptp(alone.interval("c"))

    def given(c):
        parts = [
            fit_law("saturating_power", x[r], y[r], fixed={"c": c}).objective_value for r in (slice(10), slice(10, 20))
        ]
        return sum(parts)

    c = both.params["c"]
    assert both.joint.objective_value == pytest.approx(given(c), rel=1e-8)
    assert both.joint.objective_value < min(given(c - 0.001), given(c + 0.001))


@pytest.mark.parametrize("shared", [["a"], ["b"], ["a", "b", "c"]])
def test_any_parameter_can_be_shared(shared):
    x, y, groups = two_families()
    y = np.tile(y[:10], 2)
    both = fit_law("saturating_power", x, y, groups=groups, shared=shared)
    at = {name: both.params[name] for name in shared} | both.params["vit"]
    assert {n: at[n] for n in "bc"} == pytest.approx({"b": 0.25, "c": 0.1}, rel=1e-7)


def test_units_of_x_change_amplitudes_only():
    x, y, groups = two_families(noise=0.01)
    one = fit_law("saturating_power", x, y, groups=groups, shared=["c"])
    other = fit_law("saturating_power", x * 1e-15, y, groups=groups, shared=["c"])
    assert other.params["c"] == pytest.approx(one.params["c"], rel=1e-9)
    assert other.params["vit"]["b"] == pytest.approx(one.params["vit"]["b"], rel=1e-9)


def test_a_group_too_small_alone_is_held_by_the_others():
    x, y, groups = two_families()
    keep = [*range(10), 10, 19]
    both = fit_law("saturating_power", x[keep], y[keep], groups=[groups[k] for k in keep], shared=["c"])
    assert both.params["resnet"]["b"] == pytest.approx(0.4, rel=1e-6)


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")  # b sits at its bounds
def test_bounds_and_fixed_hold_in_each_group():
    x, y, groups = two_families(noise=0.01)
    both = fit_law("saturating_power", x, y, groups=groups, shared=["c"], bounds={"b": (0.3, 0.35)}, fixed={"c": 0.09})
    assert both.params["c"] == pytest.approx(0.09)
    assert [both.params[g]["b"] for g in ("vit", "resnet")] == pytest.approx([0.3, 0.35])


def test_the_joint_fit_has_profile_and_bootstrap_intervals():
    x, y, groups = two_families(noise=0.01)
    both = fit_law("saturating_power", x, y, groups=groups, shared=["c"])
    delta, width = both.interval("c"), np.ptp(both.interval("c"))
    assert profile_interval(both.joint, "c") == pytest.approx(delta, abs=0.1 * width)
    assert bootstrap_fit(both.joint, num_draws=1000).interval("c") == pytest.approx(delta, abs=0.3 * width)
    assert profile_interval(both.joint, "b[2]") == pytest.approx(both.interval("b", "resnet"), rel=0.05)


def test_intervals_bands_and_copies():
    x, y, groups = two_families(noise=0.01)
    both = pickle.loads(pickle.dumps(fit_law("saturating_power", x, y, groups=groups, shared=["c"])))
    band = both.predict([1e20, 1e21], "vit", level=0.95)
    assert np.all((band.low < band.median) & (band.median < band.high))
    assert both.interval("b", "vit")[0] < 0.25 < both.interval("b", "vit")[1]
    assert "[1] vit, [2] resnet; shared: c" in both.summary()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": None}, r"shared=\['c'\] needs groups="),
        ({"groups": ["a"] * 20}, "groups must have two labels or more"),
        ({"groups": ["a"] * 19}, r"groups must have one label a point, shape \(20,\)"),
        ({"groups": ["a"] * 19 + [None]}, "groups must not be null; row 19"),
        ({"shared": ["z"]}, "got 'z'"),
        ({"fixed": {"z": 1}}, "got 'z'"),
    ],
)
def test_bad_arguments(change, message):
    x, y, groups = two_families()
    with pytest.raises(ValueError, match=message):
        fit_law("saturating_power", x, y, **{"groups": groups, "shared": ["c"], **change})


def test_bad_questions():
    x, y, groups = two_families(noise=0.01)
    both = fit_law("saturating_power", x, y, groups=groups, shared=["c"])
    with pytest.raises(ValueError, match="group must be one of"):
        both.predict([1e20], "mixer")
    with pytest.raises(ValueError, match="group must be one of"):
        both.interval("b")
    with pytest.raises(ValueError, match="needs the group"):
        both.joint.solve_for_x(0.2)


def test_groups_that_determine_nothing_have_their_reason():
    with pytest.raises(FitError, match="5 parameters, got 4 points"):
        fit_law("saturating_power", [1, 10, 1, 10], [0.5, 0.4, 0.6, 0.3], groups=[1, 1, 2, 2], shared=["c"])


def test_beyond_a_groups_own_points_is_warned_of():
    x, y, groups = two_families()
    x = np.concatenate([x[:10], x[10:] * 1e4])
    both = fit_law("power", x, y, groups=groups, shared=["b"])
    both.predict([1e25], "resnet")
    with pytest.warns(FitWarning, match=r"x lies 4\.00 decades beyond"):
        both.predict([1e25], "vit", level=0.9, kind="prediction")


def test_names_and_laws_that_groups_cannot_have():
    x, y, _ = two_families()
    with pytest.raises(ValueError, match="a group must not be named like a shared parameter, got 'c'"):
        fit_law("saturating_power", x, y, groups=["c"] * 10 + ["d"] * 10, shared="c")
    with pytest.raises(ValueError, match="got the line 'logit_linear'"):
        fit_law("logit_linear", y, y, groups=[1] * 10 + [2] * 10)
