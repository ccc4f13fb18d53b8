"""Speed of the analysis: `make bench`. Without it each runs once, as a test that it runs."""

import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest

from scaling import (
    bootstrap_fit,
    convex_hull,
    fit_frontier,
    fit_law,
    fit_transfer,
    pareto_frontier,
    profile_interval,
    read_records,
    write_records,
)  # fmt: skip
from scaling.transfer import compare_sample_sizes

RNG = np.random.default_rng(0)
X = np.geomspace(1e18, 1e21, 20)
Y = (0.5 * (X / 1e18) ** -0.25 + 0.1) * np.exp(0.02 * RNG.standard_normal(20))
RUNS_X = 10 ** RNG.uniform(18, 22, 200)
RUNS_Y = (0.5 * (RUNS_X / 1e18) ** -0.25 + 0.1) * np.exp(RNG.exponential(0.1, 200))
MODELS_US = RNG.uniform(0.05, 0.6, 2000)
MODELS = MODELS_US, 1 - np.minimum((0.8 * (1 - MODELS_US) ** 3.2 + 0.12) * np.exp(RNG.exponential(0.1, 2000)), 0.99)
CURVE_X = np.geomspace(1e6, 1e9, 60)
CURVE_Y = 0.8 * (CURVE_X / 1e6 + 2) ** -0.4 * (1 + (CURVE_X / 3e7) ** 2) ** -0.1 + 0.15
CURVE_Y = CURVE_Y * np.exp(0.003 * RNG.standard_normal(60))
PAIRS = 10 ** RNG.uniform([7.5, 9], [10.3, 11.5], (240, 2))
LOSSES = (1.8 + 480 * PAIRS[:, 0] ** -0.35 + 2000 * PAIRS[:, 1] ** -0.37) * np.exp(0.005 * RNG.standard_normal(240))


@pytest.mark.parametrize("objective", ["log_least_squares", "log_huber"])
def test_fit_law(benchmark, objective):
    """One global fit of three parameters, scipy loaded."""
    fit_law("saturating_power", X, Y, objective=objective)
    benchmark(fit_law, "saturating_power", X, Y, objective=objective)


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
@pytest.mark.parametrize("law", ["double_saturating_power", "sigmoidal_power", "broken_power"])
def test_fit_of_several_nonlinear_parameters(benchmark, law):
    benchmark(fit_law, law, CURVE_X, CURVE_Y)


SIX_LAWS = (
    "power", "saturating_power", "reciprocal_shift_power", "double_saturating_power", "sigmoidal_power", "broken_power",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_six_laws_on_36_few_shot_curves(benchmark, data_folder):
    """On two of them where it is not measured."""
    path = data_folder / "revisiting_nsl" / "benchmark_vision_imagenet_birds.csv"
    table = pd.read_csv(path).query("Training == 1").groupby(["Task", "Model"])
    curves = [(g["Seen Examples"].to_numpy(), g["Loss"].to_numpy()) for _, g in table]
    curves = curves[:2] if benchmark.disabled else curves
    benchmark.pedantic(lambda: [fit_law(law, x, y) for law in SIX_LAWS for x, y in curves], rounds=1)


def test_additive_fit(benchmark):
    """The five-parameter law on 240 runs, from no start, with a Huber objective."""
    benchmark(fit_law, "additive", PAIRS, LOSSES, objective="log_huber")


def test_additive_bootstrap_of_4000_draws(benchmark):
    fit = fit_law("additive", PAIRS, LOSSES, objective="log_huber")
    benchmark(bootstrap_fit, fit, method="case", num_draws=100 if benchmark.disabled else 4000)


def test_profile_interval(benchmark):
    benchmark(profile_interval, fit_law("saturating_power", X, Y), "c")


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


@pytest.mark.parametrize("n", [50, 200, 800])
def test_stochastic_frontier(benchmark, n):
    """Of a law with three parameters, 1,000 draws."""
    rng = np.random.default_rng(2)
    x = 10 ** rng.uniform(18, 22, n)
    y = (0.5 * (x / 1e18) ** -0.25 + 0.1) * np.exp(rng.exponential(0.1, n) + 0.01 * rng.standard_normal(n))
    benchmark(fit_frontier, x, y, selection="stochastic")


SELECTIONS = {
    "pareto": pareto_frontier,
    "upper hull": convex_hull,
    "lower hull": partial(convex_hull, side="lower"),
    "near the upper hull": partial(convex_hull, tolerance=0.1),
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_selection_of_ten_million_points(benchmark, name):
    """Of one million where it is not measured."""
    num_points = 1_000_000 if benchmark.disabled else 10_000_000
    benchmark(SELECTIONS[name], *np.random.default_rng(1).standard_normal((2, num_points)))


@pytest.fixture
def many_records(benchmark):
    """A million records, or ten thousand where it is not measured."""
    n, rng = 10_000 if benchmark.disabled else 1_000_000, np.random.default_rng(1)
    return pd.DataFrame(
        {
            "run_id": [f"r{i}" for i in range(n)], "step": 100, "weights": "last", "model_family": "vit",
            "compute_flops": 10 ** rng.uniform(15, 24, n), "upstream_error": rng.random(n), "status": "ok",
        }
    )  # fmt: skip


def test_a_million_records_are_written(benchmark, many_records, tmp_path):
    benchmark(write_records, many_records, tmp_path / "records.parquet")


@pytest.mark.parametrize("selection", ["all", "pareto"])
def test_a_million_records_are_read(benchmark, many_records, tmp_path, selection):
    write_records(many_records, tmp_path / "records.parquet")
    benchmark(read_records, tmp_path / "records.parquet", selection=selection)


def test_import(benchmark):
    benchmark(subprocess.run, [sys.executable, "-c", "import scaling"], check=True)


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
def test_sizes_of_figure_5_of_abnar2021(benchmark):
    """11 sizes, 10 trials, two fits: 220 fits in one batch each, of 2,000 models."""
    benchmark(compare_sample_sizes, *MODELS)


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")
@pytest.mark.parametrize("hull_points", ["vertices", "near"])
def test_law_of_transfer_on_the_hull_of_2000_models(benchmark, hull_points):
    """With 1000 simulated worlds, each with a hull of its own."""
    benchmark(fit_transfer, *MODELS, hull_points=hull_points)
