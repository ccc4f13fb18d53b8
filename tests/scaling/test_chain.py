import warnings

import numpy as np
import pytest

import scaling as sc
from scaling import FitWarning

# An exact frontier and an exact transfer law: upstream errors .1 to .55, downstream .1 to .4.
COMPUTE = np.geomspace(1e15, 1e19, 25)
UPSTREAM = 0.45 * (COMPUTE / 1e15) ** -0.3 + 0.1
FRONT = sc.fit_frontier(COMPUTE, UPSTREAM, num_draws=40)
TRANS = sc.fit_transfer(1 - UPSTREAM, 1 - (0.6 * UPSTREAM**1.5 + 0.06), num_draws=40)
SATURATION = 1 - (0.6 * 0.1**1.5 + 0.06)


def downstream(compute):
    upstream = 0.45 * (np.asarray(compute) / 1e15) ** -0.3 + 0.1
    return 1 - (0.6 * upstream**1.5 + 0.06)


def world(rng, n):
    """Runs above a known frontier and a known transfer law, and what both give at ten times the largest compute."""
    compute = 10 ** rng.uniform(15, 19, n)
    above = np.exp(rng.exponential(0.1, (2, n)) + 0.01 * rng.standard_normal((2, n)))
    upstream = np.minimum((0.5 * (compute / 1e15) ** -0.25 + 0.08) * above[0], 0.99)
    error = np.minimum((0.6 * upstream**1.5 + 0.06) * above[1], 0.99)
    return compute, upstream, error, 1 - (0.6 * (0.5 * 1e5**-0.25 + 0.08) ** 1.5 + 0.06)


def chained(rng, n, front, trans, **options):
    compute, upstream, error, truth = world(rng, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        first = sc.fit_frontier(compute, upstream, selection=front, rng=rng, **options)
        second = sc.fit_transfer(1 - upstream, 1 - error, selection=trans, rng=rng, **options)
    return sc.chain(first, second), truth


def test_exact_laws_are_joined_exactly_and_backwards():
    chain = sc.chain(FRONT, TRANS)
    # 1e-6: the parameters of noise-free fits are right to about that.
    np.testing.assert_allclose(chain.predict(COMPUTE), downstream(COMPUTE), atol=1e-6)
    assert chain.saturation == pytest.approx(SATURATION, abs=1e-6)
    target = chain.solve_for_compute(float(downstream(3e18)))
    assert target.compute == pytest.approx(3e18, rel=1e-3)  # the law is flat there: 1e-6 of error is 1e-4 of compute
    assert chain.predict(target.compute) == pytest.approx(target.accuracy, abs=1e-9)
    assert target.low <= target.compute * 1.001
    assert target.high >= target.compute * 0.999
    assert target.probability_never == 0


def test_a_target_above_the_saturation_is_never_reached_and_says_so():
    target = sc.chain(FRONT, TRANS).solve_for_compute(0.95)
    assert target.compute == target.low == target.high == np.inf
    assert target.probability_never == 1
    assert str(target).startswith("downstream accuracy 0.95: never: it saturates at 0.921")
    assert "with probability over 0.99" in str(target)


def test_interval_holds_the_central_value_and_carries_both_uncertainties():
    chain, _ = chained(np.random.default_rng(1), 200, "stochastic", "stochastic")
    at = np.array([1e18, 1e19, 5e19])
    band = chain.predict(at, level=0.95)
    assert np.all((band.low < band.median) & (band.median < band.high))
    errors = 1 - chain.front.predict(at, level=0.95).median
    only_transfer = chain.trans.predict(errors, level=0.95)
    assert np.all(band.high - band.low > only_transfer.high - only_transfer.low)
    low, high = chain.saturation_interval()
    assert low < chain.saturation < high
    halves = [chain.predict(at, level).high - chain.predict(at, level).low for level in (0.5, 0.95)]
    assert np.all(halves[0] < halves[1])


def test_going_back_from_the_band_comes_to_its_ends():
    # A draw reaches an accuracy by a compute just where its accuracy at the compute is above.
    chain, _ = chained(np.random.default_rng(2), 200, "stochastic", "stochastic")
    band = chain.predict(1e18, level=0.9)
    back = chain.solve_for_compute(float(band.low), level=0.9)
    # 5 %: the end of a compute is interpolated between draws, as that of an accuracy is.
    assert chain.solve_for_compute(float(band.high), level=0.9).low == pytest.approx(1e18, rel=0.05)
    assert back.high == pytest.approx(1e18, rel=0.05)


def test_near_saturation_never_has_a_probability():
    chain, _ = chained(np.random.default_rng(3), 200, "stochastic", "stochastic")
    target = chain.solve_for_compute(round(chain.saturation, 4))
    assert 0.1 < target.probability_never < 0.9
    assert target.high == np.inf
    assert "never" in str(target)


def test_laws_on_frontier_and_hull_points_join_too():
    chain, _ = chained(np.random.default_rng(4), 200, "pareto", "convex_hull", num_draws=200)
    band = chain.predict([1e18, 5e19], level=0.95)
    assert np.all((band.low > 0) & (band.low < band.high) & (band.high <= 1))
    target = chain.solve_for_compute(0.88)
    assert target.low < target.compute < target.high * 1.2  # a basic interval need not hold the law itself
    assert "compute -> upstream -> downstream" in chain.summary()


def test_a_plain_fit_serves_as_the_first_law():
    noise = np.exp(0.01 * np.random.default_rng(0).standard_normal(COMPUTE.size))
    chain = sc.chain(sc.fit_law("saturating_power", COMPUTE, UPSTREAM * noise), TRANS, num_draws=100)
    band = chain.predict(1e19, level=0.95)
    assert band.low < downstream(1e19) < band.high


def test_no_upstream_error_is_below_the_bayes_error():
    trans = sc.fit_transfer(1 - UPSTREAM, 1 - (0.6 * UPSTREAM**1.5 + 0.06), num_draws=40, upstream_bayes_error=0.12)
    chain = sc.chain(FRONT, trans)
    assert chain.saturation == pytest.approx(trans.saturation)
    assert chain.solve_for_compute(0.918).compute == np.inf
    assert sc.chain(FRONT, TRANS).solve_for_compute(0.918).compute < np.inf


def test_bad_input_is_named():
    with pytest.raises(TypeError, match="TransferFit and FrontierFit"):
        sc.chain(TRANS, FRONT)
    losses = sc.fit_frontier(COMPUTE, 5 * UPSTREAM, num_draws=40)
    with pytest.raises(ValueError, match=r"fractions.*2\.75"):
        sc.chain(losses, TRANS)
    rising = sc.fit_law("transfer", UPSTREAM, 0.6 * UPSTREAM**1.5 + 0.06)
    with pytest.raises(ValueError, match="must fall with it, got 'transfer'"):
        sc.chain(rising, TRANS)
    for bad in (0, 1, 1.2, float("nan"), [0.5, 0.6]):
        with pytest.raises(ValueError, match="one number in"):
            sc.chain(FRONT, TRANS).solve_for_compute(bad)
    with pytest.raises(ValueError, match="positive"):
        sc.chain(FRONT, TRANS).predict(0)
    with pytest.warns(FitWarning, match="decades beyond"):
        sc.chain(FRONT, TRANS).predict(1e21)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [("stochastic", "stochastic"), ("pareto", "convex_hull")])
def test_coverage_where_both_laws_are_fitted_to_the_same_runs(kinds):
    covered = []
    for seed in range(200):
        chain, truth = chained(np.random.default_rng(seed), 200, *kinds, num_draws=500)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)  # a largest compute just below 1e19 makes it over a decade
            band = chain.predict(1e20, level=0.95)
        covered.append(bool(band.low <= truth <= band.high))
    print(kinds, np.mean(covered))
    assert np.mean(covered) >= 0.88  # .95 less three standard errors (.016) and what a smooth excess leaves out


def test_a_target_that_the_least_run_beats_has_an_interval_below_it():
    chain, _ = chained(np.random.default_rng(5), 200, "stochastic", "stochastic")
    least = float(chain.compute.min())
    target = chain.solve_for_compute(float(chain.predict(0.2 * least)))
    assert target.low < target.compute == pytest.approx(0.2 * least, rel=1e-6)
    assert target.compute < target.high < least


@pytest.mark.filterwarnings("ignore:x lies")
def test_far_below_the_runs_nothing_overflows():
    chain = sc.chain(FRONT, TRANS)
    band = chain.predict([1e-300], 0.95)  # pytest turns a RuntimeWarning into an error
    # An upstream error of at most 1: .6 + .06; 1e-3, the width of the draws of points without noise.
    assert band.low[0] == pytest.approx(0.34, abs=1e-3)
    with pytest.raises(ValueError, match=r"one number in .*, got '0.9'"):
        chain.solve_for_compute("0.9")
