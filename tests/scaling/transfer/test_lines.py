import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from scaling import FitError, FitWarning, fit_law
from scaling.transfer import AXIS_SCALINGS, accuracy_interval, compare_scalings, fit_line


def models(scaling="logit", n=40, noise=0.2, seed=0):
    """Scattered about T(y) = 1.2 T(x) - .3 (of -log(1 - p), + .3: it is positive)."""
    rng, link = np.random.default_rng(seed), AXIS_SCALINGS[scaling]
    x = rng.uniform(0.2, 0.7, n)
    intercept = 0.0 if scaling == "identity" else 0.3 if scaling == "log" else -0.3
    return x, link.backward(1.2 * link.forward(x) + intercept + noise * 0.1 * rng.standard_normal(n))


@pytest.mark.parametrize("scaling", AXIS_SCALINGS)
def test_an_exact_line_is_found_on_its_scale(scaling):
    line = fit_line(*models(scaling, noise=0), scaling=scaling)
    assert line.slope == pytest.approx(1.2, rel=1e-9)
    assert line.r2 == pytest.approx(1)
    assert line.r2_accuracy == pytest.approx(1)
    others = compare_scalings(*models(scaling, noise=0)).drop(scaling)
    assert (others.r2 < 1 - 1e-5).all()


@pytest.mark.parametrize("scaling", AXIS_SCALINGS)
def test_slope_intercept_and_intervals_are_those_of_least_squares(scaling):
    x, y = models(scaling)
    line, link = fit_line(x, y, scaling=scaling), AXIS_SCALINGS[scaling]
    known = stats.linregress(link.forward(x), link.forward(y))
    assert (line.slope, line.intercept, line.r2) == pytest.approx((known.slope, known.intercept, known.rvalue**2))
    half = stats.t.ppf(0.95, x.size - 2)
    for name, error in (("slope", known.stderr), ("intercept", known.intercept_stderr)):
        middle = getattr(line, name)
        assert line.interval(name, 0.9) == pytest.approx((middle - half * error, middle + half * error))


@pytest.mark.parametrize("scaling", ["log", "logit", "probit"])
def test_the_laws_of_the_same_name_give_the_same_line_and_band(scaling):
    x, y = models(scaling)
    line, fit = fit_line(x, y, scaling=scaling), fit_law(f"{scaling}_linear", x, y)
    assert fit.params == pytest.approx({"slope": line.slope, "intercept": line.intercept}, rel=1e-8)
    for kind in ("confidence", "prediction"):
        ours, law = (f.predict([0.3, 0.8], level=0.9, kind=kind) for f in (line, fit))
        assert ours.low == pytest.approx(law.low, rel=1e-6)
        assert ours.high == pytest.approx(law.high, rel=1e-6)


@pytest.mark.filterwarnings("ignore:the scatter is curved")
@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(0.01, 0.99), st.floats(0.01, 0.99)), min_size=4, max_size=12), st.data())
def test_error_in_place_of_accuracy_turns_a_symmetric_scale_round(pairs, data):
    x, y = np.array(pairs).T
    if min(np.ptp(x), np.ptp(y)) < 1e-3:
        return
    scaling = data.draw(st.sampled_from(["logit", "probit", "identity"]))
    accuracy, error = fit_line(x, y, scaling=scaling), fit_line(1 - x, 1 - y, scaling=scaling)
    assert error.slope == pytest.approx(accuracy.slope, rel=1e-6, abs=1e-9)
    assert error.r2 == pytest.approx(accuracy.r2, rel=1e-6, abs=1e-9)


@pytest.mark.filterwarnings("ignore:the scatter is curved")  # by what was put in
def test_accuracies_of_0_and_1_are_dropped_by_name_or_corrected():
    x, y = models()
    y[3], x[7] = 0.0, 1.0
    names = [f"model {i}" for i in range(x.size)]
    with pytest.warns(FitWarning, match="2 models left out, .*: model 3, model 7$") as caught:
        line = fit_line(x, y, names=names)
    assert caught[0].message.kind == "dropped_points"
    assert line.dropped == ("model 3", "model 7")
    assert line.slope == pytest.approx(fit_line(np.delete(x, [3, 7]), np.delete(y, [3, 7])).slope)
    assert "2 models left out" in line.summary()
    kept = fit_line(x, y, upstream_num_eval=50_000, downstream_num_eval=1000)
    assert kept.dropped == ()
    assert kept.downstream[3] == pytest.approx(0.5 / 1001)
    assert kept.upstream[7] == pytest.approx(50_000.5 / 50_001)


def test_the_identity_keeps_0_and_1_but_a_comparison_has_the_same_models_on_all_scales():
    x, y = models()
    y[3] = 0.0
    assert fit_line(x, y, scaling="identity").dropped == ()
    with pytest.warns(FitWarning, match="1 models left out"):
        table = compare_scalings(x, y)
    assert set(table.num_models) == {x.size - 1}
    assert set(table.num_dropped) == {1}


@pytest.mark.filterwarnings("ignore:the scatter is curved")  # by what was put in
def test_the_weight_of_low_accuracies_grows_on_the_logit():
    """Abnar et al. 2021, Figure 14: the logit is driven by accuracies below .15."""
    x = np.array([0.02, 0.3, 0.4, 0.5, 0.6, 0.7])
    shares = {name: fit_line(x, x**1.1, scaling=name).shares_of_low() for name in ("identity", "logit")}
    assert shares["identity"]["share"] == shares["logit"]["share"] == pytest.approx(1 / 6)
    # Of the identity by hand: 1/6 of the intercept's half, (.02 - .42)^2 / .2964 of the slope's.
    spread = np.sum((x - x.mean()) ** 2)
    assert shares["identity"]["leverage"] == pytest.approx((1 / 6 + 0.4**2 / spread) / 2)
    for kind in ("leverage", "variance"):
        assert shares["logit"][kind] > shares["identity"][kind] + 0.05


@pytest.mark.filterwarnings("ignore:the scatter is curved")  # one in a thousand
def test_intervals_of_the_slope_cover():
    """95 % of 400 lines: two standard errors are .022."""
    inside = 0
    for seed in range(400):
        low, high = fit_line(*models(seed=seed, n=12)).interval("slope")
        inside += low < 1.2 < high
    assert 0.928 <= inside / 400 <= 0.972


@pytest.mark.parametrize(("right", "num"), [(0, 20), (7, 20), (20, 20), (41_234, 50_000)])
def test_clopper_pearson(right, num):
    low, high = accuracy_interval(right / num, num, 0.9)
    known = stats.binomtest(right, num).proportion_ci(0.9, method="exact")
    assert (float(low), float(high)) == pytest.approx((known.low, known.high), abs=1e-12)


@pytest.mark.parametrize("p", [0.03, 0.4, 0.9])
def test_clopper_pearson_covers_at_least_its_level(p):
    right = np.arange(31)
    low, high = accuracy_interval(right / 30, 30)
    assert stats.binom.pmf(right, 30, p)[(low <= p) & (p <= high)].sum() >= 0.95


def test_predictions_are_accuracies():
    line = fit_line([0.2, 0.4, 0.6], [0.1, 0.45, 0.9], scaling="identity")
    assert line.predict([0.0, 1.0]).tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="an upstream_accuracy of 0 or 1 has no place on the scale 'logit'"):
        fit_line(*models()).predict([0.5, 1.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scaling": "loglog"}, "scaling must be one of .*, got 'loglog'"),
        ({"x": [50.0, 60, 70]}, r"upstream_accuracy must lie in \[0, 1\]; row 0 is 50 \(is this percent\?"),
        ({"x": [0.1, 0.2]}, "equally long"),
        ({"names": ["a"]}, "names must have one label a model"),
        ({"upstream_num_eval": 0.5}, "upstream_num_eval must be whole numbers of images"),
        ({"downstream_num_eval": [10, 10]}, "downstream_num_eval must be whole numbers of images"),
    ],
)
def test_bad_arguments(change, message):
    x = change.pop("x", [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match=message):
        fit_line(x, [0.1, 0.2, 0.4], **change)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([0.1, 0.2], [0.1, 0.2], "at least 3 models, got 2"),
        ([0.2, 0.2, 0.2], [0.1, 0.2, 0.3], "all upstream accuracies are equal"),
        ([0.1, 0.2, 0.3], [0.2, 0.2, 0.2], "all downstream accuracies are equal"),
    ],
)
def test_no_line_goes_through(x, y, message):
    with pytest.raises(FitError, match=message):
        fit_line(x, y)


@pytest.mark.filterwarnings("ignore:2 models left out")
def test_too_few_models_are_left():
    with pytest.raises(FitError, match="at least 3 models, got 1"):
        fit_line([0.0, 1.0, 0.5], [0.5, 0.5, 0.5])


def test_a_curved_scatter_is_warned_of_and_the_scale_that_straightens_it_is_marked():
    x, y = models(n=60, noise=0.05)
    with pytest.warns(FitWarning, match="the scatter is curved on the scale 'identity'") as caught:
        line = fit_line(x, y, scaling="identity")
    assert (caught[0].message.kind, caught[0].filename) == ("poor_fit", __file__)
    assert "warning (poor_fit)" in line.summary()
    table = compare_scalings(x, y)
    assert table.is_best.sum() == 1
    assert table.is_best["logit"]
    assert table.curvature_p["logit"] > 1e-3 > table.curvature_p["identity"]


def test_the_p_value_is_that_of_a_quadratic_term():
    """By the gain in the sum of squares: F of 1 and n - 3 degrees of freedom."""
    x, y = models(n=15, noise=1.0)
    z, t = special.logit(x), special.logit(y)
    less, more = (np.sum((t - np.polyval(np.polyfit(z, t, degree), z)) ** 2) for degree in (1, 2))
    known = stats.f.sf((less - more) / more * (x.size - 3), 1, x.size - 3)
    assert fit_line(x, y).curvature_p == pytest.approx(known, rel=1e-6)
    assert fit_line(x[:3], y[:3]).curvature_p == 1.0  # three models leave nothing to tell it by


@pytest.mark.filterwarnings("ignore:the scatter is curved")  # what is counted
def test_straight_scatters_are_rarely_called_curved():
    """At .001 of 2,000: 2 are meant, 9 are five standard errors above."""
    assert sum(fit_line(*models(n=12, seed=seed)).curvature_p < 1e-3 for seed in range(2000)) <= 9


def test_imagenet_to_r_is_curved_in_logits(data_folder):
    """timm: of the models above .88 of ImageNet (R's classes excepted) fewer than half lie in the band of new ones."""
    folder = data_folder / "timm_results"
    top1 = [
        pd.read_csv(folder / f"results-{name}.csv", thousands=",").set_index(["model", "img_size"]).top1 / 100
        for name in ("imagenet", "imagenet-r")
    ]
    x, y = pd.concat(top1, axis=1, join="inner").to_numpy().T
    with pytest.warns(FitWarning, match="the scatter is curved"):
        fit_line(x, y)


@pytest.mark.parametrize("constant", [(0.3, 1 - 0.7), (0.1 + 0.2, 0.3)])
def test_accuracies_that_differ_by_rounding_are_equal(constant):
    near, other = np.tile(constant, 3), np.linspace(0.2, 0.7, 6)
    with pytest.raises(FitError, match="all upstream accuracies are equal"):
        fit_line(near, other)
    with pytest.raises(FitError, match="all downstream accuracies are equal"):
        fit_line(other, near)
