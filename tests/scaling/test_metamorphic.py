"""What must not change a fit, or must change it in a known way: units, order, repetition, scales of y and of y_std."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from scaling import LAWS, FitWarning, fit_law

from .truths import truths_of

SMOOTH = ("least_squares", "log_least_squares")
COSTLY = ("sigmoidal_power", "broken_power")  # .1 to .2 s a fit: once in the quick run, with examples in the slow one
PAIRS = [(name, rule) for name in LAWS for rule in SMOOTH if LAWS[name].link is None or rule == "least_squares"]
LAW_AND_OBJECTIVE = pytest.mark.parametrize(
    ("name", "objective"), [pytest.param(*pair, marks=pytest.mark.slow if pair[0] in COSTLY else ()) for pair in PAIRS]
)
# Derandomised: a failure in one run is a failure in each.
FEW = settings(max_examples=2, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
SEEDS = st.integers(0, 10_000)


def noisy(name, seed, noise=None):
    """Points of the first true law of that name, with so little scatter that they tell five and six parameters."""
    truth, rng = truths_of(name)[0], np.random.default_rng(seed)
    noise = noise or (0.001 if name in COSTLY else 0.003)
    link = truth.law.link
    scatter = noise * rng.standard_normal(truth.y.size)
    return truth.x, link.backward(link.forward(truth.y) + scatter) if link else truth.y * np.exp(scatter)


def fitted(name, x, y, **options):
    """A fit whose parameters the points tell; others are left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        fit = fit_law(name, x, y, **options)
    if {"not_identified", "repeated_optimum"} & {warning.kind for warning in fit.warnings}:
        reject()
    return fit


def beyond(fit):
    """A point among those fitted and one further: a decade, or where accuracies end."""
    first, last = fit.x[:1], fit.x[-1:]
    return np.concatenate([first, last * (1.02 if fit.law.increasing else 10)])


def assert_same(fit, other, x_unit=1.0, y_unit=1.0):
    """Every parameter, standard error, prediction and band, in the units of the first."""
    law, errors = fit.law, np.array(list(fit.standard_errors.values()))
    theta = law.in_units(np.array(list(other.params.values())), 1 / np.asarray(x_unit), 1 / y_unit)
    moved = np.abs(theta - np.array(list(fit.params.values())))
    # A millionth of a standard error: what rounding of x and y (1e-16) does through a condition of up to 1e8.
    free = ~np.isnan(errors)
    assert np.all(moved[free] <= 1e-6 * errors[free])
    assert fit.at_bound.keys() == other.at_bound.keys()
    plain = [name for name in law.params if name not in law.mixed and not np.isnan(fit.standard_errors[name])]
    units = dict(zip(law.params, law.in_units(np.ones(len(law.params)), x_unit, y_unit), strict=True))
    for name in plain:
        # 1e-6: of the Jacobian at a point that moved by the above.
        assert other.standard_errors[name] == pytest.approx(fit.standard_errors[name] * units[name], rel=1e-6)
    x = beyond(fit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        ours, theirs = fit.predict(x, level=0.95), other.predict(x * x_unit, level=0.95)
    half = (ours.high - ours.low) / 2
    for end in ("median", "low", "high"):
        # 1e-9 of the value, or a millionth of the interval where that is wide.
        assert np.all(np.abs(getattr(theirs, end) / y_unit - getattr(ours, end)) <= 1e-9 * ours.median + 1e-6 * half)


def y_scales(law):
    """Accuracies have no unit, and the floor of the law of transfer is a fraction."""
    fixed = law.link is not None or law.name == "transfer"
    return st.just(1.0) if fixed else st.sampled_from([0.01, 1.0, 1.4427, 100.0])


def check_units_and_order(name, objective, seed, x_unit, y_unit):
    x, y = noisy(name, seed)
    law = LAWS[name]
    order = np.random.default_rng(seed).permutation(y.size)
    fit = fitted(name, x, y, objective=objective)
    same = fitted(name, x[order] * x_unit, y[order] * y_unit, objective=objective)
    assert_same(fit, same, x_unit, y_unit)
    square = 1.0 if objective.startswith("log") or law.link else y_unit**2
    assert same.objective_value == pytest.approx(fit.objective_value * square, rel=1e-9)


@LAW_AND_OBJECTIVE
@given(seed=SEEDS, exponent=st.integers(-25, 25), data=st.data())
@FEW
def test_units_of_x_and_y_and_the_order_of_rows(name, objective, seed, exponent, data):
    x_unit = 1.0 if LAWS[name].link is not None else 10.0**exponent
    check_units_and_order(name, objective, seed, x_unit, data.draw(y_scales(LAWS[name])))


def check_counts(name, objective, seed):
    x, y = noisy(name, seed)
    counts = np.random.default_rng(seed).integers(1, 4, y.size)
    rows = np.repeat(np.arange(y.size), counts)
    weighted = fitted(name, x, y, counts=counts, objective=objective)
    repeated = fitted(name, x[rows], y[rows], objective=objective)
    assert_same(weighted, repeated)
    assert weighted.num_points == rows.size
    # 1e-9: sums of equal terms in another order.
    assert [weighted.aic, weighted.bic] == pytest.approx([repeated.aic, repeated.bic], rel=1e-9)
    assert weighted.residual_std == pytest.approx(repeated.residual_std, rel=1e-9)


@LAW_AND_OBJECTIVE
@given(seed=SEEDS)
@FEW
def test_counts_are_repeated_rows(name, objective, seed):
    check_counts(name, objective, seed)


def check_y_std(name, objective, seed, factor):
    x, y = noisy(name, seed)
    std = y * np.random.default_rng(seed).uniform(0.5, 2.0, y.size) * 0.003
    fit, scaled = (fitted(name, x, y, y_std=k * std, objective=objective) for k in (1.0, factor))
    assert_same(fit, scaled)


@LAW_AND_OBJECTIVE
@given(seed=SEEDS, factor=st.sampled_from([1e-6, 0.5, 1e3]))
@FEW
def test_y_std_counts_up_to_a_common_factor(name, objective, seed, factor):
    check_y_std(name, objective, seed, factor)


@pytest.mark.parametrize("name", COSTLY)
def test_a_costly_law_once(name):
    """With seeds at which the points tell every parameter."""
    check_units_and_order(name, "log_least_squares", 1, 1e-18, 100.0)
    check_counts(name, "least_squares", 2)
    check_y_std(name, "log_least_squares", 3, 1e3)


@pytest.mark.parametrize("name", [name for name in LAWS if LAWS[name].link is None and name not in COSTLY])
@pytest.mark.parametrize("weight", ["y", "one"])
def test_y_std_in_proportion_to_y_is_no_weight_in_log(name, weight):
    """In log y the standard deviation is y_std / y; in y it is y_std itself."""
    x, y = noisy(name, 1)
    objective, std = ("log_least_squares", 0.01 * y) if weight == "y" else ("least_squares", np.full(y.size, 0.01))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        plain, weighted = fit_law(name, x, y, objective=objective), fit_law(name, x, y, objective=objective, y_std=std)
    assert weighted.params == pytest.approx(plain.params, rel=1e-6)


@pytest.mark.parametrize("name", ["power", "saturating_power", "additive"])
@given(seed=SEEDS, exponent=st.integers(-25, 25), scale=st.sampled_from([0.01, 7.0, 100.0]))
@FEW
def test_huber_in_other_units_with_its_delta_scaled(name, seed, exponent, scale):
    """delta has the unit of y for `huber`, and none for `log_huber`."""
    x, y = noisy(name, seed, 0.02)
    law, x_unit = LAWS[name], 10.0**exponent
    order = np.random.default_rng(seed).permutation(y.size)
    # Deltas at which some residuals lie beyond, and the optimum is not a kink.
    for objective, delta in (("huber", float(0.02 * np.median(y))), ("log_huber", 0.02)):
        scaled_delta = delta * scale if objective == "huber" else delta
        fit = fitted(name, x, y, objective=objective, delta=delta)
        other = fitted(name, x[order] * x_unit, scale * y[order], objective=objective, delta=scaled_delta)
        theta = law.in_units(np.array(list(other.params.values())), 1 / x_unit, 1 / scale)
        # 1e-4 of a standard error: the last steps of a Huber fit go from kink to kink.
        errors = np.array(list(fit.standard_errors.values()))
        moved = np.abs(theta - np.array(list(fit.params.values())))[~np.isnan(errors)]
        assert np.all(moved <= 1e-4 * errors[~np.isnan(errors)])
        ours, theirs = fit.predict(fit.x[-1:], level=0.95), other.predict(fit.x[-1:] * x_unit, level=0.95)
        ends = [[band.median[0], band.low[0], band.high[0]] for band in (ours, theirs)]
        # 1e-4 of the interval's half width, as the parameters.
        assert np.allclose(ends[0], np.array(ends[1]) / scale, rtol=0, atol=1e-4 * (ends[0][2] - ends[0][1]))


@given(seed=SEEDS)
@FEW
def test_a_large_delta_is_least_squares_and_a_common_y_std_scales_delta(seed):
    x, y = noisy("saturating_power", seed, 0.02)
    plain = fitted("saturating_power", x, y)
    assert_same(plain, fitted("saturating_power", x, y, objective="log_huber", delta=1e3))
    # With y_std the residuals are in standard deviations, and so is delta.
    fit = fitted("saturating_power", x, y, objective="log_huber", delta=0.02)
    scaled = fitted("saturating_power", x, y, objective="log_huber", delta=2.0, y_std=0.01 * y)
    assert scaled.params == pytest.approx(fit.params, rel=1e-5)


@given(seed=SEEDS, order=st.randoms(use_true_random=False))
@FEW
def test_binomial_units_order_and_pooled_counts(seed, order):
    """Two halves of one evaluation set count as the whole; x has any unit."""
    rng = np.random.default_rng(seed)
    truth = truths_of("saturating_power")[0]
    halves = rng.binomial(5000, truth.y[None], (2, truth.y.size)) / 5000
    x = truth.x
    whole = fitted("saturating_power", x, halves.mean(axis=0), objective="binomial", num_eval=10_000)
    rows = list(range(2 * x.size))
    order.shuffle(rows)
    split = fitted(
        "saturating_power", np.tile(x, 2)[rows] * 1e-18, halves.ravel()[rows], objective="binomial", num_eval=5000
    )
    a, b, c = whole.params.values()
    # 1e-8: the sums of the two likelihoods differ by rounding of terms of 1e4.
    assert [split.params["b"], split.params["c"]] == pytest.approx([b, c], rel=1e-8)
    assert split.params["a"] == pytest.approx(a * 1e-18**b, rel=1e-6)
