"""Certified and published values of fits, and independent optimisers that must not do better."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import curve_fit, minimize
from scipy.special import logsumexp

from scaling import FitWarning, fit_law, pareto_frontier
from scaling.intervals.profile import profile_interval
from scaling.laws import LAWS

from .test_laws import plain_formula
from .truths import ALL_LAWS, truths_of

# NIST StRD: certified parameters and standard errors (public domain) ------------------------------------------


def certified_bennett5():
    frame = pd.read_csv(Path(__file__).parent / "nist_bennett5.csv")
    return frame["x"].to_numpy(), -frame["y"].to_numpy()


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")  # x spans .2 decades
def test_nist_bennett5():
    """y = b1 (b2 + x)^(-1 / b3), "higher difficulty": shifted_power of -y, with no start given.

    https://www.itl.nist.gov/div898/strd/nls/data/bennett5.shtml
    """
    x, y = certified_bennett5()
    b1, b2, b3 = 2523.5058043, 46.736564644, 0.93218483193
    assert np.sum((y - b1 * (b2 + x) ** (-1 / b3)) ** 2) == pytest.approx(
        5.2404744073e-4, rel=1e-9
    )  # the file is whole
    fit = fit_law("shifted_power", x, y, objective="least_squares")
    # 1e-7: of 11 certified digits, what a Jacobian of condition 1e7 leaves of a double's 16.
    assert fit.params == pytest.approx({"a": b1, "b": 1 / b3, "d": b2}, rel=1e-7)
    assert 2 * fit.objective_value == pytest.approx(5.2404744073e-4, rel=1e-9)
    assert fit.residual_std == pytest.approx(1.8629312528e-3, rel=1e-9)
    errors = {"a": 297.15175411, "b": 0.020272299378 / b3**2, "d": 1.2448871856}
    assert fit.standard_errors == pytest.approx(errors, rel=1e-6)


@pytest.mark.filterwarnings("ignore::scaling.FitWarning")  # x spans .1 decades
def test_nist_danwood():
    """y = b1 x^b2: power in 1 / x. https://www.itl.nist.gov/div898/strd/nls/data/danwood.shtml"""
    x = np.array([1.309, 1.471, 1.490, 1.565, 1.611, 1.680])
    y = [2.138, 3.421, 3.597, 4.340, 4.882, 5.660]
    for fit in (
        fit_law("power", 1 / x, y, objective="least_squares"),
        fit_law("transfer", x, y, objective="least_squares", fixed={"e_ir": 0.0}),
    ):
        amplitude, exponent = fit.law.params[:2]
        # 1e-9: all certified digits but the last.
        assert fit.params[amplitude] == pytest.approx(0.76886226176, rel=1e-9)
        assert fit.params[exponent] == pytest.approx(3.8604055871, rel=1e-9)
        assert fit.standard_errors[amplitude] == pytest.approx(1.8281973860e-2, rel=1e-8)
        assert fit.standard_errors[exponent] == pytest.approx(5.1726610913e-2, rel=1e-8)
        assert 2 * fit.objective_value == pytest.approx(4.3173084083e-3, rel=1e-9)


# Zhai et al. 2021 ---------------------------------------------------------------------------------------------

# a, b, c, d of the plain least-squares fit on the Pareto frontier, and as printed in Figure 9.
ZHAI = {
    10: ((0.636, 0.330, 0.128, 0.562), (0.63, 0.32, 0.12, 0.52)),
    5: ((0.686, 0.328, 0.143, 0.723), (0.68, 0.32, 0.14, 0.67)),
}


def zhai_frontier(published, num_shots):
    runs = published("zhai2021_runs_imagenet_fewshot.csv")
    x = runs["compute_tpuv3_core_days_from_fig2"].to_numpy(dtype=float)
    y = runs[f"inet{num_shots}_err_pct"].to_numpy(dtype=float) / 100
    index = pareto_frontier(x, y)
    assert (len(x), len(index)) == (262, 33)
    return x[index], y[index]


@pytest.mark.parametrize("num_shots", ZHAI)
def test_zhai_fits_on_the_pareto_frontier(published, num_shots):
    fitted, printed = ZHAI[num_shots]
    x, y = zhai_frontier(published, num_shots)
    fit = fit_law("double_saturating_power", x, y, objective="least_squares")
    assert fit.warnings == ()
    assert list(fit.params.values()) == pytest.approx(fitted, abs=5.1e-4)  # three decimals are given
    for name, value in zip(fit.params, printed, strict=True):
        low, high = fit.interval(name)
        assert low < value < high
    # 10-shot: a .601 to .672, b .285 to .374, c .109 to .147, d .320 to .805; 5-shot: a .644 to .727,
    # b .283 to .372, c .123 to .163, d .435 to 1.011.
    rmse = np.sqrt(np.mean((y - fit.law.value(np.array(printed), x)) ** 2))
    assert rmse == pytest.approx({10: 0.0125, 5: 0.0115}[num_shots], abs=1e-4)  # one in the last digit given
    assert fit.residual_std * np.sqrt(29 / 33) <= rmse


@pytest.mark.parametrize("num_shots", ZHAI)
def test_zhai_printed_values_lie_in_the_profile_intervals(published, num_shots):
    x, y = zhai_frontier(published, num_shots)
    fit = fit_law("double_saturating_power", x, y, objective="least_squares")
    for name, value in zip(fit.params, ZHAI[num_shots][1], strict=True):
        low, high = profile_interval(fit, name, level=0.95)
        assert low < value < high
        wald = fit.interval(name)
        # The profile bends (d is skewed) but agrees with the delta method on the size.
        assert 0.7 < (high - low) / (wald[1] - wald[0]) < 1.5


# Hoffmann et al. 2022: an independent optimiser ---------------------------------------------------------------


def huber_of_chinchilla(q, log_n, log_d, log_loss, delta=1e-3):
    """Sum of Huber losses and its gradient in (log A, log B, log E, alpha, beta): the paper's own coordinates."""
    log_a, log_b, log_e, alpha, beta = q
    terms = np.stack([log_a - alpha * log_n, log_b - beta * log_d, np.full_like(log_n, log_e)])
    fitted = logsumexp(terms, axis=0)
    share = np.exp(terms - fitted)
    r = fitted - log_loss
    value = np.where(np.abs(r) <= delta, r * r / 2, delta * (np.abs(r) - delta / 2)).sum()
    pull = np.clip(r, -delta, delta)
    parts = share @ pull
    return value, np.array([*parts, -(share[0] * log_n) @ pull, -(share[1] * log_d) @ pull])


@pytest.mark.slow
def test_no_random_start_of_scipy_is_better_on_the_chinchilla_points(chinchilla):
    x, y = chinchilla[["N", "D"]].to_numpy(dtype=float), chinchilla["loss"].to_numpy()
    fit = fit_law("additive", x, y, objective="log_huber")
    args = (np.log(x[:, 0]), np.log(x[:, 1]), np.log(y))
    # The ranges of the paper's grid: a, b in 0..25, e in -1..1, alpha, beta in 0..2.
    starts = np.random.default_rng(0).uniform([0, 0, -1, 0, 0], [25, 25, 1, 2, 2], (200, 5))
    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-12}
    ends = [minimize(huber_of_chinchilla, s, args, jac=True, method="L-BFGS-B", options=options) for s in starts]
    ends = sorted(ends, key=lambda end: end.fun)[:5]
    simplex = {"xatol": 1e-10, "fatol": 1e-16, "maxiter": 20000, "maxfev": 20000, "adaptive": True}
    polished = [
        minimize(lambda q: huber_of_chinchilla(q, *args)[0], end.x, method="Nelder-Mead", options=simplex)
        for end in ends
    ]
    best = min(polished, key=lambda end: end.fun)
    print(f"ours {fit.objective_value:.12g}, theirs {best.fun:.12g} at {best.x}")
    assert fit.objective_value <= best.fun + 1e-9
    # Ours in their coordinates has the value that ours says it has.
    e, a, b, alpha, beta = fit.params.values()
    again = huber_of_chinchilla((np.log(a), np.log(b), np.log(e), alpha, beta), *args)[0]
    assert again == pytest.approx(fit.objective_value, rel=1e-8)


# Standard errors of scipy -------------------------------------------------------------------------------------


def sigmoidal(x, a, b, c, alpha, e0):
    """By halving the interval of E in (c, e0), on (E - c) = a x^-b (e0 - E)^alpha."""
    low, high = np.full(x.shape, c, dtype=float), np.full(x.shape, e0, dtype=float)
    for _ in range(60):
        middle = (low + high) / 2
        above = (middle - c) > a * x**-b * (e0 - middle) ** alpha
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return (low + high) / 2


COSTLY = ("sigmoidal_power", "broken_power", "broken_power_2")  # one objective in the quick run


@pytest.mark.parametrize(
    ("name", "objective"),
    [
        pytest.param(name, rule, marks=pytest.mark.slow if name in COSTLY and rule == "least_squares" else ())
        for name in ALL_LAWS
        for rule in ("least_squares", "log_least_squares")
    ],
)
def test_standard_errors_are_those_of_curve_fit(name, objective):
    truth = truths_of(name)[-1]
    law = truth.law
    link = law.link
    if link is not None and objective != "least_squares":
        return  # a line has its own scale
    # Small noise: the curvature of the law, where the two would differ by their stop, does not enter.
    rng = np.random.default_rng(3)
    noise = 1e-4 * rng.standard_normal(truth.y.size)
    y = link.backward(link.forward(truth.y) + noise) if link else truth.y * np.exp(noise)
    # Units of the middle of the data, in which curve_fit's numerical derivatives work.
    unit = np.ones(law.num_inputs) if link else np.exp(np.mean(np.log(truth.x), axis=0))
    x = truth.x / unit
    start = law.in_units(truth.theta, 1 / (unit if law.num_inputs == 2 else unit.item()), 1.0)
    plain = sigmoidal if name == "sigmoidal_power" else plain_formula(law)
    scale = link.forward if link else (np.log if objective == "log_least_squares" else lambda f: f)
    # Ridges of the laws with breaks need tight stops; the derivative step is the cube root of the rounding.
    theirs, covariance = curve_fit(
        lambda x, *theta: scale(plain(x, *theta)),
        x, scale(y), p0=start, method="trf", jac="3-point", x_scale=np.abs(start) + 1e-3,
        xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=2000,
    )  # fmt: skip
    ours = fit_law(law, x, y, objective=objective)
    errors = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(np.array(list(ours.params.values())) - theirs) < 1e-3 * errors)
    # 1e-4: numerical second-order differences, squared by J'J.
    np.testing.assert_allclose(list(ours.standard_errors.values()), errors, rtol=1e-4)
    correlation, other = (c / np.sqrt(np.outer(np.diag(c), np.diag(c))) for c in (ours.covariance, covariance))
    np.testing.assert_allclose(correlation, other, atol=1e-4)


def test_the_law_of_transfer_of_errors_is_the_line_of_abnar_with_no_floor():
    """A straight line in the logs of the errors has the closed form of linear regression."""
    x, rng = np.linspace(0.2, 0.8, 15), np.random.default_rng(0)
    y = 0.6 * x**1.4 * np.exp(0.02 * rng.standard_normal(15))
    slope, intercept = np.polyfit(np.log(x), np.log(y), 1)
    fit = fit_law("transfer", x, y, fixed={"e_ir": 0.0})
    line = fit_law("log_linear", 1 - x, 1 - y)
    assert [fit.params["alpha"], np.log(fit.params["k"])] == pytest.approx([slope, intercept], rel=1e-9)
    assert [line.params["slope"], -line.params["intercept"]] == pytest.approx([slope, intercept], rel=1e-9)
    assert line.standard_errors["slope"] == pytest.approx(fit.standard_errors["alpha"], rel=1e-8)


def test_caballero_addition_data_have_a_break(published):
    """Caballero 2022, 4-digit addition: the first 14 points have a break near 600."""
    x = [160, 192, 256, 320, 384, 448, 480, 512, 544, 576, 608, 640, 672, 736, 800, 864, 928]
    y = [
        2.13809046, 2.11813418, 2.08955508, 2.06988398, 2.05404987, 2.03837089, 2.02814281, 2.00496872, 1.95576149,
        1.86313841, 1.70891537, 1.50637664, 1.29754721, 0.96559684, 0.75856477, 0.64768338, 0.55695445,
    ]  # fmt: skip
    with pytest.warns(FitWarning):  # under one decade
        broken, plain = (fit_law(name, x[:14], y[:14]) for name in ("broken_power", "saturating_power"))
    assert 500 < broken.params["d1"] < 700
    assert broken.objective_value < plain.objective_value / 50
    assert LAWS["broken_power"] is broken.law
