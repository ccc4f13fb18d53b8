"""Times `scaling` and its rivals side by side: `python -m tests.benchmarks.rivals [--full]`.

Rivals are no dependency of the project: one that is not installed is named and left out. The objective that each
reaches stands beside its time, for a fit that stops early is quick. Numbers depend on the machine; with more than one
BLAS thread the small matrices of BFGS are up to ten times slower, so set OPENBLAS_NUM_THREADS=1.
"""

import argparse
import importlib
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from scaling import fit_law
from scaling.published import HOFFMANN_2022, hoffmann2022

DELTA = 1e-3
MAX_RUNS = 200  # of one contestant: a median needs no more
README_GRID = {
    "e": (0.0, 0.7, 5),
    "a": (1.0, 10.0, 5),
    "b": (1.0, 10.0, 5),
    "alpha": (0.1, 0.7, 5),
    "beta": (0.1, 0.7, 5),
}
QUICK_POINTS = 2  # an axis of the grid without --full: 32 starts


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--full", action="store_true", help="the full grids of starts: many minutes")
    full = parser.parse_args(arguments).full
    compare("One variable: a x^-b + c, 20 points, least squares on log y", one_variable_contestants(), log_squares)
    x, y, source = additive_points()
    compare(
        f"Two variables: E + A N^-alpha + B D^-beta, {y.size} points ({source}), Huber 0.001 on log y",
        additive_contestants(x, y, full),
        lambda params: huber_sum(params, x, y),
    )


# One variable ---------------------------------------------------------------------------------------------------

X = np.geomspace(1e18, 1e21, 20)
Y = (0.5 * (X / 1e18) ** -0.25 + 0.1) * np.exp(0.02 * np.random.default_rng(0).standard_normal(20))
X_UNIT = float(np.exp(np.mean(np.log(X))))


def log_squares(params: dict[str, float]) -> float:
    return float(np.sum((np.log(params["a"] * X ** -params["b"] + params["c"]) - np.log(Y)) ** 2))


def one_variable_contestants() -> dict[str, Callable[[], dict[str, float]]]:
    contestants = {"scaling.fit_law, no start": lambda: fit_law("saturating_power", X, Y).params}
    lmfit = find("lmfit")
    if lmfit:
        good = {"a": 0.1, "b": 0.3, "c": 0.05}
        contestants["lmfit, good start, x scaled"] = lambda: lmfit_power(lmfit, X_UNIT, good)
        contestants["lmfit, start 1, x scaled"] = lambda: lmfit_power(lmfit, X_UNIT, dict.fromkeys("abc", 1.0))
        contestants["lmfit, start 1, raw FLOP"] = lambda: lmfit_power(lmfit, 1.0, dict.fromkeys("abc", 1.0))
    return contestants


def lmfit_power(lmfit: Any, x_unit: float, start: dict[str, float]) -> dict[str, float]:
    model = lmfit.Model(lambda x, a, b, c: np.log(a * x**-b + c))
    params = model.make_params(**{name: {"value": value, "min": 0} for name, value in start.items()})
    found = model.fit(np.log(Y), params, x=X / x_unit).best_values
    return {"a": found["a"] * x_unit ** found["b"], "b": found["b"], "c": found["c"]}


# Two variables --------------------------------------------------------------------------------------------------


def additive_points() -> tuple[np.ndarray, np.ndarray, str]:
    """N, D and losses: those read off Figure 4 of Hoffmann et al. 2022 where at hand, else simulated from its law."""
    folder = os.environ.get("SCALING_DATA_DIR")
    if folder:
        table = np.genfromtxt(Path(folder) / "chinchilla_points" / "df.csv", delimiter=",", names=True)
        return np.stack([table["N"], table["D"]], axis=1), table["loss"], "Hoffmann et al. 2022"
    rng = np.random.default_rng(0)
    x = np.stack([10 ** rng.uniform(7.5, 10, 234), 10 ** rng.uniform(9, 11.5, 234)], axis=1)
    return x, additive(HOFFMANN_2022, x) * np.exp(0.01 * rng.standard_normal(234)), "simulated"


def additive(params: dict[str, float], x: np.ndarray) -> np.ndarray:
    return params["E"] + params["A"] * x[:, 0] ** -params["alpha"] + params["B"] * x[:, 1] ** -params["beta"]


def huber_sum(params: dict[str, float], x: np.ndarray, y: np.ndarray) -> float:
    size = np.abs(np.log(additive(params, x)) - np.log(y))
    return float(np.sum(np.where(size <= DELTA, size**2 / 2, DELTA * (size - DELTA / 2))))


def additive_contestants(x: np.ndarray, y: np.ndarray, full: bool) -> dict[str, Callable[[], dict[str, float]]]:
    contestants = {
        "scaling.fit_law, no start": lambda: fit_law("additive", x, y, objective="log_huber").params,
        "published.hoffmann2022, best 10 starts": lambda: dict(hoffmann2022(x, y, num_starts=10).params),
    }
    if full:
        contestants["published.hoffmann2022, 4500 starts"] = lambda: dict(hoffmann2022(x, y).params)
    chinchilla = find("chinchilla")
    if chinchilla:
        num_starts = np.prod([points if full else QUICK_POINTS for *_, points in README_GRID.values()])
        contestants[f"chinchilla, {num_starts} starts, mean"] = lambda: chinchilla_fit(chinchilla, x, y, 1.0, full)
        contestants[f"chinchilla, {num_starts} starts, sum"] = lambda: chinchilla_fit(chinchilla, x, y, y.size, full)
    return contestants


def chinchilla_fit(chinchilla: Any, x: np.ndarray, y: np.ndarray, times: float, full: bool) -> dict[str, float]:
    """The loss that the package averages, `times` so much: as many as the points make it the sum."""
    from chinchilla._metrics import log_huber

    axes = {name: np.linspace(low, high, n if full else QUICK_POINTS) for name, (low, high, n) in README_GRID.items()}
    rows = np.column_stack([6 * x[:, 0] * x[:, 1], x, y])
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(Path(folder) / "df.csv", rows, delimiter=",", header="C,N,D,loss", comments="", fmt="%.17g")
        study = chinchilla.Chinchilla(
            folder, param_grid=axes, loss_fn=lambda true, fitted: times * log_huber(true, fitted, DELTA), log_level=50
        )
        study.visualizer.optim = lambda *_, **__: None  # the time of a fit, not of its plot
        study.fit()
    return {name: float(getattr(study, name)) for name in ("E", "A", "B", "alpha", "beta")}


# Timing ---------------------------------------------------------------------------------------------------------


def find(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        print(f"{package} is absent ({error}): left out")
        return None


def compare(
    title: str, contestants: dict[str, Callable[[], dict[str, float]]], objective: Callable[[dict[str, float]], float]
) -> None:
    print(f"\n{title}\n  {'':40}{'seconds':>10}{'ratio':>8}  objective reached")
    first = None
    for name, contestant in contestants.items():
        try:
            seconds, params = median_seconds(contestant)
        except (ValueError, TypeError) as error:
            print(f"  {name:40} no fit: {str(error).splitlines()[0]}")
            continue
        first = first or seconds
        print(f"  {name:40}{seconds:10.4f}{seconds / first:8.1f}  {objective(params):.8g}")
        sys.stdout.flush()


def median_seconds(contestant: Callable[[], dict[str, float]], budget_seconds: float = 3.0) -> tuple[float, Any]:
    """The median over as many runs as the budget allows, at least one after one to warm up; and the last result."""
    times: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rival may warn at each of its starts
        while not times or (sum(times) < budget_seconds and len(times) < MAX_RUNS):
            begin = time.perf_counter()
            params = contestant()
            times.append(time.perf_counter() - begin)
    return float(np.median(times[1:] or times)), params


if __name__ == "__main__":
    main()
