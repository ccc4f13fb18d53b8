"""The objectives and their derivatives, and the two ways to solve for a step."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from scaling import LAWS, OBJECTIVES, FitWarning, fit_law
from scaling.fitting.objectives import find_objective
from scaling.fitting.points import check_points, pose
from scaling.fitting.scan import scan
from scaling.fitting.solver import polish
from scaling.laws import find_law

X = np.geomspace(1, 1e3, 12)
THETA = np.array([0.2, 0.2, 0.2])


def problem_of(objective, delta=None):
    y = (0.6 * X**-0.4 + 0.1) * np.exp(0.05 * np.random.default_rng(0).standard_normal(X.size))
    rule = find_objective(objective, delta)
    per_point = {"num_eval": 500} if rule.is_binomial else {"y_std": 0.01 * np.linspace(1, 2, X.size)}
    law = LAWS["saturating_power"]
    return pose(law, rule, check_points(law, rule, X, y, per_point), {}, {})[0]


EVERY_OBJECTIVE = [(name, None) for name in OBJECTIVES] + [("huber", 1e3), ("log_huber", 1e3)]


@pytest.mark.parametrize(("objective", "delta"), EVERY_OBJECTIVE)
def test_the_gradient_is_the_slope_of_the_sum(objective, delta):
    problem = problem_of(objective, delta)
    rule = problem.criterion
    residuals = problem.residuals(THETA[None])
    slope = problem.weights * rule.slope_over_residual(residuals) * residuals
    gradient = np.einsum("bn,bnp->bp", slope, problem.residual_jacobian(THETA[None]))[0]
    step = 1e-6 * np.eye(3)
    numeric = (problem.value(THETA + step) - problem.value(THETA - step)) / 2e-6
    # Central differences: 1e-12 of the third derivative and 1e-16 / 1e-6 of the value.
    assert gradient == pytest.approx(numeric, rel=1e-6, abs=1e-7 * float(problem.value(THETA[None])[0]))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_it_is_a_sum_over_points_not_a_mean(objective):
    problem = problem_of(objective)
    doubled = replace(problem, weights=2 * problem.weights)
    assert doubled.value(THETA[None]) == pytest.approx(2 * problem.value(THETA[None]))


def test_binomial_is_minus_the_log_likelihood_up_to_a_constant():
    from scipy.stats import binom

    k, n, rates = np.array([3, 40, 500]), 500, np.array([0.01, 0.1, 0.9])
    rule = OBJECTIVES["binomial"]
    ours = rule.value(rates, k / n, np.full(3, n**-0.5))
    theirs = binom.logpmf(k, n, k / n) - binom.logpmf(k, n, rates)
    assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("law", ["saturating_power", "double_saturating_power", "broken_power"])
def test_a_large_batch_comes_to_the_minimum_of_a_small_one(law):
    """Large batches solve normal equations, small ones orthogonal factors."""
    x = np.geomspace(1, 1e4, 30)
    y = (0.6 * (x + 3) ** -0.4 + 0.1) * np.exp(0.01 * np.random.default_rng(0).standard_normal(30))
    rule, law = find_objective("log_least_squares"), find_law(law)
    problem = pose(law, rule, check_points(law, rule, x, y, {}), {}, {})[0]
    start = scan(problem, 1)[0]
    alone = polish(problem, start)
    many = polish(problem.repeated(100), np.repeat(start, 100, axis=0))
    assert many.value == pytest.approx(np.full(100, alone.value[0]), rel=1e-9)


def test_counts_are_repeated_rows():
    counts = np.array([1, 2, 3, 1, 1, 2, 1, 1, 4, 1, 1, 1])
    y = problem_of("least_squares").y
    counted = fit_law("saturating_power", X, y, counts=counts)
    repeated = fit_law("saturating_power", np.repeat(X, counts), np.repeat(y, counts))
    assert counted.params == pytest.approx(repeated.params, rel=1e-9)
    assert counted.standard_errors == pytest.approx(repeated.standard_errors, rel=1e-7)
    assert counted.aicc == pytest.approx(repeated.aicc, rel=1e-9)


def test_a_binomial_fit_knows_its_noise():
    """With many points of known noise its intervals are those of the likelihood: s^2 stays at least 1."""
    rng, truth = np.random.default_rng(1), 0.5 * X**-0.4 + 0.05
    rates = rng.binomial(5000, truth) / 5000
    fit = fit_law("saturating_power", X, rates, objective="binomial", num_eval=5000)
    assert fit.error_variance == pytest.approx(1.0, abs=1.0)
    assert fit.error_variance >= 1.0
    band = fit.predict(X, level=0.999)
    assert np.all((band.low < truth) & (truth < band.high))
    assert fit.params == pytest.approx({"a": 0.5, "b": 0.4, "c": 0.05}, rel=0.1)


def test_a_binomial_fit_takes_rates_of_zero():
    rates = np.array([0.3, 0.1, 0.05, 0.02, 0.0, 0.0])
    fit = fit_law("power", np.geomspace(1, 1e3, 6), rates, objective="binomial", num_eval=np.full(6, 100))
    assert 0 < fit.predict(1e3) < 0.02


def test_sizes_in_proportion_are_named():
    """N and D move together: the sum is known on their ray, and nowhere else."""
    n = np.geomspace(1e8, 1e11, 12)
    x = np.column_stack([n, 20 * n])
    y = 1.69 + 406.4 * x[:, 0] ** -0.34 + 410.7 * x[:, 1] ** -0.28
    with pytest.warns(FitWarning, match="N and D move together"):
        fit = fit_law("additive", x, y)
    assert fit.warnings[0].kind == "not_identified"


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")  # of extrapolation, on asking
def test_points_on_one_line_of_d_are_not_identified():
    x = np.column_stack([np.geomspace(1e8, 1e11, 8), 1e10 * (1 + 1e-14 * np.arange(8))])
    y = 1.69 + 406.4 * x[:, 0] ** -0.34 + 410.7 * x[:, 1] ** -0.28
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = fit_law("additive", x, y)
    assert "not_identified" in {w.message.kind for w in caught}
    band = fit.predict([[1e10, 1e12]], level=0.95)
    truth = 1.69 + 406.4 * 1e10**-0.34 + 410.7 * 1e12**-0.28
    assert band.low[0] <= truth <= band.high[0]
    assert band.high[0] == np.inf
