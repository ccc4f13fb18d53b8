import numpy as np
import pytest

from scaling import FitError, FitWarning, fit_transfer
from scaling.transfer import HULL_POINTS

# Three in ten of these models lie on the law itself, which no smooth excess does, and the fit says so.
pytestmark = pytest.mark.filterwarnings("ignore:the intervals are of a simulated world:scaling.FitWarning")


def models(k=0.7, alpha=2.5, e_ir=0.1, n=60, seed=0):
    """Models below a true hull."""
    rng = np.random.default_rng(seed)
    upstream = rng.uniform(0.1, 0.6, n)
    error = k * (1 - upstream) ** alpha + e_ir
    return upstream, 1 - np.minimum(error * np.exp(rng.exponential(0.15, n) * (rng.random(n) < 0.7)), 0.99)


@pytest.mark.parametrize("task", ["pets", "cifar100", "imagenet"])
@pytest.mark.parametrize("hull_points", HULL_POINTS)
def test_digitised_laws_of_abnar_figure_1(task, hull_points, published):
    """Points on each printed hull law give its parameters back (Abnar et al. 2021, Figure 1, JFT, 25 shots)."""
    row = published("abnar2021_fig1_hull_laws_digitised.csv").set_index("task").loc[task]
    upstream = np.linspace(0.05, 0.6, 23)
    downstream = 1 - (row.k_refit * (1 - upstream) ** row.alpha_refit + row.e_ir_hull)
    trans = fit_transfer(upstream, downstream, hull_points=hull_points, num_draws=20)
    # A sampled hull is made of chords, which lie below a concave law: 1 % at this spacing.
    rel = 1e-6 if hull_points == "vertices" else 0.02
    assert trans.params == pytest.approx({"k": row.k_refit, "alpha": row.alpha_refit, "e_ir": row.e_ir_hull}, rel=rel)
    assert trans.saturation == pytest.approx(row.acc_inf_hull_fit, abs=0.005)


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")  # few models: many draws have no hull
def test_models_right_of_the_best_are_dropped_and_counted():
    upstream = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    downstream = np.array([0.2, 0.35, 0.45, 0.5, 0.45, 0.4])
    trans = fit_transfer(upstream, downstream, hull_points="sampled", num_draws=20)
    assert trans.num_right_of_best == 2
    assert trans.upstream[trans.selected].tolist() == [0.1, 0.2, 0.3, 0.4]


def test_an_upstream_bayes_error_lowers_the_saturation():
    upstream, downstream = models()
    perfect, bayes = (fit_transfer(upstream, downstream, upstream_bayes_error=b, num_draws=100) for b in (0.0, 0.1))
    k, alpha, e_ir = bayes.params.values()
    assert perfect.saturation == pytest.approx(1 - e_ir)
    assert bayes.saturation == pytest.approx(1 - (k * 0.1**alpha + e_ir))
    assert bayes.saturation_interval()[0] <= perfect.saturation_interval()[0]
    band = bayes.predict(0.9, level=0.95)
    assert (bayes.saturation, *bayes.saturation_interval()) == pytest.approx((band.median, band.low, band.high))
    with pytest.raises(ValueError, match=r"must not be above the least upstream error, 0\.4"):
        fit_transfer(upstream, downstream, upstream_bayes_error=0.5)


def test_window_keeps_the_models_inside():
    upstream, downstream = models(n=200)
    trans = fit_transfer(upstream, downstream, window=(0.0, 0.45), num_draws=20)
    assert trans.upstream[trans.selected].max() <= 0.45
    whole = fit_transfer(upstream[upstream <= 0.45], downstream[upstream <= 0.45], num_draws=20)
    assert trans.params == whole.params
    with pytest.raises(FitError, match="no model has an upstream accuracy in the window"):
        fit_transfer(upstream, downstream, window=(0.9, 1.0))


@pytest.mark.parametrize("intervals", ["simulated_world", "case_bootstrap"])
def test_prediction_is_an_accuracy_with_an_interval(intervals):
    upstream, downstream = models()
    trans = fit_transfer(upstream, downstream, hull_points="near", intervals=intervals, num_draws=200)
    band = trans.predict([0.65, 0.8], level=0.9)
    assert np.all((band.low >= 0) & (band.low < band.high) & (band.high <= 1))
    assert trans.predict(0.65) == pytest.approx(band.median[0])
    assert trans.predict([0.2, 0.4, 0.6])[2] > trans.predict(0.2)
    assert trans.intervals == intervals


@pytest.mark.parametrize("hull_points", HULL_POINTS)
def test_the_interval_of_a_world_lies_above_that_of_the_models(hull_points):
    """Even the best models lie below the true hull: the basic interval moves up by what a simulated hull misses."""
    rng = np.random.default_rng(0)
    upstream = rng.uniform(0.1, 0.6, 200)
    downstream = np.maximum(1 - (0.7 * (1 - upstream) ** 2.5 + 0.1) * np.exp(rng.exponential(0.1, 200)), 0.01)
    world, case = (
        fit_transfer(upstream, downstream, hull_points=hull_points, intervals=i, num_draws=200)
        for i in ("simulated_world", "case_bootstrap")
    )
    bands = [trans.predict([0.8], 0.5) for trans in (world, case)]
    assert bands[0].low + bands[0].high > bands[1].low + bands[1].high
    low, high = world.saturation_interval()
    assert 0 <= low < high <= 1


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_a_perfect_task_has_the_case_bootstrap():
    upstream = np.linspace(0.1, 0.8, 30)
    downstream = np.minimum(1 - (1 - upstream) ** 3 + 0.05, 1)
    assert fit_transfer(upstream, downstream, hull_points="near", num_draws=20).intervals == "case_bootstrap"


def test_percent_is_asked_about():
    upstream, downstream = models()
    with pytest.raises(ValueError, match=r"downstream_accuracy must lie in \[0, 1\]; row 0 is .* \(is this percent\?"):
        fit_transfer(upstream, 100 * downstream)
    with pytest.raises(ValueError, match="upstream_accuracy must lie"):
        fit_transfer(upstream, downstream, num_draws=20).predict(62)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hull_points": "corners"}, "hull_points must be one of"),
        ({"selection": "hull"}, "selection must be one of"),
        ({"selection": "all", "hull_points": "near"}, "hull_points='near' goes with selection='convex_hull'"),
        ({"upstream_bayes_error": 2}, "upstream_bayes_error must lie"),
        ({"upstream": [0.1, 0.2, 1.0]}, "upstream_accuracy must be below 1; row 2"),
        ({"upstream": [0.1, np.nan, 0.3]}, "row 1 is nan"),
        ({"upstream": [0.1, 0.2]}, "equally long"),
        ({"window": 0.45}, r"window must be \(from, to\) .*, got 0.45"),
        ({"groups": ["a"]}, "groups must have one label a point"),
    ],
)
def test_bad_arguments(change, message):
    upstream = change.pop("upstream", [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match=message):
        fit_transfer(upstream, [0.1, 0.3, 0.4], **change)


def test_a_hull_of_two_models_says_what_to_do():
    with pytest.raises(FitError, match="the hull is one chord between two models: no curvature to fit"):
        fit_transfer([0.1, 0.2, 0.3, 0.4], [0.1, 0.15, 0.2, 0.4], num_draws=20)


def test_a_perfect_downstream_task_can_be_fitted():
    upstream = np.linspace(0.1, 0.8, 8)
    downstream = 1 - np.maximum((1 - upstream) ** 6 - 1e-4, 0)
    assert downstream.max() == 1
    with pytest.warns(FitWarning, match="e_ir sits at its bound 0"):
        trans = fit_transfer(upstream, downstream, num_draws=20, hull_points="near")
    assert trans.saturation == pytest.approx(1, abs=0.01)


def test_a_law_that_a_concave_hull_hides_is_warned_of():
    """alpha = .6 is convex in accuracy: its hull is nearly the chord, whose alpha is 1."""
    upstream, rng = np.linspace(0.05, 0.9, 40), np.random.default_rng(0)
    downstream = 1 - (0.5 * (1 - upstream) ** 0.6 + 0.2) + 0.03 * rng.random(40)
    with pytest.warns(FitWarning, match="hides an alpha below 1"):
        fit_transfer(upstream, downstream, hull_points="near", tolerance=0.03, num_draws=20)


def test_summary_has_saturation_with_its_interval():
    text = fit_transfer(*models(), num_draws=50).summary(level=0.9)
    assert "saturation 0." in text
    assert "90% interval" in text


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_the_hull_is_above_the_mean_model():
    """All points describe the mean model, the hull the best: at the same upstream accuracy it is better."""
    upstream, downstream = models(n=300)
    hull = fit_transfer(upstream, downstream, num_draws=20).predict(0.5)
    mean = fit_transfer(upstream, downstream, selection="all", num_draws=20).predict(0.5)
    assert hull > mean + 0.02


def chord(n=60):
    """Accuracies convex in upstream accuracy but for one model at the left: a hull of three of them."""
    upstream = np.append(np.linspace(0.1, 0.8, n), 0.11)
    rng = np.random.default_rng(0)
    return upstream, np.append(0.1 + 0.8 * np.linspace(0.1, 0.8, n) ** 4 - 0.02 * rng.random(n), 0.2)


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_a_value_outside_its_interval_is_said_to_be():
    trans = fit_transfer(*chord(), num_draws=100)
    low, high = trans.saturation_interval()
    assert not low <= trans.saturation <= high
    assert low <= trans.saturation_median <= high
    lines = trans.summary().splitlines()
    outside = [line for line in lines if "lies outside: the selection's bias is taken off" in line]
    missed = [name for name, value in trans.params.items() if np.clip(value, *trans.interval(name)) != value]
    assert [line.split()[0] for line in outside] == [*(f"{name}:" for name in missed), "saturation"]
    assert f"around {trans.saturation_median:.4f} (median of the draws)" in outside[-1]
    inside = fit_transfer(*models(n=300), selection="stochastic", num_draws=100).summary()
    assert "lies outside" not in inside


def test_a_hull_of_three_of_many_models_hides_the_curvature():
    with pytest.warns(FitWarning) as caught:
        trans = fit_transfer(*chord(), num_draws=20)
    assert trans.selected.size == 3
    hidden = [str(w.message) for w in caught if w.message.kind == "hidden_curvature"]
    assert hidden == [str(w) for w in trans.warnings if w.kind == "hidden_curvature"]
    assert "the hull of 61 models is 3 points" in hidden[0]
    assert {w.filename for w in caught} == {__file__}


def test_a_saturation_is_not_read_off_a_law_that_the_models_contradict():
    """As of ImageNet-R: accuracy stays low up to .7 and then rises steeply."""
    rng = np.random.default_rng(0)
    upstream = rng.uniform(0.4, 0.9, 400)
    downstream = 0.2 + 0.6 * upstream**8 + 0.03 * rng.standard_normal(400)
    with pytest.warns(FitWarning, match="it is not the form of this task") as caught:
        trans = fit_transfer(upstream, downstream, selection="stochastic", num_draws=100)
    text = trans.summary()
    assert "saturation: not to be read, the models contradict the law (poor_fit)" in text
    assert f"{trans.saturation:.4f}" not in text
    above = np.mean(downstream > trans.predict(upstream))
    assert f"({above:.0%} of all lie above it)" in text
    assert "use fit_line or compare_scalings" in text
    assert {w.filename for w in caught} == {__file__}


@pytest.mark.parametrize("hull_points", HULL_POINTS)
def test_one_chord_right_of_a_window_is_said_to_be_one(hull_points):
    with pytest.raises(FitError, match=r"the hull right of 0\.5 is one chord between two models: no curvature to fit"):
        fit_transfer(*chord(), window=(0.5, 1.0), hull_points=hull_points, num_draws=20)


def test_a_window_right_of_the_best_model_has_no_hull():
    us = np.linspace(0.1, 0.6, 30)
    with pytest.raises(FitError, match=r"there is no hull right of 0\.4: the best model is left of it"):
        fit_transfer(us, 0.5 - np.abs(us - 0.3), window=(0.4, 1.0))


def test_worlds_that_are_simulated_in_parts_are_as_many_and_say_the_same(monkeypatch):
    whole = fit_transfer(*models(n=200), num_draws=200)
    monkeypatch.setattr("scaling.selection.worlds._SIMULATED", 200 * 90)  # 90, 90 and 20 draws
    parts = fit_transfer(*models(n=200), num_draws=200)
    assert len(parts.bootstrap.theta) + parts.bootstrap.num_failed == 200
    # Other draws: medians of 200 differ by a share of the interval's width that is its error, about a tenth.
    width = np.diff(whole.saturation_interval(0.5))[0]
    assert parts.saturation_median == pytest.approx(whole.saturation_median, abs=0.5 * width)
