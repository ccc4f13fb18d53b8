"""What noise-free points of a law say of it: the law itself, or a warning that they do not tell it."""

import time
import warnings
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import least_squares

from scaling import LAWS, FitError, FitWarning, fit_law
from scaling.laws import find_law

from .draws import DrawnTruth, draw_truth

# A share of well-measured laws (12 points over 2 decades) that may be warned of: a law of five or six parameters has
# corners, such as a break of no width, that no number of points tells.
MOST_WARNED = {"broken_power": 0.10, "sigmoidal_power": 0.10}
COSTLY = ("sigmoidal_power", "broken_power", "double_saturating_power")  # .05 to .2 s a fit
EXACT = 1e-6  # relative, a decade beyond the points: rounding of y (1e-16) times the condition of a law of 6 parameters


@dataclass(frozen=True)
class Outcome:
    """kind: "exact", "warned" (not exact, said so, and the interval holds the truth), or what is wrong."""

    kind: str
    is_warned: bool
    milliseconds: float


def recover(truth: DrawnTruth) -> Outcome:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        try:
            fit = fit_law(truth.law, truth.x, truth.y)
        except FitError as error:
            return Outcome(f"FitError: {error}", False, 1e3 * (time.perf_counter() - start))
        milliseconds = 1e3 * (time.perf_counter() - start)
        is_warned = any(warning.kind == "not_identified" for warning in fit.warnings)
        true = truth.law.value(truth.theta, truth.beyond)[0]
        off = abs(float(fit.predict(truth.beyond)[0]) / true - 1)
        if off < EXACT:
            return Outcome("exact", is_warned, milliseconds)
        if not is_warned:
            return Outcome(f"{off:.2g} off without a warning", False, milliseconds)
        band = fit.predict(truth.beyond, level=0.95)
        holds = band.low[0] <= true <= band.high[0]
    return Outcome("warned" if holds else f"{off:.2g} off and outside its interval", True, milliseconds)


def study(name: str, num: int, seed: int) -> tuple[str, list[str], float]:
    """A row of the table, the failures, and the share warned of the well-measured."""
    rng = np.random.default_rng([seed, list(LAWS).index(name)])
    truths = [draw_truth(name, rng) for _ in range(num)]
    outcomes = [recover(truth) for truth in truths]
    well = [outcome.is_warned for truth, outcome in zip(truths, outcomes, strict=True) if truth.is_well_measured]
    failures = [
        f"{name} {i}: {outcome.kind}; {len(truth.x)} points, {describe(truth)}"
        for i, (truth, outcome) in enumerate(zip(truths, outcomes, strict=True))
        if outcome.kind not in ("exact", "warned")
    ]
    kinds = Counter(outcome.kind for outcome in outcomes)
    share = float(np.mean(well)) if well else 0.0
    row = (
        f"{name:24} {kinds['exact'] / num:7.3f} {np.mean([o.is_warned for o in outcomes]):7.3f}"
        f" {share:13.3f} {len(failures):9d} {np.median([o.milliseconds for o in outcomes]):10.1f}"
    )
    return row, failures, share


def describe(truth: DrawnTruth) -> str:
    """Parameters in units of the middle of x and y, for a failure's message."""
    if truth.law.link is not None:
        return str(truth.theta)
    x_unit, y_unit = (np.exp(np.mean(np.log(v), axis=0)) for v in (truth.x, truth.y))
    theta = truth.law.in_units(truth.theta, 1 / x_unit, 1 / y_unit)
    ends = np.stack([np.min(truth.x, axis=0), np.max(truth.x, axis=0)]) / x_unit
    return ", ".join(f"{k} {v:.6g}" for k, v in zip(truth.law.params, theta, strict=True)) + f", x {ends.tolist()}"


@pytest.mark.parametrize("name", LAWS)
def test_a_law_is_recovered_or_said_not_to_be_told(name):
    _, failures, _ = study(name, 4 if name in COSTLY else 15, seed=0)
    assert not failures


HEAD = f"{'law':24} {'exact':>7} {'warned':>7} {'well, warned':>13} {'failures':>9} {'median ms':>10}"


@pytest.mark.slow
def test_study_of_recovery():
    """500 random laws of each kind; one table."""
    rows, failures, shares = [HEAD], [], {}
    for name in LAWS:
        row, failed, shares[name] = study(name, 500, seed=1)
        rows.append(row)
        failures += failed
    print("\n" + "\n".join(rows + failures))
    assert not failures
    assert all(share <= MOST_WARNED.get(name, 0.02) for name, share in shares.items())


def least_from_truth(fit, truth):
    """The objective where scipy's trust-region method ends from the true parameters."""
    problem, x_unit = fit.problem, np.asarray(fit.x_unit)
    start = truth.law.in_units(truth.theta, 1 / x_unit if x_unit.ndim else 1 / fit.x_unit, 1 / fit.y_unit)
    ends = least_squares(
        lambda theta: np.nan_to_num(problem.residuals(theta[None])[0], nan=1e6, posinf=1e6, neginf=-1e6),
        np.clip(start, problem.lower + 1e-12, problem.upper),
        lambda theta: np.nan_to_num(problem.residual_jacobian(theta[None])[0]),
        bounds=(problem.lower, problem.upper),
        x_scale="jac", ftol=1e-14, xtol=1e-14, gtol=1e-14, max_nfev=500,
    )  # fmt: skip
    return ends.cost


def worse_than_from_the_truth(name, objective, num, seed):
    """Noisy fits, with .1 to 5 % of scatter, that an optimiser started at the truth beats."""
    rng, found = np.random.default_rng([seed, list(LAWS).index(name)]), []
    for i in range(num):
        truth, noise = draw_truth(name, rng), 10 ** rng.uniform(-3, -1.3)
        link, scatter = truth.law.link, noise * rng.standard_normal(len(truth.x))
        y = link.backward(link.forward(truth.y) + scatter) if link else truth.y * np.exp(scatter)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)
            fit = fit_law(name, truth.x, y, objective=objective)
        with np.errstate(all="ignore"):  # of scipy's trials, far off
            ours, theirs = float(fit.problem.value(fit.theta[None])[0]), least_from_truth(fit, truth)
        # 1e-6 of the objective: a thousandth of a standard error, where scipy's last step may end.
        if theirs < ours * (1 - 1e-6):
            found.append(f"{name} {i}: {ours:.8g} against {theirs:.8g}, {len(y)} points, noise {noise:.3g}")
    return found


@pytest.mark.parametrize("name", LAWS)
def test_a_noisy_fit_is_no_worse_than_one_started_at_the_truth(name):
    objective = "least_squares" if LAWS[name].link is not None else "log_least_squares"
    assert not worse_than_from_the_truth(name, objective, 2 if name in COSTLY else 4, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["least_squares", "log_least_squares"])
def test_study_of_noisy_optima(objective):
    names = [name for name in LAWS if LAWS[name].link is None or objective == "least_squares"]
    found = [line for name in names for line in worse_than_from_the_truth(name, objective, 60, seed=7)]
    print("\n".join(found))
    assert not found


# Laws whose optimum was once missed on their own noise-free points.
MISSED = [
    ("log_linear", (0.5, 0.1), np.linspace(0.1, 0.9, 9)),  # a law without nonlinear parameters
    ("logit_linear", (0.5, 0.1), np.linspace(0.1, 0.9, 9)),
    ("probit_linear", (0.5, 0.1), np.linspace(0.1, 0.9, 9)),
    ("broken_power", (0.74, 1.4, 0.02, 3, -1.1, 0.35), np.geomspace(0.1, 10, 12)),  # shallower after the break
    ("broken_power", (0.66, 0.23, 0.23, 7.5, -0.09, 0.7), np.geomspace(1e-3, 1e3, 20)),
    ("sigmoidal_power", (24.3493, 0.83, 0.15, 0.2, 1.85), np.geomspace(10**-2.786, 10**2.786, 7)),  # four on a plateau
]


@pytest.mark.parametrize(("name", "theta", "x"), MISSED)
def test_optimum_that_was_once_missed(name, theta, x):
    law = find_law(name)
    fit = fit_law(law, x, law.value(np.array(theta), x))
    # 1e-6: what a law must keep when it is read a decade beyond its points.
    assert list(fit.params.values()) == pytest.approx(theta, rel=1e-6)
