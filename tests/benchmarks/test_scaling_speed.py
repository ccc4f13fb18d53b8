"""Speed of the analysis: `make bench`. Without it each runs once, as a test that it runs."""

import subprocess
import sys

import numpy as np
import pytest

from scaling import bootstrap_fit, convex_hull, fit_frontier, fit_law, pareto_frontier

RNG = np.random.default_rng(0)
X = np.geomspace(1e18, 1e21, 20)
Y = (0.5 * (X / 1e18) ** -0.25 + 0.1) * np.exp(0.02 * RNG.standard_normal(20))
RUNS_X = 10 ** RNG.uniform(18, 22, 200)
RUNS_Y = (0.5 * (RUNS_X / 1e18) ** -0.25 + 0.1) * np.exp(RNG.exponential(0.1, 200))


@pytest.mark.parametrize("objective", ["log_least_squares", "log_huber"])
def test_fit_law(benchmark, objective):
    """One global fit of three parameters."""
    benchmark(fit_law, "saturating_power", X, Y, objective=objective)


def test_curve_fit_of_scipy(benchmark):
    """One local fit from a good start, to compare with."""
    from scipy.optimize import curve_fit

    benchmark(curve_fit, lambda x, a, b, c: np.log(a * x**-b + c), X / 1e19, np.log(Y), p0=[0.3, 0.25, 0.1])


def test_bootstrap_of_2000_draws(benchmark):
    fit = fit_law("saturating_power", X, Y)
    benchmark(bootstrap_fit, fit, num_draws=2000)


@pytest.mark.parametrize("selection", ["pareto", "convex_hull"])
def test_frontier_of_200_runs_with_2000_draws(benchmark, selection):
    benchmark(fit_frontier, RUNS_X, RUNS_Y, selection=selection, num_draws=2000)


@pytest.mark.parametrize("function", [pareto_frontier, convex_hull], ids=["pareto", "hull"])
def test_selection_of_a_million_points(benchmark, function):
    x, y = np.random.default_rng(1).standard_normal((2, 1_000_000))
    benchmark(function, x, y)


def test_import(benchmark):
    benchmark(subprocess.run, [sys.executable, "-c", "import scaling"], check=True)
